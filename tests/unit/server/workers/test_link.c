/* The list of devices that a worker's program prints. */
#include "server/workers/link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/process/log.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static char said[1024];

static void take(ep_log_level level, const char *text) {
  size_t used = strlen(said);
  snprintf(said + used, sizeof said - used, "%s: %s\n", ep_log_level_name(level), text);
}

/* Makes a program that prints these lines. */
static ep_worker_program program_make(const char *script) {
  const char *path = scratch_path("worker");
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fprintf(file, "#!/bin/sh\n%s\n", script);
  fclose(file);
  ck_assert_int_eq(chmod(path, 0755), 0);
  return (ep_worker_program){.path = path};
}

START_TEST(a_machine_without_a_gpu_is_no_warning) {
  char ids[EP_LIMIT_DEVICES][EP_DEVICE_ID_BYTES];
  int count = 0;
  ep_worker_program program = program_make("echo cpu; echo '# cuda:0: no driver'");
  ep_log_set_sink(take);
  assert_ok(ep_worker_devices_list(&program, 60000, ids, &count, error));
  ck_assert_int_eq(count, 1);
  ck_assert_str_eq(ids[0], "cpu");
  ck_assert_str_eq(said, "info: worker: cuda:0: no driver\n");
}
END_TEST

START_TEST(a_fault_of_a_gpu_is_a_warning) {
  char ids[EP_LIMIT_DEVICES][EP_DEVICE_ID_BYTES];
  int count = 0;
  ep_worker_program program = program_make("echo cpu; echo cuda:0; echo 'cuda:1: broken' >&2");
  ep_log_set_sink(take);
  assert_ok(ep_worker_devices_list(&program, 60000, ids, &count, error));
  ck_assert_int_eq(count, 2);
  ck_assert_str_eq(ids[1], "cuda:0");
  ck_assert_str_eq(said, "warning: worker: cuda:1: broken\n");
}
END_TEST

EP_SUITE("server/link") {
  TCase *tests = ep_suite_case(suite, "link");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, a_machine_without_a_gpu_is_no_warning);
  tcase_add_test(tests, a_fault_of_a_gpu_is_a_warning);
}
