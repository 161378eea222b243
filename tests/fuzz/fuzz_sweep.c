/* Any bytes as a sweep: refused with a reason, or understood so that loading what is written gives
 * the same; and then the jobs at its first point. */
#include <string.h>

#include "api/spec/spec.h"
#include "api/sweep/sweep_spec.h"
#include "tests/fuzz/fuzz.h"

static void trials_hold(const ep_sweep_spec *sweep) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_sweep_first_point(sweep, point);
  FUZZ_HOLDS(ep_sweep_parts(sweep) >= 1);
  for (int part = -1; part < ep_sweep_parts(sweep) && part < 2; part++) {
    ep_problem problem = {0};
    ep_job_spec *job;
    ep_status status = ep_sweep_trial_make(sweep, point, part, &job, &problem);
    FUZZ_HOLDS((status == EP_OK) == (job != NULL));
    FUZZ_HOLDS(status == EP_OK || problem.detail[0]);
    ep_job_spec_destroy(job);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_problem problem = {0};
  ep_sweep_spec *sweep, *again;
  ep_status status = ep_sweep_spec_parse((const char *)bytes, count, &sweep, &problem);
  FUZZ_HOLDS((status == EP_OK) == (sweep != NULL));
  if (!sweep) {
    FUZZ_HOLDS(problem.status == status && problem.detail[0]);
    return 0;
  }
  char *text = ep_sweep_spec_format(sweep);
  FUZZ_HOLDS(text);
  FUZZ_HOLDS(ep_sweep_spec_load(text, &again, NULL) == EP_OK);
  char *text_again = ep_sweep_spec_format(again);
  FUZZ_HOLDS(text_again && strcmp(text, text_again) == 0);
  trials_hold(sweep);
  free(text);
  free(text_again);
  ep_sweep_spec_destroy(sweep);
  ep_sweep_spec_destroy(again);
  return 0;
}
