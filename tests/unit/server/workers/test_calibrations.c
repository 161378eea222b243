/* What is known of programs and of a device's drift, by the jobs that it had. The rest of
 * server/workers/calibrations.c needs devices: see e2e/auto.sh. */
#include "server/workers/calibrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plan/cost.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

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

static int place_of(const char *executor) {
  return ep_cost_executor_index(ep_cost_executor_find(executor));
}

/* And what each executor took, on its own. */
START_TEST(a_program_is_remembered_on_its_device) {
  ep_calibrations *made = calibrations_make();
  ep_calibrations_note_submit(made, 7);
  ep_calibrations_note_submit(made, 7);
  ep_calibrations_note_start(made, 1, 7);
  ep_calibrations_note_end(made, 1, 7, "cuda/grid", 2e-3, 0);
  ep_calibrations_note_end(made, 1, 7, "cuda/grid", 1e-3, 0); /* the best of them counts */
  ep_calibrations_note_end(made, 1, 7, "cuda/grid", 3e-3, 0);
  ep_program_past cpu = past_of(made, 0, 7), cuda = past_of(made, 1, 7);
  ck_assert(!cpu.compiled && cuda.compiled);
  ck_assert_int_eq(cpu.asked, 2);
  ck_assert_int_eq(cuda.asked, 2);
  const int grid = place_of("cuda/grid"), general = place_of("cuda/general");
  for (int i = 0; i < EP_COST_EXECUTORS; i++) ck_assert_float_eq(cpu.epoch_seconds[i], 0);
  ck_assert_float_eq(cuda.epoch_seconds[grid], 1e-3F);
  ck_assert_float_eq(cuda.epoch_seconds[general], 0);
  ep_calibrations_note_end(made, 1, 7, "cuda/general", 5e-3, 0); /* a job that asked for this one */
  ep_calibrations_note_end(made, 1, 7, "cuda/nobody", 1e-9, 0);
  cuda = past_of(made, 1, 7);
  ck_assert_float_eq(cuda.epoch_seconds[grid], 1e-3F);
  ck_assert_float_eq(cuda.epoch_seconds[general], 5e-3F);
  ck_assert_int_eq(past_of(made, 1, 8).asked, 0);
  calibrations_end(made);
}
END_TEST

/* A job from before the start has no signature; and the oldest program makes room. */
START_TEST(unknown_programs_are_nothing_and_old_ones_are_forgotten) {
  ep_calibrations *made = calibrations_make();
  ep_calibrations_note_submit(made, 0);
  ep_calibrations_note_start(made, 0, 0);
  ck_assert(!past_of(made, 0, 0).compiled);
  for (uint64_t program = 1; program <= EP_PROGRAMS_SEEN; program++)
    ep_calibrations_note_start(made, 0, program);
  ck_assert(past_of(made, 0, 1).compiled);
  ep_calibrations_note_start(made, 0, EP_PROGRAMS_SEEN + 1);
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
      ep_calibrations_note_end(made, 0, (uint64_t)i + 1, "cpu/fused", again * ratios[i] * 1e-3,
                               1e-3);
    ep_calibrations_note_end(made, 0, 1, "cpu/blocked", 9, 1e-3); /* nobody's */
  }
  ck_assert_double_eq_tol(drift_of(made, 0), 1.5, 1e-9);
  ck_assert_double_eq(drift_of(made, 1), 0);
  for (uint64_t i = 0; i < EP_DRIFT_PROGRAMS; i++)
    ep_calibrations_note_end(made, 0, 100 + i, "cpu/fused", 8e-4, 1e-3);
  ck_assert_double_eq_tol(drift_of(made, 0), 0.8, 1e-9);
  calibrations_end(made);
}
END_TEST

/* A device is calm when none of its workers has anything to do, or is about to have. */
START_TEST(a_device_is_calm_when_all_its_workers_are) {
  ep_calibrations *made = calibrations_make();
  ep_device_list *devices = calloc(1, sizeof *devices);
  ck_assert_ptr_nonnull(devices);
  devices->count = 2;
  devices->workers_count = 3;
  devices->worker[2].device = 1;
  made->device[0].known = false;
  for (int state = EP_DEVICE_STARTING; state <= EP_DEVICE_LOST; state++) {
    devices->device[0].state = devices->device[1].state = EP_DEVICE_IDLE;
    devices->worker[0].state = (ep_device_state)state;
    devices->worker[1].state = EP_DEVICE_IDLE;
    devices->worker[2].state = EP_DEVICE_BUSY; /* another device's */
    ep_calibrations_settle(made, devices);
    bool calm = made->device[0].calm_us != 0;
    ck_assert_int_eq(calm, state == EP_DEVICE_IDLE || state == EP_DEVICE_LOST);
  }
  free(devices);
  calibrations_end(made);
}
END_TEST

