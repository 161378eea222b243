/* Tests of a job's times where the machine's clock is set back while it waits, runs or ends. */
#include <stdatomic.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* The clock for people is so many seconds behind, by the linker's --wrap. */
static atomic_int clock_behind_seconds;
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec -= atomic_load(&clock_behind_seconds);
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

EP_SUITE("jobs_clock") {
  TCase *tests = ep_suite_case(suite, "jobs_clock");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, a_clock_that_is_set_back_turns_no_times_round);
}
