/* Tests of a job's times where the machine's clock is set back while it waits, runs or ends, and of
 * waits that take hours. */
#include <stdatomic.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* The clock for people is so many seconds behind, and both are so many ahead, by the linker's
 * --wrap. */
static atomic_int clock_behind_seconds, clocks_ahead_seconds;
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec -= atomic_load(&clock_behind_seconds);
  now->tv_sec += atomic_load(&clocks_ahead_seconds);
  return failed;
}

/* The time after `key`, or "" where it is null. Times sort as texts. */
static void time_read(const char *text, const char *key, char time[40]) {
  const char *place = strstr(text, key);
  ck_assert_msg(place != NULL, "no %s in %s", key, text);
  time[0] = 0;
  sscanf(place + strlen(key), "\"%39[^\"]", time);
}

static void order_check(ep_jobs *jobs, const char *id) {
  char created[40], started[40], finished[40], *text = job_text(jobs, id);
  time_read(text, "\"created_at\":", created);
  time_read(text, "\"started_at\":", started);
  time_read(text, "\"finished_at\":", finished);
  ck_assert_msg(created[0] != 0 && strcmp(created, finished) <= 0, "%s", text);
  ck_assert_msg(started[0] == 0 || strcmp(created, started) <= 0, "%s", text);
  ck_assert_msg(started[0] == 0 || strcmp(started, finished) <= 0, "%s", text);
  free(text);
}

START_TEST(a_clock_that_is_set_back_turns_no_times_round) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], waiting[EP_ID_BYTES], never[EP_ID_BYTES];
  atomic_store(&clock_behind_seconds, 0);
  job_submit(jobs, "slow", 1000000, running);
  wait_until(job_number(jobs, running, "\"epoch\":") >= 1);
  job_submit(jobs, "instant", 10, waiting);
  job_submit(jobs, "instant", 10, never);
  atomic_store(&clock_behind_seconds, 3600);
  assert_ok(ep_jobs_cancel(jobs, never, error));   /* ends, and was never started */
  assert_ok(ep_jobs_cancel(jobs, running, error)); /* ends */
  job_wait(jobs, running, "cancelled");
  job_wait(jobs, waiting, "succeeded"); /* starts and ends */
  order_check(jobs, running);
  order_check(jobs, waiting);
  order_check(jobs, never);
  ep_jobs_close(jobs);
}
END_TEST

static char *queue_text(ep_jobs *jobs) {
  char *text = NULL;
  assert_ok(ep_jobs_queue(jobs, NULL, &text, error));
  return text;
}

/* A job's place in the queue, by its id; 0: it runs or is not there. */
static int place_of(ep_jobs *jobs, const char *id) {
  char *text = queue_text(jobs), *found = strstr(text, id);
  int place = 0;
  if (found) sscanf(found + strlen(id), "\",\"position\":%d", &place);
  free(text);
  return place;
}

/* When a job is expected to start, by its id; -1: null. */
static double start_of(ep_jobs *jobs, const char *id) {
  double seconds = -1;
  char *text = queue_text(jobs), *found = strstr(text, id);
  ck_assert_ptr_nonnull(found);
  sscanf(strstr(found, "\"start_seconds\":"), "\"start_seconds\":%lf", &seconds);
  free(text);
  return seconds;
}

/* Of hours, and of a restart between them. */
START_TEST(an_hour_of_waiting_is_a_step_of_priority) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], low[EP_ID_BYTES], early[EP_ID_BYTES], late[EP_ID_BYTES];
  job_submit(jobs, "slow", 1000000, running);
  wait_until(job_number(jobs, running, "\"epoch\":") >= 1);
  job_submit_with(jobs, "instant", 10, "cpu", -2, low);
  atomic_store(&clocks_ahead_seconds, 3600);
  job_submit_with(jobs, "instant", 10, "cpu", 0, early);
  ck_assert_int_eq(place_of(jobs, early), 1);
  ck_assert_int_eq(place_of(jobs, low), 2);
  atomic_store(&clocks_ahead_seconds, 3 * 3600);
  job_submit_with(jobs, "instant", 10, "cpu", 0, late);
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(place_of(jobs, early), 1);
    ck_assert_int_eq(place_of(jobs, low), 2);
    ck_assert_int_eq(place_of(jobs, late), 3);
    ep_jobs_close(jobs);
    jobs = jobs_open("cpu");
    worker_wait(jobs, 0, EP_DEVICE_BUSY);
  }
  ep_jobs_close(jobs);
  atomic_store(&clocks_ahead_seconds, 0); /* the suite measures its time */
}
END_TEST

/* The time since the last report counts, and where a job exceeds its estimate nothing is known. */
START_TEST(a_start_is_forecast_from_now) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], waiting[EP_ID_BYTES], silent[EP_ID_BYTES];
  job_submit(jobs, "long", 1000000, running); /* an epoch in 2 s, which it tells as 5 ms */
  wait_until(job_number(jobs, running, "\"epoch\":") >= 1);
  job_submit(jobs, "instant", 10, waiting);
  double before = start_of(jobs, waiting);
  ck_assert_double_gt(before, 4000);
  atomic_store(&clocks_ahead_seconds, 1000);
  double then = start_of(jobs, waiting);
  ck_assert_double_gt(then, 0);
  ck_assert_double_lt(then, before - 900);
  atomic_store(&clocks_ahead_seconds, 0);
  assert_ok(ep_jobs_cancel(jobs, running, error));
  job_wait(jobs, waiting, "succeeded");
  job_submit(jobs, "hang", 10, silent);
  job_wait(jobs, silent, "running");
  job_submit(jobs, "instant", 10, waiting);
  atomic_store(&clocks_ahead_seconds, 30);
  ck_assert_double_eq(start_of(jobs, waiting), -1);
  atomic_store(&clocks_ahead_seconds, 0);
  ep_jobs_close(jobs);
}
END_TEST

/* Others pass a job that its owner's quota holds back. */
START_TEST(a_start_beyond_a_quota_is_not_known) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char running[EP_ID_BYTES], held[EP_ID_BYTES];
  options.cpu_jobs = 2;
  options.quota_cores = 1;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "slow", 1000, running);
  wait_until(job_number(jobs, running, "\"epoch\":") >= 1);
  job_submit(jobs, "instant", 10, held);
  ck_assert_int_eq(place_of(jobs, held), 1);
  ck_assert_double_eq(start_of(jobs, held), -1);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("jobs_clock") {
  TCase *tests = ep_suite_case(suite, "jobs_clock");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_clock_that_is_set_back_turns_no_times_round);
  tcase_add_test(tests, an_hour_of_waiting_is_a_step_of_priority);
  tcase_add_test(tests, a_start_is_forecast_from_now);
  tcase_add_test(tests, a_start_beyond_a_quota_is_not_known);
}
