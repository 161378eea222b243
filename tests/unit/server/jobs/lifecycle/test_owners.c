/* Owners of jobs: quotas under many threads, turns in the queue, keys of their own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/jobs/live/state.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

static ep_status submit(ep_jobs *jobs, const char *owner, const char *name, const char *key,
                        char id[EP_ID_BYTES], ep_problem *problem) {
  char spec[512];
  bool repeated;
  spec_write(spec, sizeof spec, name, 1000000, "cpu", 0);
  *problem = (ep_problem){0};
  return ep_jobs_submit(
      jobs,
      &(ep_submission){.json = spec, .bytes = strlen(spec), .owner = owner, .idempotency_key = key},
      id, &repeated, problem);
}

static ep_jobs *open_with(int64_t quota_jobs, int64_t quota_cores, int cpu_jobs) {
  ep_jobs *jobs = NULL;
  ep_jobs_options options = jobs_options("cpu");
  options.quota_jobs = quota_jobs;
  options.quota_cores = quota_cores;
  options.cpu_jobs = cpu_jobs;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  return jobs;
}

/* Jobs of the owner that have not ended, as they are in memory: the queue and what runs. */
static int64_t live_count(ep_jobs *jobs, const char *owner) {
  int64_t count = 0;
  pthread_mutex_lock(&jobs->mutex);
  for (int i = 0; i < EP_JOBS_BUCKETS; i++)
    for (const ep_live_job *job = jobs->buckets[i]; job; job = job->next)
      count += strcmp(job->row.owner, owner) == 0;
  pthread_mutex_unlock(&jobs->mutex);
  return count;
}

enum { SUBMITTERS = 50, EACH = 4, QUOTA = 10 };

typedef struct {
  ep_jobs *jobs;
  atomic_int accepted, refused;
  atomic_llong most; /* live jobs that were seen at once */
} crowd;

static void *crowd_run(void *context) {
  crowd *all = context;
  char id[EP_ID_BYTES];
  ep_problem problem;
  for (int i = 0; i < EACH; i++) {
    ep_status status = submit(all->jobs, "ann", "slow", NULL, id, &problem);
    atomic_fetch_add(status == EP_OK ? &all->accepted : &all->refused, 1);
    if (status != EP_OK && (status != EP_BUSY || !strstr(problem.detail, "ann has ")))
      atomic_fetch_add(&all->accepted, 1000); /* fails the test, outside its thread */
    long long count = live_count(all->jobs, "ann"), most = atomic_load(&all->most);
    while (count > most && !atomic_compare_exchange_weak(&all->most, &most, count)) continue;
  }
  return NULL;
}

START_TEST(a_quota_holds_under_many_submitters) {
  crowd all = {.jobs = open_with(QUOTA, 0, 1)};
  pthread_t thread[SUBMITTERS];
  char id[EP_ID_BYTES];
  ep_problem problem;
  for (int i = 0; i < SUBMITTERS; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, crowd_run, &all), 0);
  for (int i = 0; i < SUBMITTERS; i++) pthread_join(thread[i], NULL);
  ck_assert_int_eq(atomic_load(&all.accepted), QUOTA);
  ck_assert_int_eq(atomic_load(&all.refused), SUBMITTERS * EACH - QUOTA);
  ck_assert_int_eq(atomic_load(&all.most), QUOTA);
  ck_assert_int_eq(submit(all.jobs, "bob", "slow", NULL, id, &problem), EP_OK); /* has his own */
  assert_ok(ep_jobs_cancel(all.jobs, id, error));
  ep_jobs_close(all.jobs);
  all.jobs = open_with(QUOTA, 0, 1); /* after a restart they count */
  ck_assert_int_eq(submit(all.jobs, "ann", "slow", NULL, id, &problem), EP_BUSY);
  ck_assert_ptr_nonnull(strstr(problem.detail, "ann has 10 jobs that have not ended, of 10"));
  ck_assert_int_eq(live_count(all.jobs, "ann"), QUOTA);
  ep_jobs_close(all.jobs);
}
END_TEST

START_TEST(an_end_gives_its_share_back) {
  char id[2][EP_ID_BYTES];
  ep_problem problem;
  ep_jobs *jobs = open_with(1, 0, 1);
  for (int i = 0; i < 20; i++) {
    ck_assert_int_eq(submit(jobs, "ann", "slow", NULL, id[0], &problem), EP_OK);
    ck_assert_int_eq(submit(jobs, "ann", "slow", NULL, id[1], &problem), EP_BUSY);
    assert_ok(ep_jobs_cancel(jobs, id[0], error));
    wait_until(live_count(jobs, "ann") == 0);
  }
  ep_jobs_close(jobs);
}
END_TEST

/* When a job started, in microseconds. */
static int64_t started_us(ep_jobs *jobs, const char *id) {
  ep_job_row row;
  assert_ok(ep_store_job_get(jobs->store, id, &row, error));
  int64_t time_us = row.started_us;
  ep_job_row_deinit(&row);
  return time_us;
}

