/* Tests of server/jobs*.c with fake workers: the life of a job, its watchers. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json/json.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

START_TEST(a_job_goes_from_post_to_end) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\n"), 13);
  ck_assert_int_eq(count_of(events, "\"type\":\"queued\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 10);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  free(events);
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, "\"device\":\"cpu\""));
  ck_assert_ptr_nonnull(strstr(text, "\"executor\":\"fake/cpu\""));
  ck_assert_ptr_nonnull(strstr(text, "\"attempt\":1"));
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(faults_are_said_and_nothing_is_stored) {
  static const struct {
    const char *spec, *pointer;
    ep_status status;
  } faults[] = {
      {"{", "", EP_MALFORMED},
      {"{\"data\":{\"dataset\":\"none\"},\"model\":{\"layers\":[{\"type\":\"linear\","
       "\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":1}",
       "/data/dataset", EP_INVALID},
      {"{\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":\"linear\","
       "\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":1,\"device\":\"cuda\"}",
       "/device", EP_INVALID},
      {"{\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":\"linear\","
       "\"in_features\":784,\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":1}",
       "/model/layers/0/in_features", EP_INVALID},
  };
  ep_jobs *jobs = jobs_open("cpu");
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    ep_problem problem = {0};
    char id[EP_ID_BYTES];
    bool repeated;
    ep_status status = ep_jobs_submit(
        jobs, &(ep_submission){.json = faults[i].spec, .bytes = strlen(faults[i].spec)}, id,
        &repeated, &problem);
    ck_assert_msg(status == faults[i].status, "%s: %s", faults[i].spec, problem.detail);
    ck_assert_int_eq(problem.status, faults[i].status);
    if (faults[i].pointer[0] != 0) ck_assert_str_eq(problem.errors[0].pointer, faults[i].pointer);
  }
  char *text = NULL;
  assert_ok(ep_jobs_list(jobs, &(ep_job_page){.state = -1, .limit = 10}, &text, error));
  ck_assert_ptr_nonnull(strstr(text, "\"data\":[]"));
  free(text);
  ck_assert_int_eq(jobs_folders(), 0);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(validate_queues_nothing) {
  ep_jobs *jobs = jobs_open("cpu,cuda:0");
  ep_problem problem = {0};
  char spec[512], *text = NULL;
  spec_write(spec, sizeof spec, "instant", 10, "auto", 0);
  json_t *request = json_loads(spec, 0, NULL);
  ck_assert_int_eq(ep_jobs_validate(jobs, &(ep_viewer){0}, request, false, &text, &problem), EP_OK);
  json_decref(request);
  ck_assert_ptr_nonnull(strstr(text, "\"parameters\":3"));
  ck_assert_ptr_nonnull(strstr(text, "cuda:0"));
  free(text);
  ck_assert_int_eq(jobs_folders(), 0);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_second_daemon_is_refused) {
  ep_jobs *jobs = jobs_open("cpu"), *second = NULL;
  ep_jobs_options options = jobs_options("cpu");
  ep_error error = {0};
  char pid[32];
  ck_assert_int_eq(ep_jobs_open(&options, &second, &error), EP_CONFLICT);
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  ck_assert_ptr_nonnull(strstr(error.message, scratch_dir));
  ck_assert_ptr_nonnull(strstr(error.message, pid));
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu");
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(the_same_key_gives_the_same_job) {
  ep_jobs *jobs = jobs_open("cpu");
  char first[EP_ID_BYTES], second[EP_ID_BYTES], spec[512], other[512];
  bool repeated = true;
  ep_problem problem = {0};
  spec_write(spec, sizeof spec, "instant", 10, "auto", 0);
  spec_write(other, sizeof other, "instant", 11, "auto", 0);
  ck_assert_int_eq(
      ep_jobs_submit(jobs,
                     &(ep_submission){.json = spec, .bytes = strlen(spec), .idempotency_key = "k"},
                     first, &repeated, &problem),
      EP_OK);
  ck_assert(!repeated);
  job_wait(jobs, first, "succeeded");
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu");
  ck_assert_int_eq(
      ep_jobs_submit(jobs,
                     &(ep_submission){.json = spec, .bytes = strlen(spec), .idempotency_key = "k"},
                     second, &repeated, &problem),
      EP_OK);
  ck_assert(repeated);
  ck_assert_str_eq(first, second);
  ck_assert_int_eq(
      ep_jobs_submit(
          jobs, &(ep_submission){.json = other, .bytes = strlen(other), .idempotency_key = "k"},
          second, &repeated, &problem),
      EP_INVALID);
  ck_assert_ptr_nonnull(strstr(problem.detail, first));
  ck_assert_int_eq(
      ep_jobs_submit(
          jobs, &(ep_submission){.json = other, .bytes = strlen(other), .idempotency_key = "l"},
          second, &repeated, &problem),
      EP_OK);
  ep_jobs_close(jobs);
}
END_TEST

typedef struct {
  ep_jobs *jobs;
  const char *spec;
  char id[EP_ID_BYTES];
  bool repeated;
  ep_status status;
} submission;

static void *submit_run(void *context) {
  submission *s = context;
  ep_problem problem = {0};
  s->status = ep_jobs_submit(
      s->jobs,
      &(ep_submission){.json = s->spec, .bytes = strlen(s->spec), .idempotency_key = "at once"},
      s->id, &s->repeated, &problem);
  return NULL;
}

START_TEST(the_same_key_at_the_same_time_gives_one_job) {
  enum { COUNT = 4 };
  ep_jobs *jobs = jobs_open("cpu");
  submission all[COUNT];
  pthread_t threads[COUNT];
  char spec[512];
  int made = 0;
  spec_write(spec, sizeof spec, "instant", 10, "auto", 0);
  for (int i = 0; i < COUNT; i++) {
    all[i] = (submission){.jobs = jobs, .spec = spec};
    pthread_create(&threads[i], NULL, submit_run, &all[i]);
  }
  for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < COUNT; i++) {
    ck_assert_int_eq(all[i].status, EP_OK);
    ck_assert_str_eq(all[i].id, all[0].id);
    made += !all[i].repeated;
  }
  ck_assert_int_eq(made, 1);
  job_wait(jobs, all[0].id, "succeeded");
  wait_until(jobs_folders() == 1); /* where a worker had begun with another, when that has ended */
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(the_queue_has_an_order_and_an_end) {
  ep_jobs_options options = jobs_options("cpu");
  options.max_queued = 3;
  ep_jobs *jobs = NULL;
  char running[EP_ID_BYTES], low[EP_ID_BYTES], high[EP_ID_BYTES], middle[EP_ID_BYTES],
      refused[EP_ID_BYTES], spec[512], *text;
  bool repeated;
  ep_problem problem = {0};
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "slow", 100000, running);
  job_wait(jobs, running, "running");
  /* Some milliseconds each: their ends are told apart by milliseconds. */
  job_submit_with(jobs, "slow", 2, "auto", -5, low);
  job_submit_with(jobs, "slow", 2, "auto", 5, high);
  job_submit_with(jobs, "slow", 2, "auto", 0, middle);
  spec_write(spec, sizeof spec, "instant", 10, "auto", 0);
  ck_assert_int_eq(ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)},
                                  refused, &repeated, &problem),
                   EP_BUSY);
  ck_assert_int_eq(job_number(jobs, high, "\"queue_position\":"), 1);
  ck_assert_int_eq(job_number(jobs, middle, "\"queue_position\":"), 2);
  ck_assert_int_eq(job_number(jobs, low, "\"queue_position\":"), 3);
  assert_ok(ep_jobs_queue(jobs, &(ep_viewer){0}, &text, error));
  ck_assert_ptr_nonnull(strstr(text, "\"queued\":3"));
  ck_assert_ptr_nonnull(strstr(text, "\"running\":1"));
  ck_assert(strstr(text, high) < strstr(text, low));
  free(text);
  assert_ok(ep_jobs_cancel(jobs, running, error));
  job_wait(jobs, low, "succeeded");
  job_wait(jobs, high, "succeeded");
  ck_assert(job_time(jobs, high) < job_time(jobs, middle));
  ck_assert(job_time(jobs, middle) < job_time(jobs, low));
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(cancel_ends_queued_and_running_jobs) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], queued[EP_ID_BYTES];
  job_submit(jobs, "slow", 100000, running);
  job_wait(jobs, running, "running");
  job_submit(jobs, "instant", 10, queued);
  assert_ok(ep_jobs_cancel(jobs, queued, error));
  job_wait(jobs, queued, "cancelled");
  assert_ok(ep_jobs_cancel(jobs, queued, error));
  char *events = job_events(jobs, queued);
  ck_assert_int_eq(count_of(events, "\n"), 2);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  free(events);
  assert_ok(ep_jobs_cancel(jobs, running, error));
  assert_ok(ep_jobs_cancel(jobs, running, error));
  job_wait(jobs, running, "cancelled");
  ck_assert_int_eq(ep_jobs_cancel(jobs, "job_01kaaaaaaaaaaaaaaaaaaaaaaa", NULL), EP_NOT_FOUND);
  ck_assert_int_eq(ep_jobs_cancel(jobs, "../x", NULL), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_job_that_diverges_fails_with_its_reason) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "diverge", 10, id);
  job_wait(jobs, id, "failed");
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, "the loss is not finite"));
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_dead_worker_costs_a_restart) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "kill-once", 10, id);
  job_wait(jobs, id, "succeeded");
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 10);
  ck_assert_int_eq(count_of(events, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"restarted\""), 1);
  ck_assert_ptr_nonnull(strstr(events, "killed by signal 9 (SIGKILL)"));
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  free(events);
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 2);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(three_deaths_without_progress_fail_the_job) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], after[EP_ID_BYTES];
  job_submit(jobs, _i == 0 ? "kill" : "exit", 10, id);
  job_submit(jobs, "instant", 10, after);
  job_wait(jobs, id, "failed");
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, _i == 0 ? "killed by signal 9 (SIGKILL)" : "exit code 3"));
  free(text);
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 3);
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), _i == 0 ? 5 : 0);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  free(events);
  job_wait(jobs, after, "succeeded");
  ep_jobs_close(jobs);
}
END_TEST

