/* Tests of server/workers/supervisor.c by way of jobs: devices that come, go, hang and are lost,
 * and what is asked of workers. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "server/jobs/live/state.h"
#include "server/process/clock.h"
#include "server/workers/worker.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* The steady clock runs so many times as fast, and waits for events are as much shorter, by the
 * linker's --wrap: a test need not sit through the supervisor's time-outs. */
static int clock_rate = 1;
static struct timespec clock_begin; /* of that rate */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = __real_clock_gettime(clock, now);
  if (failed || clock != CLOCK_MONOTONIC || clock_rate == 1) return failed;
  int64_t passed_ns =
      (now->tv_sec - clock_begin.tv_sec) * INT64_C(1000000000) + now->tv_nsec - clock_begin.tv_nsec;
  int64_t now_ns = clock_begin.tv_nsec + passed_ns * clock_rate;
  now->tv_sec = clock_begin.tv_sec + now_ns / 1000000000;
  now->tv_nsec = now_ns % 1000000000;
  return 0;
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
  int slow = timeout_ms > 0 ? (timeout_ms + clock_rate - 1) / clock_rate : timeout_ms;
  return __real_poll(polled, count, slow);
}

/* Before a test opens anything. */
static void clock_hasten(void) {
  __real_clock_gettime(CLOCK_MONOTONIC, &clock_begin);
  clock_rate = 10;
}

START_TEST(auto_finds_the_devices) {
  ep_jobs *jobs = jobs_open("auto");
  devices_wait(jobs, "\"state\":\"idle\"", 2);
  char *text = devices_text(jobs);
  ck_assert_ptr_nonnull(strstr(text, "\"cpu\""));
  ck_assert_ptr_nonnull(strstr(text, "\"cuda:0\""));
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_job_gets_the_device_it_names) {
  static const char *const wanted[] = {"cpu", "cuda:0", "cuda:1", "cuda"};
  ep_jobs *jobs = jobs_open("cpu,cuda:0,cuda:1");
  char id[EP_ID_BYTES], expected[64], *text;
  for (int i = 0; i < 4; i++) {
    job_submit_with(jobs, "instant", 3, wanted[i], 0, id);
    job_wait(jobs, id, "succeeded");
    text = job_text(jobs, id);
    snprintf(expected, sizeof expected, "\"executor\":\"fake/%s", wanted[i]);
    ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
    free(text);
  }
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(bad_devices_are_refused) {
  static const char *const lists[] = {"gpu", "cpu,", "cuda:", "cpu,cpu", "cuda:1x", ""};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    ep_jobs *jobs = NULL;
    ep_jobs_options options = jobs_options(lists[i]);
    ck_assert_int_eq(ep_jobs_open(&options, &jobs, NULL), EP_INVALID);
    ck_assert_ptr_null(jobs);
  }
}
END_TEST

START_TEST(a_device_that_never_opens_is_lost_and_the_rest_goes_on) {
  ep_jobs *jobs = jobs_open("cuda:7,cpu");
  char id[EP_ID_BYTES], spec[512];
  bool repeated;
  ep_problem problem = {0};
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  devices_wait(jobs, "\"state\":\"lost\"", 1);
  spec_write(spec, sizeof spec, "instant", 10, "cuda", 0);
  ck_assert_int_eq(ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)}, id,
                                  &repeated, &problem),
                   EP_INVALID);
  ck_assert_str_eq(problem.errors[0].pointer, "/device");
  ep_jobs_close(jobs);
}
END_TEST

