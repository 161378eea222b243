/* Any bytes as a job: refused with a reason, or understood so that writing and reading again gives
 * the same; and then planned against some data. */
#include <string.h>

#include "api/spec/spec.h"
#include "engine/plan/plan.h"
#include "tests/fuzz/fuzz.h"

/* Rows of a table, and images of bytes. */
static const ep_data_shape shapes[] = {
    {.train_rows = 321,
     .validation_rows = 7,
     .test_rows = 93,
     .features = 13,
     .target_columns = 1,
     .classes = 2,
     .target_max = 1,
     .x_max = 2,
     .x_integer = true},
    {.train_rows = 60000,
     .features = 784,
     .target_columns = 1,
     .classes = 2,
     .target_max = 1,
     .row = {1, 28, 28},
     .x_type = EP_X_UINT8},
};

static void groups_hold(const ep_program *program) {
  int64_t first = 0;
  for (int i = 0; i < program->groups_count; i++) {
    FUZZ_HOLDS(program->groups[i].first == first && program->groups[i].count > 0);
    first += program->groups[i].count;
  }
  FUZZ_HOLDS(first == program->parameters);
}

static void plan_it(const ep_job_spec *spec, const ep_data_shape *shape) {
  ep_problem problem = {0};
  ep_plan *plan;
  ep_status status = ep_plan_create(spec, shape, &plan, &problem);
  FUZZ_HOLDS((status == EP_OK) == (plan != NULL));
  FUZZ_HOLDS((problem.status == EP_OK) == (plan != NULL));
  if (!plan) return;
  FUZZ_HOLDS(plan->parameters >= 0 && plan->parameters <= EP_LIMIT_PARAMETERS);
  groups_hold(&plan->program);
  FUZZ_HOLDS(plan->bytes > 0 && plan->operations >= 0);
  const ep_device_info cpu = {.id = "cpu"};
  FUZZ_HOLDS(ep_plan_estimate(plan, spec, &cpu, NULL, false).seconds > 0);
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
  for (int i = 0; i < 2; i++) plan_it(spec, &shapes[i]);
  free(text);
  free(text_again);
  ep_job_spec_destroy(spec);
  ep_job_spec_destroy(again);
  return 0;
}