/* What a worker had put in place when it died may not be on the disk, and no row speaks of it. */
START_TEST(results_of_a_dead_worker_go) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], path[400];
  job_submit(jobs, "weights-kill", 5, id);
  job_wait(jobs, id, "failed");
  ck_assert_int_eq(ep_jobs_file(jobs, id, "weights.safetensors", path, sizeof path, NULL),
                   EP_NOT_FOUND);
  job_submit(jobs, "weights", 5, id);
  job_wait(jobs, id, "succeeded");
  assert_ok(ep_jobs_file(jobs, id, "weights.safetensors", path, sizeof path, error));
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(deaths_with_progress_do_not_count) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "climb", 6, id); /* five deaths, each one epoch further */
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 6);
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 6);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(delete_wants_an_ended_job) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], *text;
  uint64_t version;
  job_submit(jobs, "slow", 100000, id);
  ck_assert_int_eq(ep_jobs_delete(jobs, id, NULL, NULL), EP_CONFLICT);
  assert_ok(ep_jobs_cancel(jobs, id, error));
  job_wait(jobs, id, "cancelled");
  ck_assert_int_eq(jobs_folders(), 1);
  assert_ok(ep_jobs_delete(jobs, id, NULL, error));
  ck_assert_int_eq(jobs_folders(), 0);
  ck_assert_int_eq(ep_jobs_get(jobs, id, &text, &version, NULL), EP_NOT_FOUND);
  ck_assert_int_eq(ep_jobs_delete(jobs, id, NULL, NULL), EP_NOT_FOUND);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(lists_page_and_filter) {
  ep_jobs *jobs = jobs_open("cpu");
  char ids[5][EP_ID_BYTES], *text;
  for (int i = 0; i < 5; i++) job_submit(jobs, i == 2 ? "diverge" : "instant", 2, ids[i]);
  for (int i = 0; i < 5; i++) job_wait(jobs, ids[i], i == 2 ? "failed" : "succeeded");
  assert_ok(ep_jobs_list(jobs, &(ep_job_page){.state = -1, .limit = 2}, &text, error));
  ck_assert_ptr_nonnull(strstr(text, "\"has_more\":true"));
  ck_assert_ptr_nonnull(strstr(text, ids[4]));
  ck_assert_ptr_null(strstr(text, ids[2]));
  free(text);
  assert_ok(
      ep_jobs_list(jobs, &(ep_job_page){.state = -1, .after = ids[1], .limit = 2}, &text, error));
  ck_assert_ptr_nonnull(strstr(text, "\"has_more\":false"));
  ck_assert_ptr_nonnull(strstr(text, ids[0]));
  free(text);
  assert_ok(ep_jobs_list(jobs, &(ep_job_page){.state = EP_STATE_FAILED, .limit = 2}, &text, error));
  ck_assert_ptr_nonnull(strstr(text, ids[2]));
  ck_assert_ptr_null(strstr(text, ids[3]));
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

static void wake_count(void *context) {
  atomic_fetch_add((atomic_int *)context, 1);
}

/* Waits for a change of the job, as another watcher. */
static void version_await(ep_jobs *jobs, const char *id) {
  atomic_int wakes = 0;
  uint64_t version = 0;
  char *text = NULL;
  assert_ok(ep_jobs_get(jobs, id, &text, &version, error));
  free(text);
  uint64_t token = ep_jobs_watch(jobs, id, version, wake_count, &wakes);
  wait_until(wakes == 1);
  ep_jobs_unwatch(jobs, token);
}

START_TEST(watchers_wake_once) {
  ep_jobs *jobs = jobs_open("cpu");
  atomic_int wakes = 0, never = 0;
  char id[EP_ID_BYTES], queued[EP_ID_BYTES], *text;
  uint64_t version = 0, queued_version = 0;
  job_submit(jobs, "slow", 100000, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 1);
  job_submit(jobs, "instant", 10, queued);
  assert_ok(ep_jobs_get(jobs, queued, &text, &queued_version, error));
  free(text);
  uint64_t none = ep_jobs_watch(jobs, queued, queued_version, wake_count, &never);
  assert_ok(ep_jobs_get(jobs, id, &text, &version, error));
  free(text);
  uint64_t token = ep_jobs_watch(jobs, id, version, wake_count, &wakes);
  wait_until(wakes == 1);
  for (int i = 0; i < 3; i++) version_await(jobs, id);
  ck_assert_int_eq(wakes, 1); /* once, though it went on */
  ck_assert_int_eq(never, 0);
  ep_jobs_unwatch(jobs, token);
  token = ep_jobs_watch(jobs, id, version, wake_count, &wakes); /* it differs: at once */
  wait_until(wakes == 2);
  assert_ok(ep_jobs_cancel(jobs, id, error)); /* the queued one's place changes */
  wait_until(never == 1);
  ep_jobs_unwatch(jobs, none);
  job_wait(jobs, queued, "succeeded");
  token = ep_jobs_watch(jobs, queued, 0, wake_count, &wakes); /* it has ended: at once */
  wait_until(wakes == 3);
  ep_jobs_unwatch(jobs, token);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(the_version_says_whether_the_text_changed) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], *text, *last = NULL;
  uint64_t version = 0, last_version = 0;
  bool ended = false;
  job_submit(jobs, "slow", 30, id);
  while (!ended) {
    assert_ok(ep_jobs_get(jobs, id, &text, &version, error));
    if (last && version == last_version) ck_assert_str_eq(text, last);
    ck_assert_uint_ge(version, last_version);
    ended = strstr(text, "\"status\":\"succeeded\"") != NULL;
    free(last);
    last = text;
    last_version = version;
  }
  free(last);
  ep_jobs_close(jobs);
}
END_TEST