/* A job that was accepted waits for its device, but not in silence. */
START_TEST(a_job_whose_device_is_gone_says_so) {
  ep_jobs *jobs = jobs_open("cpu,cuda:0");
  char first[EP_ID_BYTES], waiting[EP_ID_BYTES];
  job_submit_with(jobs, "slow", 100000, "cuda:0", 0, first);
  job_wait(jobs, first, "running");
  job_submit_with(jobs, "instant", 10, "cuda:0", 0, waiting);
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu");
  wait_until(job_number(jobs, waiting, "\"warning\":") != -1);
  char *text = job_text(jobs, waiting);
  ck_assert_msg(strstr(text, "it requests \\\"cuda:0\\\"") != NULL, "%s", text);
  ck_assert_ptr_nonnull(strstr(text, "\"status\":\"queued\""));
  free(text);
  wait_until(events_count(jobs, waiting, "warning") == 1); /* the event comes after the answer */
  ep_jobs_close(jobs);
  jobs = jobs_open("cuda:0"); /* it is back */
  assert_ok(ep_jobs_cancel(jobs, first, error));
  job_wait(jobs, waiting, "succeeded");
  ck_assert_int_eq(job_number(jobs, waiting, "\"warning\":"), -1);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_lost) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  options.worker_path = "/nonexistent/epoch-worker";
  assert_ok(ep_jobs_open(&options, &jobs, error));
  devices_wait(jobs, "\"state\":\"lost\"", 1);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(an_idle_worker_that_dies_is_started_again) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  devices_wait(jobs, "\"state\":\"idle\"", 1);
  int64_t pid = device_number(jobs, "\"pid\":");
  kill((pid_t)pid, SIGKILL);
  devices_wait(jobs, "\"restarts\":1", 1);
  devices_wait(jobs, "\"state\":\"idle\"", 1);
  ck_assert_int_ne(device_number(jobs, "\"pid\":"), pid);
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 1);
  ep_jobs_close(jobs);
}
END_TEST

/* A job is handed to one dying worker after another: that costs it nothing but time. */
START_TEST(workers_that_die_together_cost_one_attempt) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.cpu_jobs = 2;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "slow", 100, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 10);
  for (int i = 0; i < 4; i++) {
    pid_t has = (pid_t)worker_wait(jobs, i % 2, EP_DEVICE_BUSY).pid;
    pid_t gets = (pid_t)worker_wait(jobs, 1 - i % 2, EP_DEVICE_IDLE).pid;
    kill(gets, SIGSTOP); /* as good as dead */
    kill(has, SIGKILL);
  }
  kill((pid_t)worker_wait(jobs, 0, EP_DEVICE_BUSY).pid, SIGKILL);
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 2);
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"restarted\""), 1);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

/* Handed to a worker that did nothing with it, it has not been started. */
START_TEST(a_job_that_never_began_was_never_started) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  pid_t pid = (pid_t)worker_wait(jobs, 0, EP_DEVICE_IDLE).pid;
  kill(pid, SIGSTOP);
  job_submit(jobs, "slow", 100000, id);
  worker_wait(jobs, 0, EP_DEVICE_BUSY);
  assert_ok(ep_jobs_cancel(jobs, id, error));
  kill(pid, SIGKILL);
  job_wait(jobs, id, "cancelled");
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, "\"device\":null"));
  ck_assert_ptr_nonnull(strstr(text, "\"started_at\":null"));
  free(text);
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 0);
  ep_jobs_close(jobs);
}
END_TEST

/* But it is not tried for ever. */
START_TEST(a_job_that_kills_whoever_takes_it_fails) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "mute", 10, id);
  job_wait(jobs, id, "failed");
  char *text = job_text(jobs, id);
  ck_assert_msg(strstr(text, "exit code 3; 3 times in a row before the job began"), "%s", text);
  free(text);
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  ep_jobs_close(jobs);
}
END_TEST

