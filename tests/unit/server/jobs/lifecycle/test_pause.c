/* Tests of server/jobs/lifecycle/pause.c with fake workers and a disk that refuses: a job that a
 * client has told to go on does so, once it can be stored. */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/jobs/live/live.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* In the place of the system's, for SQLite too. So many syncs succeed, and the others fail. That of
 * a log with a pause waits while `pause_held`. */
static atomic_int syncs_left, syncs_failed;
static atomic_bool pause_held;

static bool has_pause(int fd) {
  char link[64], text[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  FILE *file = fopen(link, "r");
  if (!file) return false;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return strstr(text, "\"type\":\"paused\"") != NULL;
}

int fdatasync(int fd) {
  if (atomic_load(&pause_held) && has_pause(fd)) wait_until(!atomic_load(&pause_held));
  if (atomic_load(&syncs_left) == INT_MAX || atomic_fetch_sub(&syncs_left, 1) > 0)
    return (int)syscall(SYS_fdatasync, fd);
  atomic_store(&syncs_left, 0);
  atomic_fetch_add(&syncs_failed, 1);
  errno = EIO;
  return -1;
}

static void disk_heal(void) {
  atomic_store(&syncs_left, INT_MAX);
}

static void fixture_open(void) {
  disk_heal();
  scratch_open();
}

static bool is_shown_as(ep_jobs *jobs, const char *id, const char *status) {
  char word[40], *text = job_text(jobs, id);
  snprintf(word, sizeof word, "\"status\":\"%s\"", status);
  bool there = strstr(text, word) != NULL;
  free(text);
  return there;
}

/* Whatever it is until then. */
static void status_wait(ep_jobs *jobs, const char *id, const char *status) {
  wait_until(is_shown_as(jobs, id, status));
}

/* Its pause is stored and in its log. */
static bool is_settled(ep_jobs *jobs, const char *id) {
  pthread_mutex_lock(&jobs->mutex);
  const ep_live_job *job = ep_live_find_stored(jobs, id);
  bool settled = job && job->row.state == EP_STATE_PAUSED && !job->settling;
  pthread_mutex_unlock(&jobs->mutex);
  return settled;
}

/* A job that is paused, and was told to go on; the disk took that, and nothing behind it. */
static ep_jobs *refused_open(char id[EP_ID_BYTES]) {
  ep_jobs *jobs = jobs_open("cpu");
  job_submit(jobs, "slow", 100000, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 5);
  assert_ok(ep_jobs_pause(jobs, id, error));
  wait_until(is_settled(jobs, id));
  atomic_store(&syncs_left, 1);
  ck_assert_int_ne(ep_jobs_resume(jobs, id, NULL), EP_OK);
  status_wait(jobs, id, "paused");
  return jobs;
}

static void goes_on(ep_jobs *jobs, const char *id) {
  status_wait(jobs, id, "running");
  assert_ok(ep_jobs_cancel(jobs, id, error));
  status_wait(jobs, id, "cancelled");
  char *events = job_events(jobs, id);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}

START_TEST(goes_on_with_the_disk) {
  char id[EP_ID_BYTES];
  ep_jobs *jobs = refused_open(id);
  disk_heal();
  status_wait(jobs, id, "running");
  ck_assert_int_eq(events_count(jobs, id, "resumed"), 1);
  goes_on(jobs, id);
}
END_TEST

/* The daemon ends before the disk takes it. */
START_TEST(goes_on_after_a_restart) {
  char id[EP_ID_BYTES];
  ep_jobs *jobs = refused_open(id);
  ep_jobs_close(jobs);
  disk_heal();
  goes_on(jobs_open("cpu"), id);
}
END_TEST

/* Told to while its pause is being written: the client was answered, and does not tell it again. */
START_TEST(goes_on_where_it_was_pausing) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "long", 100000, id);
  wait_until(events_count(jobs, id, "started") == 1);
  atomic_store(&pause_held, true);
  assert_ok(ep_jobs_pause(jobs, id, error));
  status_wait(jobs, id, "paused");
  assert_ok(ep_jobs_resume(jobs, id, error));
  atomic_store(&syncs_failed, 0);
  atomic_store(&syncs_left, 1); /* the pause's */
  atomic_store(&pause_held, false);
  wait_until(atomic_load(&syncs_failed) > 0);
  disk_heal();
  goes_on(jobs, id);
}
END_TEST

/* The later word counts: it stays paused, though the disk takes all. */
START_TEST(is_paused_again) {
  char id[EP_ID_BYTES], other[EP_ID_BYTES];
  ep_jobs *jobs = refused_open(id);
  disk_heal();
  assert_ok(ep_jobs_pause(jobs, id, error));
  for (int restarted = 0; restarted < 2; restarted++) {
    status_wait(jobs, id, "paused");
    job_submit(jobs, "instant", 5, other);
    job_wait(jobs, other, "succeeded");
    ck_assert(job_has(jobs, id, "paused"));
    ep_jobs_close(jobs);
    if (restarted == 0) jobs = jobs_open("cpu");
  }
}
END_TEST

START_TEST(is_cancelled) {
  char id[EP_ID_BYTES];
  ep_jobs *jobs = refused_open(id);
  disk_heal();
  assert_ok(ep_jobs_cancel(jobs, id, error));
  status_wait(jobs, id, "cancelled");
  ep_jobs_close(jobs);
}
END_TEST

/* What a worker reports together with the end of its attempt is in the log before epochd ends. */
START_TEST(the_last_reports_before_an_end_are_logged) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.stop_seconds = EP_PATIENCE_SECONDS;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit_with(jobs, "late", 100, "cpu", 0, id);
  wait_until(job_number(jobs, id, "\"epoch\":") == 1);
  ep_jobs_close(jobs);
  jobs = jobs_open("cuda:7"); /* which never opens */
  char *events = job_events(jobs, id);
  ck_assert_ptr_nonnull(strstr(events, "\"type\":\"epoch\""));
  ck_assert_msg(strstr(events, "\"epoch\":3,") != NULL, "%s", events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("pause") {
  TCase *tests = ep_suite_case(suite, "pause");
  tcase_add_checked_fixture(tests, fixture_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, goes_on_with_the_disk);
  tcase_add_test(tests, goes_on_after_a_restart);
  tcase_add_test(tests, goes_on_where_it_was_pausing);
  tcase_add_test(tests, is_paused_again);
  tcase_add_test(tests, the_last_reports_before_an_end_are_logged);
  tcase_add_test(tests, is_cancelled);
}