/* The fake worker reports a thousand epochs at once, in lines of 240 bytes. */
START_TEST(a_log_at_its_ceiling_keeps_fewer_reports) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES], line[64];
  options.max_log_bytes = 200000;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "instant", 3999, id);
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(events_count(jobs, id, "epoch"), 1000 + 500 + 500 + 250);
  ck_assert_int_eq(events_count(jobs, id, "warning"), 2);
  char *events = job_events(jobs, id);
  ck_assert_ptr_nonnull(strstr(events, "one in 2 reports is stored"));
  ck_assert_ptr_nonnull(strstr(events, "one in 4 reports is stored"));
  for (int epoch = 999; epoch <= 1003; epoch++) {
    snprintf(line, sizeof line, "\"epoch\":%d,", epoch);
    ck_assert_int_eq(strstr(events, line) != NULL, epoch <= 1000 || epoch % 2 == 0);
  }
  ck_assert_ptr_nonnull(strstr(events, "\"epoch\":3999,")); /* the last report stays */
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("jobs") {
  TCase *tests = ep_suite_case(suite, "jobs");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, a_job_goes_from_post_to_end);
  tcase_add_test(tests, faults_are_said_and_nothing_is_stored);
  tcase_add_test(tests, validate_queues_nothing);
  tcase_add_test(tests, a_second_daemon_is_refused);
  tcase_add_test(tests, the_same_key_gives_the_same_job);
  tcase_add_test(tests, the_same_key_at_the_same_time_gives_one_job);
  tcase_add_test(tests, the_queue_has_an_order_and_an_end);
  tcase_add_test(tests, cancel_ends_queued_and_running_jobs);
  tcase_add_test(tests, a_job_that_diverges_fails_with_its_reason);
  tcase_add_test(tests, a_dead_worker_costs_a_restart);
  tcase_add_loop_test(tests, three_deaths_without_progress_fail_the_job, 0, 2);
  tcase_add_test(tests, results_of_a_dead_worker_go);
  tcase_add_test(tests, deaths_with_progress_do_not_count);
  tcase_add_test(tests, delete_wants_an_ended_job);
  tcase_add_test(tests, lists_page_and_filter);
  tcase_add_test(tests, watchers_wake_once);
  tcase_add_test(tests, the_version_says_whether_the_text_changed);
  tcase_add_test(tests, a_log_at_its_ceiling_keeps_fewer_reports);
}
