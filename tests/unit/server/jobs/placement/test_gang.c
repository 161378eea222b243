/* The GPUs of a job of several ranks: how many it takes, which are free, and when it waits. */
#include "server/jobs/placement/gang.h"

#include <stdio.h>
#include <string.h>

#include "server/jobs/placement/fit.h"
#include "tests/suite.h"

static ep_device_list devices;

/* A CPU and `gpus` GPUs, all idle. */
static void devices_set(int gpus) {
  memset(&devices, 0, sizeof devices);
  snprintf(devices.device[0].info.id, EP_DEVICE_ID_BYTES, "cpu");
  for (int i = 0; i < gpus; i++)
    snprintf(devices.device[i + 1].info.id, EP_DEVICE_ID_BYTES, "cuda:%d", i);
  devices.count = gpus + 1;
  for (int i = 0; i < devices.count; i++) devices.device[i].state = EP_DEVICE_IDLE;
}

START_TEST(a_spec_says_how_many) {
  static const struct {
    ep_parallel_spec parallel;
    int least, most;
  } rows[] = {
      {{.data = 1, .model = 1}, 0, 0}, {{.data = 3, .model = 1}, 3, 3},
      {{.data = 2, .model = 4}, 2, 8}, {{.data = 2, .model = 4, .elastic = true}, 1, 8},
      {{.data = 1, .model = 2}, 1, 2}, {{.data_auto = true, .data = 1, .model = 3}, 1, 3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_gang gang = ep_gang_make(&rows[i].parallel);
    ck_assert_int_eq(gang.least, rows[i].least);
    ck_assert_int_eq(gang.most, rows[i].most);
  }
}
END_TEST

START_TEST(all_are_taken_at_once_or_none) {
  bool held[EP_LIMIT_DEVICES] = {false};
  ep_gang gang = {.least = 3, .most = 3};
  devices_set(4);
  ck_assert(ep_gang_choose(&gang, "cuda", "cuda:1", &devices, held));
  ck_assert_int_eq(gang.count, 3);
  ck_assert_int_eq(gang.gpu[0], 1); /* its worker's */
  ck_assert_int_eq(gang.gpu[1], 0);
  ck_assert_int_eq(gang.gpu[2], 2);
  devices.device[1].state = EP_DEVICE_BUSY;
  held[3] = true; /* two of the others are taken */
  ck_assert(!ep_gang_choose(&gang, "cuda", "cuda:1", &devices, held));
  ck_assert_int_eq(gang.count, 0);
  held[3] = false;
  ck_assert(ep_gang_choose(&gang, "cuda", "cuda:1", &devices, held));
  ck_assert_int_eq(gang.gpu[1], 2);
  ck_assert_int_eq(gang.gpu[2], 3);
}
END_TEST

/* A lost GPU is not waited for, and one that was asked for by its number is one. */
START_TEST(it_takes_what_is_there) {
  bool held[EP_LIMIT_DEVICES] = {false};
  ep_gang gang = {.least = 1, .most = 4};
  devices_set(3);
  devices.device[3].state = EP_DEVICE_LOST;
  ck_assert_int_eq(ep_fit_gpus("cuda", &devices), 2);
  ck_assert_int_eq(ep_fit_gpus("auto", &devices), 2);
  ck_assert_int_eq(ep_fit_gpus("cuda:1", &devices), 1);
  ck_assert_int_eq(ep_fit_gpus("cpu", &devices), 0);
  ck_assert(ep_gang_choose(&gang, "auto", "cuda:0", &devices, held));
  ck_assert_int_eq(gang.count, 2);
  ck_assert(ep_gang_choose(&gang, "cuda:1", "cuda:1", &devices, held));
  ck_assert_int_eq(gang.count, 1);
  devices_set(5);
  gang = (ep_gang){.least = 2, .most = 6};
  ck_assert(ep_gang_choose(&gang, "cuda", "cuda:0", &devices, held));
  ck_assert_int_eq(gang.count, 4); /* two for each replica */
}
END_TEST

/* A job whose GPUs are gone waits with a warning, or goes on on the CPU where it may. */
START_TEST(too_few_gpus_fit_no_job) {
  ep_job_row row = {.requested_device = "cuda", .seconds_cuda = 1, .seconds_cpu = 9};
  devices_set(2);
  ck_assert(ep_fit_any(&row, 2, &devices));
  ck_assert(!ep_fit_any(&row, 3, &devices));
  snprintf(row.device, sizeof row.device, "cuda:0");
  ck_assert(ep_fit_job(&row, 2, "cuda:0", &devices));
  devices.device[2].state = EP_DEVICE_LOST;
  ck_assert(!ep_fit_any(&row, 2, &devices));
  ck_assert(ep_fit_any(&row, 1, &devices));
  snprintf(row.requested_device, sizeof row.requested_device, "auto");
  ck_assert(!ep_fit_job(&row, 2, "cuda:0", &devices));
  ck_assert(ep_fit_job(&row, 2, "cpu", &devices));
  ck_assert(ep_fit_job(&row, 1, "cuda:0", &devices));
}
END_TEST

EP_SUITE("gang") {
  TCase *tests = ep_suite_case(suite, "gang");
  tcase_add_test(tests, a_spec_says_how_many);
  tcase_add_test(tests, all_are_taken_at_once_or_none);
  tcase_add_test(tests, it_takes_what_is_there);
  tcase_add_test(tests, too_few_gpus_fit_no_job);
}