/* What kept a second worker from starting may be over. */
START_TEST(a_lost_worker_beside_others_gets_another_chance) {
  clock_hasten();
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char ids[2][EP_ID_BYTES], path[300];
  options.cpu_jobs = 2;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  worker_wait(jobs, 0, EP_DEVICE_IDLE);
  snprintf(path, sizeof path, "%s/refuse", scratch_dir);
  assert_ok(ep_data_dir_write_file(path, "x", 1, error));
  for (int i = 0; i < 2; i++) job_submit(jobs, "slow", 1000000, ids[i]);
  worker_wait(jobs, 1, EP_DEVICE_LOST);
  job_wait(jobs, ids[1], "queued");
  ck_assert_int_eq(unlink(path), 0);
  worker_wait(jobs, 1, EP_DEVICE_BUSY);
  job_wait(jobs, ids[1], "running");
  job_wait(jobs, ids[0], "running");
  ep_jobs_close(jobs);
}
END_TEST

static void death_note(void *context, const char *job, int attempt, bool begun, const char *cause) {
  (void)cause;
  snprintf(context, 64, "%s, attempt %d%s", job, attempt, begun ? ", begun" : "");
}

static ep_device_state state_after_check(ep_supervisor *s, ep_supervised *worker) {
  ep_supervised_check(s, worker, 3);
  return worker->status.state;
}

/* A process in the hands of a driver does not end when it is killed: a child that nobody kills. */
START_TEST(the_job_of_a_worker_that_does_not_end_goes_to_others) {
  char ids[1][EP_DEVICE_ID_BYTES] = {"cpu"}, noted[64] = "";
  ep_supervisor_events events = {.context = noted, .died = death_note};
  ep_supervisor_options options = {.program = {.path = FAKE_WORKER, .data_dir = scratch_dir},
                                   .cpu_jobs = 1};
  ep_supervisor *s = NULL;
  assert_ok(ep_supervisor_create(&options, ids, 1, &events, &s, error));
  pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  ep_supervised *worker = &s->worker[s->workers_count++];
  *worker = (ep_supervised){.id = "cpu", .attempt = 2, .begun = true, .killed = true, .reap_us = 1};
  worker->status = (ep_worker_status){.state = EP_DEVICE_BUSY, .job = "job_1"};
  worker->link = (ep_worker_link){.pid = child, .pidfd = pidfd_open(child, 0), .socket = -1};
  worker->hung_up = true;
  worker->gone_us = INT64_MAX;
  ep_supervised_check(s, worker, 2);
  ck_assert_str_eq(noted, "job_1, attempt 2, begun");
  ck_assert_int_eq(worker->status.state, EP_DEVICE_LOST);
  ck_assert_str_eq(worker->status.job, "");
  noted[0] = 0;
  kill(child, SIGKILL); /* it comes to itself, or not */
  wait_until(state_after_check(s, worker) == EP_DEVICE_RESTARTING);
  ck_assert_str_eq(noted, ""); /* the job is somebody else's by now */
  ep_supervisor_destroy(s);
}
END_TEST

START_TEST(the_watchdog_kills_a_worker_that_hangs) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.stall_seconds = 1; /* a busy machine lets processes wait for tenths of one */
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "hang", 10, id);
  job_wait(jobs, id, "failed");
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, "made no progress for 1"));
  free(text);
  job_submit(jobs, "slow", 300, id); /* an epoch every 5 ms is progress */
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 1);
  ep_jobs_close(jobs);
}
END_TEST

/* An epoch may take longer than the watchdog waits, so long as the worker says that it goes on. */
START_TEST(signs_of_life_keep_a_long_epoch_alive) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.stall_seconds = 1; /* a busy machine lets processes wait for tenths of one */
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "long", 2, id);
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 1);
  ep_jobs_close(jobs);
}
END_TEST

static void probe_ignored(void *context, const ep_error *failure, const ep_error *full) {
  (void)context, (void)failure, (void)full;
}

static bool failed_after_probe(ep_jobs *jobs, const char *id) {
  ep_jobs_probe(jobs, 1000, probe_ignored, NULL);
  return job_has(jobs, id, "failed");
}

