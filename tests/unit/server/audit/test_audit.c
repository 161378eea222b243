/* The chain of the audit log. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/audit/audit.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static ep_audit_entry entry = {.token = "ci",
                               .owner = "ann",
                               .address = "127.0.0.1",
                               .request_id = "r1",
                               .method = "POST",
                               .path = "/v1/jobs\n\"x",
                               .location = "/v1/jobs/job_1",
                               .status = 201};

static void append(int count) {
  ep_audit *audit = NULL;
  assert_ok(ep_audit_open(scratch_dir, &audit, error));
  for (int i = 0; i < count; i++) assert_ok(ep_audit_append(audit, &entry, error));
  ep_audit_close(audit);
}

static int64_t lines_right(ep_status expected) {
  int64_t lines = -1;
  ck_assert_int_eq(ep_audit_check(scratch_dir, &lines, NULL), expected);
  return lines;
}

/* The whole file, the caller's. */
static char *file_read(void) {
  char *text = calloc(1, 1 << 20);
  FILE *file = fopen(scratch_path(EP_AUDIT_FILE), "re");
  ck_assert(text && file && fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

static void file_write(const char *text) {
  FILE *file = fopen(scratch_path(EP_AUDIT_FILE), "we");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  fclose(file);
}

START_TEST(lines_are_chained_over_restarts) {
  struct stat about;
  ck_assert_int_eq(lines_right(EP_OK), 0);
  append(3);
  append(2);
  ck_assert_int_eq(lines_right(EP_OK), 5);
  ck_assert_int_eq(stat(scratch_path(EP_AUDIT_FILE), &about), 0);
  ck_assert_int_eq(about.st_mode & 0777, 0600);
  char *text = file_read();
  ck_assert_ptr_nonnull(
      strstr(text, "\"owner\":\"ann\",\"token\":\"ci\",\"address\":\"127.0.0.1\","
                   "\"request\":\"r1\",\"method\":\"POST\","
                   "\"path\":\"/v1/jobs\\n\\\"x\","
                   "\"location\":\"/v1/jobs/job_1\",\"status\":201,\"outcome\":\"done\","
                   "\"previous\":\"0000"));
  free(text);
}
END_TEST

START_TEST(a_change_shows) {
  append(5);
  char *text = file_read();
  char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
  char *name = strstr(second, "\"ann\""); /* who did it */
  name[1] = 'b';
  file_write(text);
  ck_assert_int_eq(lines_right(EP_DAMAGED), 2); /* the third tells of it */
  name[1] = 'a';
  file_write(text);
  ck_assert_int_eq(lines_right(EP_OK), 5);
  memmove(second, third, strlen(third) + 1); /* a line is taken out */
  file_write(text);
  ck_assert_int_eq(lines_right(EP_DAMAGED), 1);
  ep_audit *audit = NULL;
  ck_assert_int_eq(ep_audit_open(scratch_dir, &audit, NULL), EP_DAMAGED);
  ck_assert_ptr_null(audit);
  free(text);
}
END_TEST

START_TEST(a_torn_line_is_cut) {
  append(3);
  ck_assert_int_eq(truncate(scratch_path(EP_AUDIT_FILE), 700), 0);
  ck_assert_int_eq(lines_right(EP_DAMAGED), 2);
  append(1);
  ck_assert_int_eq(lines_right(EP_OK), 3);
}
END_TEST

static void *appender_run(void *audit) {
  for (int i = 0; i < 50; i++)
    if (ep_audit_append(audit, &entry, NULL) != EP_OK) return audit;
  return NULL;
}

START_TEST(many_threads_make_one_chain) {
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  ep_audit *audit = NULL;
  assert_ok(ep_audit_open(scratch_dir, &audit, error));
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, appender_run, audit), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed = audit;
    pthread_join(thread[i], &failed);
    ck_assert_ptr_null(failed);
  }
  ep_audit_close(audit);
  ck_assert_int_eq(lines_right(EP_OK), 50 * THREADS);
}
END_TEST

EP_SUITE("audit") {
  TCase *tests = ep_suite_case(suite, "audit");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, lines_are_chained_over_restarts);
  tcase_add_test(tests, a_change_shows);
  tcase_add_test(tests, a_torn_line_is_cut);
  tcase_add_test(tests, many_threads_make_one_chain);
}
