/* What is known of programs and of a device's drift, by the jobs that it had. The rest of
 * server/calibrations.c needs devices: see e2e/auto.sh. */
#include "server/calibrations.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two devices whose calibrations know one executor each. */
static ep_calibrations *calibrations_make(void) {
  ep_calibrations *made = malloc(sizeof *made);
  ck_assert_ptr_nonnull(made);
  ep_calibrations_init(made);
  for (int i = 0; i < 2; i++) {
    ep_device_calibration *device = &made->device[i];
    device->looked = device->known = true;
    device->calibration.count = 1;
    snprintf(device->calibration.executors[0].executor, 32, "%s", i ? "cuda/grid" : "cpu/fused");
  }
  return made;
}

static void calibrations_end(ep_calibrations *calibrations) {
  ep_calibrations_deinit(calibrations);
  free(calibrations);
}

static ep_program_past past_of(ep_calibrations *calibrations, int index, uint64_t program) {
  ep_calibration calibration;
  ep_program_past past;
  ck_assert(ep_calibrations_get(calibrations, index, program, &calibration, &past));
  return past;
}

START_TEST(a_program_is_remembered_on_its_device) {
  ep_calibrations *made = calibrations_make();
  ep_calibrations_ask(made, 7);
  ep_calibrations_ask(made, 7);
  ep_calibrations_compile(made, 1, 7);
  ep_calibrations_time(made, 1, 7, "cuda/grid", 2e-3, 0);
  ep_calibrations_time(made, 1, 7, "cuda/grid", 1e-3, 0); /* the best of them counts */
  ep_calibrations_time(made, 1, 7, "cuda/grid", 3e-3, 0);
  ep_program_past cpu = past_of(made, 0, 7), cuda = past_of(made, 1, 7);
  ck_assert(!cpu.compiled && cuda.compiled);
  ck_assert_int_eq(cpu.asked, 2);
  ck_assert_int_eq(cuda.asked, 2);
  ck_assert_double_eq(cpu.epoch_seconds, 0);
  ck_assert_double_eq(cuda.epoch_seconds, 1e-3);
  ck_assert_str_eq(cuda.executor, "cuda/grid");
  ep_calibrations_time(made, 1, 7, "cuda/general", 5e-3, 0); /* another executor's is another's */
  ck_assert_double_eq(past_of(made, 1, 7).epoch_seconds, 5e-3);
  ck_assert_int_eq(past_of(made, 1, 8).asked, 0);
  calibrations_end(made);
}
END_TEST

/* A job from before the start has no signature; and the oldest program makes room. */
START_TEST(unknown_programs_are_nothing_and_old_ones_are_forgotten) {
  ep_calibrations *made = calibrations_make();
  ep_calibrations_ask(made, 0);
  ep_calibrations_compile(made, 0, 0);
  ck_assert(!past_of(made, 0, 0).compiled);
  for (uint64_t program = 1; program <= EP_PROGRAMS_SEEN; program++)
    ep_calibrations_compile(made, 0, program);
  ck_assert(past_of(made, 0, 1).compiled);
  ep_calibrations_compile(made, 0, EP_PROGRAMS_SEEN + 1);
  ck_assert(!past_of(made, 0, 1).compiled);
  ck_assert(past_of(made, 0, 2).compiled && past_of(made, 0, EP_PROGRAMS_SEEN + 1).compiled);
  calibrations_end(made);
}
END_TEST

static double drift_of(ep_calibrations *calibrations, int index) {
  ep_calibration calibration;
  ep_program_past past;
  ck_assert(ep_calibrations_get(calibrations, index, 1, &calibration, &past));
  return calibration.executors[0].drift;
}

/* Five programs tell, each once; one that was disturbed does not; the last ones count. */
START_TEST(programs_that_take_longer_than_was_said_are_a_drift) {
  ep_calibrations *made = calibrations_make();
  static const double ratios[] = {1.5, 40, 1.4, 1.6, 1.3};
  for (int i = 0; i < 5; i++) {
    ck_assert_double_eq(drift_of(made, 0), 0);
    for (int again = 3; again > 0; again--) /* the best of three */
      ep_calibrations_time(made, 0, (uint64_t)i + 1, "cpu/fused", again * ratios[i] * 1e-3, 1e-3);
    ep_calibrations_time(made, 0, 1, "cpu/blocked", 9, 1e-3); /* nobody's */
  }
  ck_assert_double_eq_tol(drift_of(made, 0), 1.5, 1e-9);
  ck_assert_double_eq(drift_of(made, 1), 0);
  for (uint64_t i = 0; i < EP_DRIFT_PROGRAMS; i++)
    ep_calibrations_time(made, 0, 100 + i, "cpu/fused", 8e-4, 1e-3);
  ck_assert_double_eq_tol(drift_of(made, 0), 0.8, 1e-9);
  calibrations_end(made);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("calibrations");
  TCase *tests = tcase_create("calibrations");
  tcase_add_test(tests, a_program_is_remembered_on_its_device);
  tcase_add_test(tests, unknown_programs_are_nothing_and_old_ones_are_forgotten);
  tcase_add_test(tests, programs_that_take_longer_than_was_said_are_a_drift);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