static bool settle_nothing(void *context) {
  (void)context;
  return false;
}

/* Of two that are calm, the one that is known is not measured. The other one's measurement is asked
 * for when the daemon ends, which is no failure. */
START_TEST(a_device_that_is_known_is_not_measured) {
  ep_calibrations *made = calibrations_make();
  ep_device_list *devices = calloc(1, sizeof *devices);
  ck_assert_ptr_nonnull(devices);
  ep_supervisor_events events = {.settle = settle_nothing};
  ep_supervisor_options options = {.program = {.path = "/none", .data_dir = "/none"}};
  ck_assert_int_eq(ep_supervisor_create(&options, NULL, 0, &events, &made->supervisor, NULL),
                   EP_OK);
  devices->count = 2;
  made->device[1].known = false;
  for (int i = 0; i < 2; i++) {
    devices->device[i].state = EP_DEVICE_IDLE;
    made->device[i].calm_us = 1;
  }
  made->measuring = -1;
  ep_calibrations_settle(made, devices);
  ck_assert_int_eq(made->measuring, 1);
  ep_supervisor_stop(made->supervisor); /* its thread finds the request, and the end */
  ck_assert_int_eq(ep_supervisor_start(made->supervisor, NULL), EP_OK);
  ep_supervisor_destroy(made->supervisor);
  ck_assert_int_eq(made->measuring, -1);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(made->device[i].failures, 0);
  free(devices);
  calibrations_end(made);
}
END_TEST

/* Of four GPUs and a CPU with one name the second GPU has the first one's costs, in its file too.
 */
START_TEST(a_gpu_of_a_kind_that_is_known_is_not_measured) {
  static const char *const ids[] = {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"};
  static const char *const names[] = {"A", "A", "B", "A", "A"};
  static const char *const drivers[] = {"1", "1", "1", "2", "1"};
  enum { COUNT = 5 };
  ep_calibrations *made = calibrations_make(), *again = calibrations_make();
  ep_device_list *devices = calloc(1, sizeof *devices);
  ck_assert_ptr_nonnull(devices);
  scratch_open();
  made->data_dir = again->data_dir = scratch_dir;
  devices->count = COUNT;
  for (int i = 0; i < COUNT; i++) {
    ep_device_info *info = &devices->device[i].info;
    snprintf(info->id, sizeof info->id, "%s", ids[i]);
    snprintf(info->name, sizeof info->name, "%s", names[i]);
    snprintf(info->driver, sizeof info->driver, "%s", drivers[i]);
    made->device[i].looked = made->device[i].known = false;
    again->device[i].looked = again->device[i].known = false;
  }
  ep_calibrations_settle(made, devices);
  made->device[0].known = true;
  made->device[0].calibration.executors[0].seconds[0] = 0.25;
  made->device[1].calibration.count = 0;
  ep_calibrations_settle(made, devices);
  for (int i = 0; i < COUNT; i++) ck_assert_int_eq(made->device[i].known, i < 2);
  ck_assert_int_eq(made->device[1].calibration.count, 1);
  ck_assert_double_eq(made->device[1].calibration.executors[0].seconds[0], 0.25);
  ep_calibrations_settle(again, devices); /* the next start reads it, */
  ck_assert(!again->device[0].known && again->device[1].known);
  ep_calibrations_settle(again, devices); /* and the first one has what the second one had */
  for (int i = 0; i < COUNT; i++) ck_assert_int_eq(again->device[i].known, i < 2);
  scratch_close();
  free(devices);
  calibrations_end(again);
  calibrations_end(made);
}
END_TEST

EP_SUITE("calibrations") {
  TCase *tests = ep_suite_case(suite, "calibrations");
  tcase_add_test(tests, a_program_is_remembered_on_its_device);
  tcase_add_test(tests, unknown_programs_are_nothing_and_old_ones_are_forgotten);
  tcase_add_test(tests, programs_that_take_longer_than_was_said_are_a_drift);
  tcase_add_test(tests, a_device_is_calm_when_all_its_workers_are);
  tcase_add_test(tests, a_device_that_is_known_is_not_measured);
  tcase_add_test(tests, a_gpu_of_a_kind_that_is_known_is_not_measured);
}