/* A worker whose training hangs still answers probes: that is no progress. */
START_TEST(probes_do_not_keep_a_hung_training_alive) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.stall_seconds = 1; /* a busy machine lets processes wait for tenths of one */
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "hang", 10, id);
  wait_until(failed_after_probe(jobs, id));
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_deaf_worker_is_killed_10_s_after_a_cancel) {
  clock_hasten();
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "stubborn", 1000000, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 1);
  int64_t start_us = ep_clock_steady_us();
  assert_ok(ep_jobs_cancel(jobs, id, error));
  job_wait(jobs, id, "cancelled");
  int64_t took_us = ep_clock_steady_us() - start_us;
  ck_assert_int_ge(took_us, 9900000);
  ep_jobs_close(jobs);
}
END_TEST

/* An answer that comes from another thread. */
typedef struct {
  atomic_int calls;
  double output[4];
  int64_t rows;
  ep_error error;
} answer;

static void predicted(void *context, const double *output, int64_t rows, int64_t columns,
                      const ep_error *error) {
  answer *a = context;
  a->rows = rows;
  if (error) a->error = *error;
  for (int64_t i = 0; !error && i < rows * columns && i < 4; i++) a->output[i] = output[i];
  atomic_fetch_add(&a->calls, 1);
}

static void answer_wait(answer *a) {
  wait_until(a->calls != 0);
  ck_assert_int_eq(a->calls, 1);
}

/* Asked for, answered, and kept, though the daemon ends before the worker does. */
START_TEST(a_cancel_is_kept_when_the_daemon_ends) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "stubborn", 1000000, id);
  job_wait(jobs, id, "running");
  assert_ok(ep_jobs_cancel(jobs, id, error));
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu");
  job_wait(jobs, id, "cancelled");
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

/* The fake worker calls its executor fake/other when it may choose at a later attempt. */
START_TEST(a_restart_uses_the_executor_of_the_first_start) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "fickle", 300, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 10);
  ep_jobs_close(jobs);
  jobs = jobs_open("cpu");
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 2);
  char *text = job_text(jobs, id);
  ck_assert_msg(strstr(text, "\"executor\":\"fake/cpu\"") != NULL, "%s", text);
  free(text);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(predictions_come_from_a_worker) {
  ep_jobs *jobs = jobs_open("cpu");
  double x[] = {1, 2, 3, 4}, deadly[] = {666, 0}, lying[] = {667, 0};
  char id[EP_ID_BYTES], none[EP_ID_BYTES], slow[EP_ID_BYTES];
  answer good = {0}, bad = {0}, more = {0};
  job_submit(jobs, "weights", 10, id);
  job_wait(jobs, id, "succeeded");
  assert_ok(ep_jobs_predict(jobs, id, 0,
                            &(ep_prediction_rows){.x = x, .rows = 2, .columns = 2, .windows = 1},
                            predicted, &good, error));
  answer_wait(&good);
  ck_assert_int_eq(good.rows, 2);
  ck_assert_double_eq(good.output[0], 3);
  ck_assert_double_eq(good.output[1], 7);
  assert_ok(ep_jobs_predict(
      jobs, id, 0, &(ep_prediction_rows){.x = lying, .rows = 1, .columns = 2, .windows = 1},
      predicted, &more, error));
  answer_wait(&more); /* there would be no name for the second row */
  ck_assert_int_eq(more.error.status, EP_INTERNAL);
  assert_ok(ep_jobs_predict(
      jobs, id, 0, &(ep_prediction_rows){.x = deadly, .rows = 1, .columns = 2, .windows = 1},
      predicted, &bad, error));
  answer_wait(&bad); /* its worker's death is an answer */
  ck_assert_int_eq(bad.error.status, EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(bad.error.message, "SIGKILL"));
  job_submit(jobs, "instant", 10, none);
  job_wait(jobs, none, "succeeded");
  ck_assert_int_eq(
      ep_jobs_predict(jobs, none, 0,
                      &(ep_prediction_rows){.x = x, .rows = 2, .columns = 2, .windows = 1},
                      predicted, &bad, NULL),
      EP_NOT_FOUND);
  job_submit(jobs, "slow", 100000, slow);
  ck_assert_int_eq(
      ep_jobs_predict(jobs, slow, 0,
                      &(ep_prediction_rows){.x = x, .rows = 2, .columns = 2, .windows = 1},
                      predicted, &bad, NULL),
      EP_CONFLICT);
  ck_assert_int_eq(
      ep_jobs_predict(jobs, id, 0,
                      &(ep_prediction_rows){
                          .x = x, .rows = EP_LIMIT_PREDICT_ROWS + 1, .columns = 2, .windows = 1},
                      predicted, &bad, NULL),
      EP_TOO_LARGE);
  ck_assert_int_eq(ep_jobs_predict(jobs, id, 0,
                                   &(ep_prediction_rows){
                                       .x = x, .rows = 2, .columns = INT64_MAX / 2, .windows = 1},
                                   predicted, &bad, NULL),
                   EP_TOO_LARGE);
  ck_assert_int_eq(bad.calls, 1);
  ep_jobs_close(jobs);
}
END_TEST

