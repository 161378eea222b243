/* Data sets that a relay fetched are there for the next one on the node. */
#include "engine/worker/relay/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/suite.h"

static char base[64];

static void setup(void) {
  snprintf(base, sizeof base, "/tmp/epochd-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(base));
  setenv("TMPDIR", base, 1);
}

static void teardown(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", base);
  ck_assert_int_eq(system(command), 0);
}

/* As if it had come over the connection. */
static void dataset_make(const ep_relay_folder *folder, const char *name) {
  char path[EP_PATH_BYTES + 128];
  snprintf(path, sizeof path, "%s/datasets/%s", folder->path, name);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/datasets/%s/meta.json", folder->path, name);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs("{}", file);
  fclose(file);
}

static bool readable(const ep_relay_folder *folder, const char *name) {
  char path[EP_PATH_BYTES + 128];
  snprintf(path, sizeof path, "%s/datasets/%s/meta.json", folder->path, name);
  return access(path, R_OK) == 0;
}

START_TEST(the_next_relay_has_it) {
  ep_relay_folder first, next;
  ck_assert_int_eq(ep_relay_folder_open(&first, "", NULL), EP_OK);
  ck_assert(!ep_relay_folder_has(&first, "datasets/aa"));
  dataset_make(&first, "aa");
  ck_assert_int_eq(ep_relay_folder_begin(&first, "job_a", NULL), EP_OK);
  ck_assert(readable(&first, "aa"));
  dataset_make(&first, "bb"); /* no job began with it: it may lack files */
  ep_relay_folder_close(&first);
  ck_assert_int_eq(ep_relay_folder_open(&next, "", NULL), EP_OK);
  ck_assert(ep_relay_folder_has(&next, "datasets/aa"));
  ck_assert(readable(&next, "aa"));
  ck_assert(!ep_relay_folder_has(&next, "datasets/bb"));
  ep_relay_folder_close(&next);
}
END_TEST

START_TEST(what_came_half_does_not_count) {
  ep_relay_folder folder;
  ck_assert_int_eq(ep_relay_folder_open(&folder, "", NULL), EP_OK);
  dataset_make(&folder, "aa");
  ck_assert_int_eq(ep_relay_folder_begin(&folder, "job_a", NULL), EP_OK);
  ep_relay_folder_forget(&folder); /* while a job runs */
  ck_assert(readable(&folder, "aa"));
  ck_assert_int_eq(ep_relay_folder_clear(&folder, NULL), EP_OK);
  dataset_make(&folder, "bb");
  ep_relay_folder_forget(&folder); /* before the job began */
  ck_assert(ep_relay_folder_has(&folder, "datasets/aa"));
  ck_assert(readable(&folder, "aa"));
  ck_assert(!ep_relay_folder_has(&folder, "datasets/bb"));
  ep_relay_folder_close(&folder);
}
END_TEST

START_TEST(what_goes_from_the_node_comes_again) {
  ep_relay_folder folder;
  char command[256], path[256];
  ck_assert_int_eq(ep_relay_folder_open(&folder, "", NULL), EP_OK);
  dataset_make(&folder, "aa");
  ck_assert_int_eq(ep_relay_folder_begin(&folder, "job_a", NULL), EP_OK);
  snprintf(command, sizeof command, "rm -r '%s'/epochd-datasets-*/aa", base);
  ck_assert_int_eq(system(command), 0);
  ck_assert(!ep_relay_folder_has(&folder, "datasets/aa"));
  dataset_make(&folder, "aa"); /* no link is in its way */
  ck_assert(ep_relay_folder_has(&folder, "datasets/aa"));
  ck_assert_int_eq(ep_relay_folder_begin(&folder, "job_b", NULL), EP_OK);
  ck_assert(readable(&folder, "aa"));
  /* each job that takes it makes it young */
  snprintf(path, sizeof path, "%s/epochd-datasets-%lld/aa", base, (long long)geteuid());
  const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  struct stat state;
  ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
  ck_assert(ep_relay_folder_has(&folder, "datasets/aa"));
  ck_assert_int_eq(stat(path, &state), 0);
  ck_assert_int_gt(state.st_mtim.tv_sec, 1000);
  ep_relay_folder_close(&folder);
}
END_TEST

START_TEST(a_folder_that_others_may_write_is_not_used) {
  ep_relay_folder first, next;
  char path[128];
  ck_assert_int_eq(ep_relay_folder_open(&first, "", NULL), EP_OK);
  dataset_make(&first, "aa");
  ck_assert_int_eq(ep_relay_folder_begin(&first, "job_a", NULL), EP_OK);
  ep_relay_folder_close(&first);
  snprintf(path, sizeof path, "%s/epochd-datasets-%lld", base, (long long)geteuid());
  ck_assert_int_eq(chmod(path, 0777), 0);
  ck_assert_int_eq(ep_relay_folder_open(&next, "", NULL), EP_OK);
  ck_assert(!ep_relay_folder_has(&next, "datasets/aa"));
  ep_relay_folder_close(&next);
}
END_TEST

EP_SUITE("engine/worker/relay/node_datasets") {
  TCase *tests = ep_suite_case(suite, "node_datasets");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, the_next_relay_has_it);
  tcase_add_test(tests, what_came_half_does_not_count);
  tcase_add_test(tests, what_goes_from_the_node_comes_again);
  tcase_add_test(tests, a_folder_that_others_may_write_is_not_used);
}
