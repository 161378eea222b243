/* What a device is measured by: each executor has programs, and takes those that it has. */
#include "engine/worker/calibrator_programs.h"

#include <stdlib.h>
#include <string.h>

#include "engine/plan/cost.h"
#include "tests/suite.h"

static const ep_device_info devices[] = {
    {.id = "cpu", .instruction_set = "avx512", .threads = 16},
    {.id = "cuda:0", .instruction_set = "sm_90", .threads = 132}};
enum { DEVICES = sizeof devices / sizeof *devices };

START_TEST(each_is_taken_by_its_executor) {
  const ep_device_info *device = &devices[_i];
  int count;
  const ep_calibration_program *programs = ep_calibration_programs(device->id, &count);
  for (int i = 0; i < count; i++) {
    ep_job_spec *spec;
    ep_plan *plan;
    const ep_cost_model *model = ep_cost_model_find(programs[i].executor);
    ck_assert_ptr_nonnull(model);
    ck_assert_int_eq(ep_calibration_plan(&programs[i], &spec, &plan, NULL), EP_OK);
    ck_assert_msg(model->takes(plan, device), "%s does not take program %d", programs[i].executor,
                  i);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

START_TEST(each_executor_has_some) {
  int models_count, count;
  const ep_cost_model *models = ep_cost_models(devices[_i].id, &models_count);
  const ep_calibration_program *programs = ep_calibration_programs(devices[_i].id, &count);
  for (int m = 0; m < models_count; m++) {
    int found = 0;
    for (int i = 0; i < count; i++) found += strcmp(programs[i].executor, models[m].executor) == 0;
    ck_assert_msg(found > 0, "%s is not measured", models[m].executor);
  }
}
END_TEST

EP_SUITE("engine/worker/calibrator_programs") {
  TCase *tests = ep_suite_case(suite, "programs");
  tcase_add_loop_test(tests, each_is_taken_by_its_executor, 0, DEVICES);
  tcase_add_loop_test(tests, each_executor_has_some, 0, DEVICES);
}