/* A worker that does not read is asked no more than the daemon can hold for it; the others are told
 * to come again, and those that were taken are answered. */
START_TEST(questions_that_nobody_reads_have_a_ceiling) {
  enum { ROWS = EP_LIMIT_PREDICT_ROWS, COLUMNS = 10, ASKED = 12 };
  ep_jobs *jobs = jobs_open("cpu");
  double *x = calloc((size_t)ROWS * COLUMNS, sizeof *x);
  answer answers[ASKED] = {0};
  char id[EP_ID_BYTES];
  int taken = 0;
  job_submit(jobs, "weights", 10, id);
  job_wait(jobs, id, "succeeded");
  pid_t worker = (pid_t)device_number(jobs, "\"pid\":");
  kill(worker, SIGSTOP);
  for (int i = 0; i < ASKED; i++)
    assert_ok(ep_jobs_predict(
        jobs, id, 0, &(ep_prediction_rows){.x = x, .rows = ROWS, .columns = COLUMNS, .windows = 1},
        predicted, &answers[i], error));
  answer_wait(&answers[ASKED - 1]);
  ck_assert_int_eq(answers[ASKED - 1].error.status, EP_BUSY);
  kill(worker, SIGCONT);
  for (int i = 0; i < ASKED; i++) {
    answer_wait(&answers[i]);
    taken += answers[i].error.status == EP_OK;
  }
  ck_assert_int_ge(taken, EP_LIMIT_FRAMES_BYTES / (8 * ROWS * COLUMNS) - 1);
  free(x);
  ep_jobs_close(jobs);
}
END_TEST

static void probed(void *context, const ep_error *error, const ep_error *full) {
  answer *a = context;
  ck_assert_ptr_null(full);
  if (error) a->error = *error;
  atomic_fetch_add(&a->calls, 1);
}

START_TEST(a_probe_asks_every_device) {
  ep_jobs *jobs = jobs_open("cpu,cuda:0");
  answer good = {0}, bad = {0};
  devices_wait(jobs, "\"state\":\"idle\"", 2);
  ep_jobs_probe(jobs, EP_PATIENCE_SECONDS * 1000, probed, &good);
  answer_wait(&good);
  ck_assert_int_eq(good.error.status, EP_OK);
  kill((pid_t)device_number(jobs, "\"pid\":"), SIGSTOP); /* it does not answer */
  ep_jobs_probe(jobs, 100, probed, &bad);
  answer_wait(&bad);
  ck_assert_int_eq(bad.error.status, EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(bad.error.message, "cpu"));
  ep_jobs_close(jobs); /* and ends although one is stopped */
}
END_TEST

