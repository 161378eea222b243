/* What a device is measured by: each executor has programs, and can run those that it has. The
 * calibrator names it, so it may be one that yields to another. */
#include "engine/worker/calibrator_programs.h"

#include "tests/suite.h"

static const ep_device_info devices[] = {
    {.id = "cpu", .instruction_set = "avx512", .threads = 16},
    {.id = "cuda:0", .instruction_set = "sm_90", .threads = 132}};
enum { DEVICES = sizeof devices / sizeof *devices };

START_TEST(each_can_be_run_by_its_executor) {
  const ep_device_info *device = &devices[_i];
  for (int i = 0; i < ep_calibration_programs_count(device->id); i++) {
    ep_job job;
    const ep_executor_profile *executor;
    const ep_calibration_program *program = ep_calibration_program_at(device->id, i, &executor);
    ck_assert_int_eq(ep_calibration_open(program, &job, NULL), EP_OK);
    ck_assert_msg(ep_cost_executor_can(executor, job.plan, device), "%s cannot run program %d",
                  executor->name, i);
    ep_job_close(&job);
  }
}
END_TEST

START_TEST(each_executor_has_some) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(devices[_i].id, &count);
  for (int i = 0; i < count; i++)
    ck_assert_msg(executors[i]->programs_count > 0, "%s is not measured", executors[i]->name);
}
END_TEST

EP_SUITE("engine/worker/calibrator_programs") {
  TCase *tests = ep_suite_case(suite, "programs");
  tcase_add_loop_test(tests, each_can_be_run_by_its_executor, 0, DEVICES);
  tcase_add_loop_test(tests, each_executor_has_some, 0, DEVICES);
}
