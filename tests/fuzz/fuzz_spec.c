/* Any bytes as a job: refused with a reason, or understood so that writing and reading again gives
 * the same; and then planned against some data. */
#include <string.h>

#include "api/spec.h"
#include "engine/plan.h"
#include "fuzz.h"

static void plan_it(const ep_job_spec *spec) {
  const ep_data_shape shape = {.train_rows = 321,
                               .test_rows = 93,
                               .features = 13,
                               .target_columns = 1,
                               .classes = 2,
                               .target_max = 1};
  ep_problem problem = {0};
  ep_plan *plan;
  ep_status status = ep_plan_create(spec, &shape, &plan, &problem);
  FUZZ_HOLDS((status == EP_OK) == (plan != NULL));
  FUZZ_HOLDS((problem.status == EP_OK) == (plan != NULL));
  if (!plan) return;
  FUZZ_HOLDS(plan->parameters >= 0 && plan->parameters <= EP_LIMIT_PARAMETERS);
  FUZZ_HOLDS(plan->bytes > 0 && plan->operations >= 0);
  FUZZ_HOLDS(ep_plan_estimate(plan, spec, "cpu").seconds > 0);
  ep_plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_problem problem = {0};
  ep_job_spec *spec, *again;
  ep_status status = ep_job_spec_parse((const char *)bytes, count, &spec, &problem);
  FUZZ_HOLDS((status == EP_OK) == (spec != NULL));
  if (!spec) {
    FUZZ_HOLDS(problem.status == status && problem.detail[0]);
    char *answer = ep_problem_format(&problem, "/v1/jobs");
    FUZZ_HOLDS(answer);
    free(answer);
    return 0;
  }
  char *text = ep_job_spec_format(spec);
  FUZZ_HOLDS(text);
  FUZZ_HOLDS(ep_job_spec_parse(text, strlen(text), &again, &problem) == EP_OK);
  char *text_again = ep_job_spec_format(again);
  FUZZ_HOLDS(text_again && strcmp(text, text_again) == 0);
  plan_it(spec);
  free(text);
  free(text_again);
  ep_job_spec_destroy(spec);
  ep_job_spec_destroy(again);
  return 0;
}