START_TEST(requests_under_way_fail_at_the_end) {
  clock_hasten();
  ep_jobs *jobs = jobs_open("cpu");
  answer a = {0};
  devices_wait(jobs, "\"state\":\"idle\"", 1);
  kill((pid_t)device_number(jobs, "\"pid\":"), SIGSTOP);
  ep_jobs_probe(jobs, 60000, probed, &a);
  ep_jobs_close(jobs);
  ck_assert_int_eq(a.calls, 1);
  ck_assert_int_eq(a.error.status, EP_UNAVAILABLE);
}
END_TEST

/* Whether the log of this process has the words. */
static bool logged(const char *words) {
  char text[1 << 14];
  FILE *file = fopen(scratch_path("stderr"), "r");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return strstr(text, words) != NULL;
}

/* A device that is being measured when epochd ends has not failed. */
START_TEST(an_end_is_no_failure_to_measure) {
  clock_hasten();
  assert_ok(ep_data_dir_write_file(scratch_path("deaf"), "", 0, error));
  ck_assert_ptr_nonnull(freopen(scratch_path("stderr"), "w", stderr));
  ep_jobs *jobs = jobs_open("cpu");
  wait_until(access(scratch_path("asked"), F_OK) == 0);
  ep_jobs_close(jobs);
  fflush(stderr);
  ck_assert(logged("is ready"));
  ck_assert(!logged("measured"));
}
END_TEST

/* It has nothing to save; waiting for it would take longer than this test may. */
START_TEST(a_job_that_has_not_started_does_not_hold_up_the_end) {
  clock_hasten();
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES];
  options.stop_seconds = 1e5;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit_with(jobs, "silent", 10, "cpu", 0, id);
  worker_wait(jobs, 0, EP_DEVICE_BUSY);
  ep_jobs_close(jobs);
  jobs = jobs_open("cuda:0"); /* another device: it stays where it is */
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 0);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("supervisor") {
  TCase *tests = ep_suite_case(suite, "supervisor");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, auto_finds_the_devices);
  tcase_add_test(tests, a_job_gets_the_device_it_names);
  tcase_add_test(tests, bad_devices_are_refused);
  tcase_add_test(tests, a_device_that_never_opens_is_lost_and_the_rest_goes_on);
  tcase_add_test(tests, a_job_whose_device_is_gone_says_so);
  tcase_add_test(tests, a_program_that_is_not_there_is_lost);
  tcase_add_test(tests, an_idle_worker_that_dies_is_started_again);
  tcase_add_test(tests, workers_that_die_together_cost_one_attempt);
  tcase_add_test(tests, a_job_that_never_began_was_never_started);
  tcase_add_test(tests, a_job_that_kills_whoever_takes_it_fails);
  tcase_add_test(tests, a_lost_worker_beside_others_gets_another_chance);
  tcase_add_test(tests, the_job_of_a_worker_that_does_not_end_goes_to_others);
  tcase_add_test(tests, the_watchdog_kills_a_worker_that_hangs);
  tcase_add_test(tests, signs_of_life_keep_a_long_epoch_alive);
  tcase_add_test(tests, probes_do_not_keep_a_hung_training_alive);
  tcase_add_test(tests, a_deaf_worker_is_killed_10_s_after_a_cancel);
  tcase_add_test(tests, a_cancel_is_kept_when_the_daemon_ends);
  tcase_add_test(tests, a_restart_uses_the_executor_of_the_first_start);
  tcase_add_test(tests, predictions_come_from_a_worker);
  tcase_add_test(tests, questions_that_nobody_reads_have_a_ceiling);
  tcase_add_test(tests, a_probe_asks_every_device);
  tcase_add_test(tests, requests_under_way_fail_at_the_end);
  tcase_add_test(tests, an_end_is_no_failure_to_measure);
  tcase_add_test(tests, a_job_that_has_not_started_does_not_hold_up_the_end);
}
