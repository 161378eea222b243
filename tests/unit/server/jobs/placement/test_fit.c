/* Which devices take which jobs, where some are partitions of Slurm. */
#include "server/jobs/placement/fit.h"

#include <string.h>

#include "tests/suite.h"

static ep_device_list devices;

static void devices_set(const char *const *ids) {
  memset(&devices, 0, sizeof devices);
  for (; ids[devices.count]; devices.count++) {
    strcpy(devices.device[devices.count].info.id, ids[devices.count]);
    devices.device[devices.count].state = EP_DEVICE_IDLE;
  }
}

static bool fits(const char *requested, const char *device) {
  ep_job_row row = {.seconds_cpu = 1, .seconds_cuda = 2};
  strcpy(row.requested_device, requested);
  return ep_fit_job(&row, 0, device, &devices);
}

START_TEST(a_partition_takes_the_jobs_that_name_it) {
  devices_set((const char *[]){"cpu", "slurm:gpu", "slurm:cpu", NULL});
  ck_assert(fits("slurm:gpu", "slurm:gpu"));
  ck_assert(!fits("slurm:gpu", "slurm:cpu"));
  ck_assert(!fits("slurm:gpu", "cpu"));
  ck_assert(!fits("cpu", "slurm:cpu"));
  ck_assert(!fits("cuda", "slurm:gpu"));
  ck_assert(!ep_device_is_cuda("slurm:cuda"));
}
END_TEST

START_TEST(automatic_jobs_go_to_partitions_last) {
  devices_set((const char *[]){"cpu", "slurm:gpu", NULL});
  ck_assert(fits("auto", "cpu"));
  ck_assert(!fits("auto", "slurm:gpu"));
  devices.device[0].state = EP_DEVICE_LOST;
  ck_assert(fits("auto", "slurm:gpu"));
  devices_set((const char *[]){"slurm:gpu", "slurm:cpu", NULL});
  ck_assert(fits("auto", "slurm:gpu"));
  ck_assert(fits("auto", "slurm:cpu"));
}
END_TEST

START_TEST(a_job_stays_at_its_partition) {
  ep_job_row row = {.seconds_cpu = 1, .requested_device = "auto", .device = "slurm:cpu"};
  devices_set((const char *[]){"slurm:gpu", "slurm:cpu", NULL});
  ck_assert(!ep_fit_job(&row, 0, "slurm:gpu", &devices));
  ck_assert(ep_fit_job(&row, 0, "slurm:cpu", &devices));
  devices.device[1].state = EP_DEVICE_LOST;
  ck_assert(ep_fit_job(&row, 0, "slurm:gpu", &devices));
}
END_TEST

START_TEST(a_worker_of_a_partition_has_one_job) {
  ep_job_row row = {.cores = 8};
  ck_assert_int_eq(ep_fit_cores(&row, "slurm:cpu"), 1);
  ck_assert_int_eq(ep_fit_cores(&row, "cpu"), 8);
}
END_TEST

EP_SUITE("server/jobs/placement/fit") {
  TCase *tests = ep_suite_case(suite, "fit");
  tcase_add_test(tests, a_partition_takes_the_jobs_that_name_it);
  tcase_add_test(tests, automatic_jobs_go_to_partitions_last);
  tcase_add_test(tests, a_job_stays_at_its_partition);
  tcase_add_test(tests, a_worker_of_a_partition_has_one_job);
}
