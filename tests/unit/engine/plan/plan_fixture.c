#include "tests/unit/engine/plan/plan_fixture.h"

#include <check.h>
#include <string.h>

const ep_data_shape mnist = {.train_rows = 60000,
                             .test_rows = 10000,
                             .features = 784,
                             .target_columns = 1,
                             .classes = 10,
                             .target_max = 9,
                             .row = {1, 28, 28},
                             .x_type = EP_X_UINT8,
                             .x_max = 255,
                             .x_integer = true};

ep_job_spec *spec_of(const char *text) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  ep_status status = ep_job_spec_parse(text, strlen(text), &spec, &problem);
  ck_assert_msg(status == EP_OK, "%s: %s", problem.errors[0].pointer, problem.detail);
  return spec;
}

ep_plan *plan_of(const char *text, const ep_data_shape *shape, ep_job_spec **spec) {
  ep_problem problem = {0};
  ep_plan *plan;
  *spec = spec_of(text);
  ep_status status = ep_plan_create(*spec, shape, &plan, &problem);
  ck_assert_msg(status == EP_OK, "%s: %s", problem.errors[0].pointer, problem.detail);
  return plan;
}