START_TEST(a_greedy_owner_holds_up_another_by_one_job) {
  enum { GREEDY = 1000 };
  static char greedy[GREEDY][EP_ID_BYTES];
  char other[EP_ID_BYTES];
  ep_problem problem;
  ep_jobs *jobs = open_with(0, 0, 1);
  ck_assert_int_eq(submit(jobs, "greedy", "slow", NULL, greedy[0], &problem), EP_OK);
  job_wait(jobs, greedy[0], "running");
  for (int i = 1; i < GREEDY; i++)
    ck_assert_int_eq(submit(jobs, "greedy", "slow", NULL, greedy[i], &problem), EP_OK);
  ck_assert_int_eq(submit(jobs, "other", "slow", NULL, other, &problem), EP_OK);
  ck_assert_int_le(job_number(jobs, other, "\"queue_position\":"), 2);
  int before = 0; /* of the greedy owner's jobs that were queued */
  for (int i = 0; i < GREEDY && !job_has(jobs, other, "running"); i++) {
    job_wait(jobs, greedy[i], "running");
    before += i > 0;
    assert_ok(ep_jobs_cancel(jobs, greedy[i], error));
    job_wait(jobs, greedy[i], "cancelled");
    wait_until(job_has(jobs, other, "running") || job_has(jobs, greedy[i + 1], "running"));
  }
  ck_assert_int_le(before, 1);
  ck_assert(job_has(jobs, other, "running"));
  wait_until(started_us(jobs, other) > 0); /* stored once its worker reports it */
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(cores_of_an_owner_have_a_quota) {
  char ann[2][EP_ID_BYTES], bob[EP_ID_BYTES];
  ep_problem problem;
  ep_jobs *jobs = open_with(0, 1, 3);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(submit(jobs, "ann", "slow", NULL, ann[i], &problem), EP_OK);
  job_wait(jobs, ann[0], "running");
  ck_assert_int_eq(submit(jobs, "bob", "slow", NULL, bob, &problem), EP_OK);
  job_wait(jobs, bob, "running"); /* it came after ann's second, which waits for her first */
  ck_assert(job_has(jobs, ann[1], "queued"));
  assert_ok(ep_jobs_cancel(jobs, ann[0], error));
  job_wait(jobs, ann[1], "running");
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_key_is_its_owners) {
  char id[3][EP_ID_BYTES];
  ep_ownership of;
  ep_problem problem;
  ep_jobs *jobs = open_with(0, 0, 1);
  ck_assert_int_eq(submit(jobs, "ann", "slow", "k", id[0], &problem), EP_OK);
  ck_assert_int_eq(submit(jobs, "ann", "slow", "k", id[1], &problem), EP_OK);
  ck_assert_int_eq(submit(jobs, "bob", "slow", "k", id[2], &problem), EP_OK);
  ck_assert_str_eq(id[0], id[1]);
  ck_assert_str_ne(id[0], id[2]);
  assert_ok(ep_jobs_owner(jobs, EP_OWNED_JOB, id[2], &of, error));
  ck_assert_str_eq(of.owner, "bob");
  ck_assert(!of.private);
  ck_assert_int_eq(ep_jobs_owner(jobs, EP_OWNED_DATASET, id[2], &of, NULL), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_day_has_device_seconds) {
  char id[EP_ID_BYTES], other[EP_ID_BYTES];
  ep_jobs_options options = jobs_options("cpu");
  options.quota_device_seconds = 1;
  ep_jobs *jobs = NULL;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  ep_problem problem = {0};
  ck_assert_int_eq(submit(jobs, "ann", "slow", NULL, id, &problem), EP_OK);
  wait_until(submit(jobs, "ann", "slow", NULL, other, &problem) == EP_BUSY);
  ck_assert_ptr_nonnull(strstr(problem.detail, "ann has used "));
  ck_assert(problem.retry_seconds > 0 && problem.retry_seconds <= 86400);
  job_wait(jobs, id, "running"); /* it goes on */
  ck_assert_int_eq(submit(jobs, "bob", "instant", NULL, other, &problem), EP_OK);
  ep_jobs_close(jobs);
  assert_ok(ep_jobs_open(&options, &jobs, error));
  ck_assert_int_eq(submit(jobs, "ann", "slow", NULL, other, &problem), EP_BUSY);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("owners") {
  TCase *tests = ep_suite_case(suite, "owners");
  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, a_quota_holds_under_many_submitters);
  tcase_add_test(tests, an_end_gives_its_share_back);
  tcase_add_test(tests, a_greedy_owner_holds_up_another_by_one_job);
  tcase_add_test(tests, cores_of_an_owner_have_a_quota);
  tcase_add_test(tests, a_key_is_its_owners);
  tcase_add_test(tests, a_day_has_device_seconds);
}
