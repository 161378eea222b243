/* Tests of server/jobs/lifecycle/recover.c with fake workers: a daemon finds damaged files. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

static const char *job_path(const char *id, const char *file) {
  static char path[400];
  snprintf(path, sizeof path, "%s/jobs/%s/%s", scratch_dir, id, file);
  return path;
}

/* Flips a bit of the log, in the middle of the first line that has `word`. */
static void log_damage(const char *id, const char *word) {
  static char text[1 << 20];
  FILE *log = fopen(job_path(id, "events.ndjson"), "r+");
  ck_assert_ptr_nonnull(log);
  text[fread(text, 1, sizeof text - 1, log)] = 0;
  char *at = strstr(text, word);
  ck_assert_ptr_nonnull(at);
  ck_assert_int_eq(fseek(log, at - text, SEEK_SET), 0);
  fputc(at[0] ^ 4, log);
  fclose(log);
}

/* A job that had not ended, with its log damaged within its epochs, is trained again. */
START_TEST(an_unfinished_log_is_cut_and_made_again) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "slow", 100, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 20);
  ep_jobs_close(jobs);
  static const char *const words[] = {"\"epoch\":7,", "\"type\":\"started\"",
                                      "\"type\":\"queued\""};
  log_damage(id, words[_i]);
  jobs = jobs_open("cpu");
  job_wait(jobs, id, "succeeded");
  char *events = job_events(jobs, id);
  events_check(events);
  ck_assert_int_eq(count_of(events, "\"type\":\"queued\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 100);
  ck_assert_int_eq(count_of(events, "was damaged after line"), _i == 2 ? 0 : 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  free(events);
  ck_assert(ep_data_dir_exists(job_path(id, "events.damaged")));
  ep_jobs_close(jobs);
}
END_TEST

/* Of a job that ended, what is lost is named, and its end is written again. The log is found
 * damaged at the start, or by the request for it (1). */
START_TEST(a_finished_log_is_cut_and_ends_again) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "instant", 20, id);
  job_wait(jobs, id, "succeeded");
  if (_i == 0) {
    ep_jobs_close(jobs);
    log_damage(id, "\"epoch\":7,");
    jobs = jobs_open("cpu");
  } else {
    wait_until(ep_jobs_open_logs(jobs) == 0); /* what holds it open knows its lines */
    log_damage(id, "\"epoch\":7,");
  }
  for (int again = 0; again < 2; again++) {
    char *events = job_events(jobs, id);
    ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 6);
    ck_assert_int_eq(count_of(events, "the lines of epochs 7 to 20 are lost"), 1);
    ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
    events_check(events);
    free(events);
  }
  ep_jobs_close(jobs);
}
END_TEST

/* A job that cannot be taken up again fails alone: its log is a folder (0), its spec is (1), its
 * folder is a file (2). */
START_TEST(a_job_that_cannot_be_revived_fails_alone) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], broken[EP_ID_BYTES], other[EP_ID_BYTES];
  job_submit(jobs, "slow", 200, running);
  job_submit(jobs, "instant", 10, broken);
  job_submit(jobs, "instant", 10, other);
  ep_jobs_close(jobs);
  if (_i == 2) {
    assert_ok(ep_data_dir_remove(job_path(broken, ""), error));
    char path[400];
    snprintf(path, sizeof path, "%s/jobs/%s", scratch_dir, broken);
    assert_ok(ep_data_dir_write_file(path, "x", 1, error));
  } else {
    const char *file = _i == 0 ? "events.ndjson" : "spec.json";
    ck_assert_int_eq(unlink(job_path(broken, file)), 0);
    ck_assert_int_eq(mkdir(job_path(broken, file), 0700), 0);
  }
  jobs = jobs_open("cpu");
  char *text = job_text(jobs, broken);
  ck_assert_ptr_nonnull(strstr(text, "\"status\":\"failed\""));
  ck_assert_ptr_nonnull(strstr(text, "the job cannot be resumed"));
  free(text);
  ep_event_log *log = NULL;
  ep_error error = {0};
  if (_i != 1) {
    ck_assert_int_eq(ep_jobs_retain_log(jobs, broken, &log, &error), EP_IO);
  } else {
    char *events = job_events(jobs, broken);
    ck_assert_int_eq(count_of(events, "\"status\":\"failed\""), 1);
    free(events);
  }
  job_wait(jobs, running, "succeeded");
  job_wait(jobs, other, "succeeded");
  ep_jobs_close(jobs);
}
END_TEST

/* The store is older than the log, which has the end. */
START_TEST(an_end_that_the_store_lacks_is_read_from_the_log) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  char *before = job_events(jobs, id), *text = job_text(jobs, id);
  ep_jobs_close(jobs);
  ep_store *store = NULL;
  ep_job_row row;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  assert_ok(ep_store_job_get(store, id, &row, error));
  free(row.result);
  row.result = NULL;
  row.state = EP_STATE_QUEUED;
  row.finished_us = row.started_us = 0;
  row.attempt = 0;
  row.device[0] = row.executor[0] = 0;
  assert_ok(ep_store_job_update(store, &row, error));
  ep_job_row_deinit(&row);
  ep_store_close(store);
  jobs = jobs_open("cpu");
  char *after = job_events(jobs, id), *again = job_text(jobs, id);
  ck_assert_str_eq(before, after);
  ck_assert_ptr_nonnull(strstr(again, "\"status\":\"succeeded\""));
  const char *metrics = strstr(text, "\"metrics\"");
  ck_assert_ptr_nonnull(metrics);
  ck_assert_ptr_nonnull(strstr(again, "\"metrics\""));
  ck_assert_int_eq(strncmp(metrics, strstr(again, "\"metrics\""), 80), 0);
  free(before);
  free(after);
  free(text);
  free(again);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("damage") {
  TCase *tests = ep_suite_case(suite, "damage");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, an_unfinished_log_is_cut_and_made_again, 0, 3);
  tcase_add_loop_test(tests, a_finished_log_is_cut_and_ends_again, 0, 2);
  tcase_add_loop_test(tests, a_job_that_cannot_be_revived_fails_alone, 0, 3);
  tcase_add_test(tests, an_end_that_the_store_lacks_is_read_from_the_log);
}
