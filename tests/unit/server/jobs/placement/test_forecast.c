#include <math.h>
#include <stdio.h>

#include "server/jobs/placement/forecast.h"
#include "tests/suite.h"

static ep_device_list devices;
static ep_forecast forecast;

static void device_add(const char *id, int cores) {
  ep_device_status *device = &devices.device[devices.count++];
  *device = (ep_device_status){.cores = cores, .state = EP_DEVICE_IDLE};
  snprintf(device->info.id, sizeof device->info.id, "%s", id);
}

static ep_job_row row_make(const char *requested, int cores, double seconds_cpu,
                           double seconds_cuda) {
  ep_job_row row = {.cores = cores, .seconds_cpu = seconds_cpu, .seconds_cuda = seconds_cuda};
  snprintf(row.requested_device, sizeof row.requested_device, "%s", requested);
  return row;
}

static void expect(const char *requested, int cores, double cpu, double cuda, double start) {
  ep_job_row row = row_make(requested, cores, cpu, cuda);
  double found = ep_forecast_queue(&forecast, &(ep_forecast_job){.row = &row});
  ck_assert_msg(isinf(start) ? isinf(found) : fabs(found - start) < 1e-9, "%g, not %g", found,
                start);
}

static void setup(void) {
  devices.count = 0;
  device_add("cpu", 4);
  device_add("cuda:0", 1);
  ep_forecast_init(&forecast, &devices);
}

START_TEST(a_job_starts_once_its_cores_are_free) {
  ep_job_row running = row_make("cpu", 3, 100, 1);
  snprintf(running.device, sizeof running.device, "cpu");
  ep_forecast_run(&forecast, &(ep_forecast_job){.row = &running}, 10);
  expect("cpu", 1, 5, 1, 0);    /* the one that is free, until 5 */
  expect("cpu", 2, 20, 1, 10);  /* two of the three, until 30 */
  expect("cpu", 1, 1, 1, 10);   /* overtakes nobody; until 11 */
  expect("cpu", 4, 1, 1, 30);   /* all of them */
  expect("cpu", 0, 1, 1, 31);   /* a sweep has all cores */
  expect("auto", 1, 9, 2, 0);   /* the GPU is faster */
  expect("cuda:0", 1, 9, 3, 2); /* and busy then */
  expect("auto", 1, 9, 3, 5);
}
END_TEST

START_TEST(what_is_not_known_is_infinite) {
  expect("cuda:7", 1, 1, 1, INFINITY);
  ep_job_row running = row_make("cuda", 1, 1, 1);
  snprintf(running.device, sizeof running.device, "cuda:0");
  ep_forecast_run(&forecast, &(ep_forecast_job){.row = &running}, INFINITY);
  expect("cuda", 1, 1, 1, INFINITY);
  expect("cpu", 4, INFINITY, 1, 0);
  expect("cpu", 1, 1, 1, INFINITY);
}
END_TEST

/* Neither an estimate beyond its limit of time nor one that is not known keeps a device longer. */
START_TEST(a_job_lasts_no_longer_than_it_may) {
  ep_job_row row = row_make("cpu", 4, 400000, 1);
  row.max_seconds = 2;
  ck_assert_double_eq(ep_forecast_queue(&forecast, &(ep_forecast_job){.row = &row}), 0);
  ck_assert_double_eq(ep_forecast_queue(&forecast, &(ep_forecast_job){.row = &row}), 2);
  row.seconds_cpu = INFINITY;
  ck_assert_double_eq(ep_forecast_queue(&forecast, &(ep_forecast_job){.row = &row}), 4);
  row.seconds_cpu = 0.5; /* done before */
  ck_assert_double_eq(ep_forecast_queue(&forecast, &(ep_forecast_job){.row = &row}), 6);
  expect("cpu", 4, 1, 1, 6.5);
}
END_TEST

static double queued(const ep_job_row *row, const ep_gang *gang, bool alone) {
  return ep_forecast_queue(&forecast, &(ep_forecast_job){row, gang, alone});
}

static void running(const char *device, const ep_gang *gang, bool alone, double seconds) {
  ep_job_row row = row_make(device, 1, 1, 1);
  snprintf(row.device, sizeof row.device, "%s", device);
  ep_forecast_run(&forecast, &(ep_forecast_job){&row, gang, alone}, seconds);
}

/* A job of several ranks takes its GPUs at once, and holds them all while it runs. */
START_TEST(a_gang_starts_once_all_its_gpus_are_free) {
  const ep_job_row row = row_make("cuda", 1, INFINITY, 5), one = row_make("cuda", 1, INFINITY, 1);
  const ep_gang held = {.least = 2, .most = 2, .count = 2, .gpu = {0, 2}};
  const ep_gang two = {.least = 2, .most = 2}, four = {.least = 4, .most = 4};
  device_add("cuda:1", 1);
  device_add("cuda:2", 1);
  ep_forecast_init(&forecast, &devices);
  running("cuda:0", &held, false, 10);
  running("cuda:1", NULL, false, 20);
  ck_assert(isinf(queued(&row, &four, false)));       /* there are three */
  ck_assert_double_eq(queued(&row, &two, false), 10); /* until 15 */
  ck_assert_double_eq(queued(&one, NULL, false), 15);
  ck_assert_double_eq(queued(&row, &two, false), 16);
}
END_TEST

START_TEST(a_job_that_runs_alone_waits_for_all_and_all_for_it) {
  const ep_job_row cpu = row_make("cpu", 1, 3, 1), cuda = row_make("cuda", 1, 1, 2);
  running("cuda:0", NULL, false, 10);
  ck_assert_double_eq(queued(&cpu, NULL, true), 10);
  ck_assert_double_eq(queued(&cuda, NULL, false), 13);
  ck_assert_double_eq(queued(&cpu, NULL, false), 13);
  ep_forecast_init(&forecast, &devices);
  running("cuda:0", NULL, true, INFINITY);
  ck_assert(isinf(queued(&cpu, NULL, false)));
  ep_forecast_init(&forecast, &devices);
  running("cuda:0", NULL, false, INFINITY);
  ck_assert_double_eq(queued(&cpu, NULL, false), 0);
  ck_assert(isinf(queued(&cpu, NULL, true)));
  ck_assert(isinf(queued(&cpu, NULL, false)));
}
END_TEST

START_TEST(when_a_scheduler_starts_a_worker_is_not_known) {
  device_add("slurm:gpu", 1);
  devices.device[2].state = EP_DEVICE_ABSENT;
  ep_forecast_init(&forecast, &devices);
  expect("slurm:gpu", 1, 1, 1, INFINITY);
  devices.device[2].state = EP_DEVICE_IDLE;
  ep_forecast_init(&forecast, &devices);
  expect("slurm:gpu", 1, 1, 1, 0);
  expect("slurm:gpu", 1, 1, 1, INFINITY); /* it gets a worker of its own, or waits for this one */
}
END_TEST

EP_SUITE("forecast") {
  TCase *tests = ep_suite_case(suite, "forecast");
  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, a_job_starts_once_its_cores_are_free);
  tcase_add_test(tests, what_is_not_known_is_infinite);
  tcase_add_test(tests, a_job_lasts_no_longer_than_it_may);
  tcase_add_test(tests, a_gang_starts_once_all_its_gpus_are_free);
  tcase_add_test(tests, a_job_that_runs_alone_waits_for_all_and_all_for_it);
  tcase_add_test(tests, when_a_scheduler_starts_a_worker_is_not_known);
}
