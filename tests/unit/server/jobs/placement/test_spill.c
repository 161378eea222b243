/* `auto` goes to the partition where it starts first, and stays where nothing waits. */
#include "server/jobs/placement/spill.h"

#include <math.h>
#include <stdio.h>

#include "tests/suite.h"

static ep_device_list devices;
static ep_forecast forecast;

static ep_device_status *device_add(const char *id, ep_device_state state, double wait_seconds) {
  ep_device_status *device = &devices.device[devices.count++];
  *device = (ep_device_status){.cores = 1, .state = state, .wait_seconds = wait_seconds};
  snprintf(device->info.id, sizeof device->info.id, "%s", id);
  return device;
}

/* This machine's CPU is busy for so long. */
static void busy_for(double seconds) {
  ep_job_row running = {.cores = 1, .device = "cpu"};
  ep_forecast_init(&forecast, &devices);
  if (seconds > 0) ep_forecast_run(&forecast, &(ep_forecast_job){.row = &running}, seconds);
}

static ep_job_row row_make(const char *requested) {
  ep_job_row row = {.cores = 1, .seconds_cpu = 10, .seconds_cuda = 1};
  snprintf(row.requested_device, sizeof row.requested_device, "%s", requested);
  return row;
}

static void setup(void) {
  devices.count = 0;
  device_add("cpu", EP_DEVICE_IDLE, 0);
}

START_TEST(the_shorter_wait_decides) {
  const ep_job_row row = row_make("auto");
  device_add("slurm:long", EP_DEVICE_ABSENT, 500);
  device_add("slurm:short", EP_DEVICE_ABSENT, 60);
  busy_for(0);
  ck_assert_ptr_null(ep_spill_find(&forecast, &row));
  busy_for(30);
  ck_assert_ptr_null(ep_spill_find(&forecast, &row));
  busy_for(62); /* a worker has to start, too */
  ck_assert_ptr_null(ep_spill_find(&forecast, &row));
  busy_for(100);
  ck_assert_str_eq(ep_spill_find(&forecast, &row), "slurm:short");
  busy_for(INFINITY); /* nobody knows how long */
  ck_assert_str_eq(ep_spill_find(&forecast, &row), "slurm:short");
}
END_TEST

START_TEST(an_idle_worker_is_there_at_once) {
  const ep_job_row row = row_make("auto");
  device_add("slurm:gpu", EP_DEVICE_IDLE, 1000);
  busy_for(1);
  ck_assert_str_eq(ep_spill_find(&forecast, &row), "slurm:gpu");
  device_add("kubernetes:gpu", EP_DEVICE_IDLE, 0);
  devices.device[1].state = EP_DEVICE_ABSENT; /* no job moves to a namespace */
  ck_assert_ptr_null(ep_spill_find(&forecast, &row));
}
END_TEST

START_TEST(of_an_unknown_wait_nothing_is_hoped) {
  const ep_job_row row = row_make("auto");
  device_add("slurm:gpu", EP_DEVICE_ABSENT, INFINITY);
  busy_for(INFINITY);
  ck_assert_ptr_null(ep_spill_find(&forecast, &row));
}
END_TEST

START_TEST(only_auto_moves_and_only_before_its_start) {
  const ep_job_row named = row_make("cpu");
  ep_job_row started = row_make("auto");
  device_add("slurm:gpu", EP_DEVICE_ABSENT, 0);
  busy_for(100);
  ck_assert_ptr_null(ep_spill_find(&forecast, &named));
  ck_assert_ptr_nonnull(ep_spill_find(&forecast, &started));
  snprintf(started.device, sizeof started.device, "cpu");
  ck_assert_ptr_null(ep_spill_find(&forecast, &started));
}
END_TEST

EP_SUITE("server/jobs/placement/spill") {
  TCase *tests = ep_suite_case(suite, "spill");
  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, the_shorter_wait_decides);
  tcase_add_test(tests, an_idle_worker_is_there_at_once);
  tcase_add_test(tests, of_an_unknown_wait_nothing_is_hoped);
  tcase_add_test(tests, only_auto_moves_and_only_before_its_start);
}
