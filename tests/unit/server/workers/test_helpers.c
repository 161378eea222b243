/* Which idle workers help which sweep, what passes between them, and when they are taken back. The
 * workers are the other ends of sockets, in this test. */
#include "server/workers/helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/workers/worker.h"
#include "tests/suite.h"

enum { WORKERS = 5, FRAME_BYTES = 1 << 16 };

static ep_supervisor supervisor;
static int ends[WORKERS]; /* this test's */
static bool refuses;      /* the jobs lend none */
static int held = -1;     /* a worker that is kept for another job */
static int helped;        /* as the jobs were told last */

static int job_wants(void *context, const char *job, int attempt, int helpers) {
  (void)context, (void)job, (void)attempt;
  return helpers < 3 ? helpers : 3;
}

static char *job_help(void *context, const char *job, int attempt, const char *device,
                      const ep_slurm_request *has) {
  (void)context, (void)attempt, (void)has;
  const bool kept = held >= 0 && strcmp(device, supervisor.worker[held].id) == 0;
  return refuses || kept ? NULL : strdup(job);
}

static void job_helped(void *context, const char *job, int attempt, int helpers) {
  (void)context, (void)job, (void)attempt;
  helped = helpers;
}

static void job_died(void *context, const char *job, int attempt, bool begun, const char *cause) {
  (void)context, (void)job, (void)attempt, (void)begun, (void)cause;
}

static bool job_finished(void *context, const char *device, const ep_reply *reply) {
  (void)context, (void)device, (void)reply;
  return true;
}

static void worker_make(int i, const char *device, const char *name) {
  ep_supervised *worker = &supervisor.worker[i];
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  *worker = (ep_supervised){.link = EP_WORKER_LINK_NONE};
  worker->link.socket = pair[0];
  ends[i] = pair[1];
  worker->status.device = i;
  worker->status.state = EP_DEVICE_IDLE;
  snprintf(worker->id, sizeof worker->id, "%s", device);
  snprintf(worker->name, sizeof worker->name, "%s", name);
  memcpy(supervisor.device[i].info.id, worker->id, sizeof worker->id);
}

static void setup(void) {
  supervisor = (ep_supervisor){
      .wake = -1, .devices_count = WORKERS, .workers_count = WORKERS, .last_lease = 100};
  supervisor.events = (ep_supervisor_events){.wants = job_wants,
                                             .help = job_help,
                                             .helped = job_helped,
                                             .died = job_died,
                                             .finished = job_finished};
  pthread_mutex_init(&supervisor.mutex, NULL);
  for (int i = 0; i < WORKERS; i++) {
    char device[16];
    snprintf(device, sizeof device, i < 4 ? "cuda:%d" : "cpu", i);
    worker_make(i, device, i == 3 ? "an older GPU" : "a GPU");
  }
  refuses = false;
  held = -1;
  helped = -1;
}

static void teardown(void) {
  for (int i = 0; i < WORKERS; i++) {
    ep_worker_link_close(&supervisor.worker[i].link);
    close(ends[i]);
  }
  pthread_mutex_destroy(&supervisor.mutex);
}

/* The worker has the job, which asks for so many helpers. */
static ep_supervised *leads(int i, const char *job, int wanted) {
  ep_supervised *worker = &supervisor.worker[i];
  snprintf(worker->status.job, sizeof worker->status.job, "%s", job);
  worker->attempt = 2;
  worker->status.state = EP_DEVICE_BUSY;
  ep_helpers_want(&supervisor, worker, wanted);
  return worker;
}

/* The next frame that the worker was sent; false: there is none. */
static bool frame_read(int i, ep_frame_kind *kind, uint8_t *payload, size_t *bytes) {
  uint8_t header[EP_FRAME_HEADER_BYTES];
  if (recv(ends[i], header, sizeof header, MSG_DONTWAIT) != sizeof header) return false;
  ck_assert_int_eq(ep_frame_header(header, kind, bytes, NULL), EP_OK);
  ck_assert_uint_le(*bytes, FRAME_BYTES);
  ck_assert_int_eq(recv(ends[i], payload, *bytes, MSG_DONTWAIT), (ssize_t)*bytes);
  return true;
}

static ep_command told(int i) {
  static _Alignas(8) uint8_t payload[FRAME_BYTES];
  ep_frame_kind kind;
  ep_command command;
  size_t bytes;
  ck_assert(frame_read(i, &kind, payload, &bytes));
  ck_assert_int_eq(kind, EP_FRAME_COMMAND);
  ck_assert_int_eq(ep_command_decode(payload, bytes, &command, NULL), EP_OK);
  return command;
}

static bool told_nothing(int i) {
  uint8_t byte;
  return recv(ends[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
}

/* Points or results as a worker sends them; whether they were taken. */
static bool sent(int from, ep_frame_kind kind, const char *job, uint64_t lease, uint32_t count) {
  ep_trial_point points[4] = {{.number = 7}};
  ep_trial_record results[4] = {{.number = 7}};
  ep_points frame = {.attempt = 2, .lease = lease, .count = count, .slots = 1};
  ep_error error = {0};
  ep_status status;
  size_t bytes;
  snprintf(frame.job, sizeof frame.job, "%s", job);
  frame.points = points;
  frame.results = results;
  uint8_t *whole = ep_points_encode(&frame, kind, &bytes);
  bool taken =
      ep_helpers_take(&supervisor, &supervisor.worker[from], kind, whole + EP_FRAME_HEADER_BYTES,
                      bytes - EP_FRAME_HEADER_BYTES, &status, &error);
  free(whole);
  ck_assert_int_eq(status, EP_OK);
  return taken;
}

START_TEST(idle_workers_of_the_same_kind_help) {
  leads(0, "swp_a", 3);
  ep_helpers_lend(&supervisor);
  for (int i = 1; i < 3; i++) {
    ep_command help = told(i);
    ck_assert_int_eq(help.kind, EP_COMMAND_HELP);
    ck_assert_str_eq(help.job, "swp_a");
    ck_assert_str_eq(help.spec, "swp_a");
    ck_assert_int_eq(help.attempt, 2);
    ck_assert_uint_eq(help.lease, (uint64_t)(100 + i));
    ck_assert_str_eq(supervisor.shown.worker[i].helps, "swp_a");
    ck_assert_int_eq(supervisor.worker[i].status.state, EP_DEVICE_IDLE);
    ep_command_deinit(&help);
  }
  ck_assert(told_nothing(3)); /* another GPU: other bits */
  ck_assert(told_nothing(4));
  ep_command helpers = told(0);
  ck_assert_int_eq(helpers.kind, EP_COMMAND_HELPERS);
  ck_assert_int_eq(helpers.leases_count, 2);
  ck_assert_uint_eq(helpers.leases[0], 101);
  ck_assert_int_eq(helped, 2);
  ep_helpers_lend(&supervisor);
  for (int i = 0; i < WORKERS; i++) ck_assert(told_nothing(i)); /* all is said */
}
END_TEST

START_TEST(a_sweep_is_told_too_where_there_is_none) {
  refuses = true;
  leads(0, "swp_a", 3);
  ep_helpers_lend(&supervisor);
  ep_command helpers = told(0);
  ck_assert_int_eq(helpers.kind, EP_COMMAND_HELPERS);
  ck_assert_int_eq(helpers.leases_count, 0);
  for (int i = 1; i < WORKERS; i++) ck_assert(told_nothing(i));
}
END_TEST

START_TEST(a_sweep_on_the_cpu_has_all_cores_already) {
  leads(4, "swp_a", 3);
  ck_assert_int_eq(supervisor.worker[4].helpers_wanted, 0);
}
END_TEST

START_TEST(points_go_to_the_helper_and_results_back) {
  static _Alignas(8) uint8_t payload[FRAME_BYTES];
  ep_frame_kind kind;
  ep_points points;
  size_t bytes;
  leads(0, "swp_a", 1);
  ep_helpers_lend(&supervisor);
  told(0);
  ep_command help = told(1);
  ck_assert(sent(0, EP_FRAME_POINTS, "swp_a", help.lease, 3));
  ck_assert_int_eq(supervisor.worker[1].points_out, 3);
  ck_assert_int_ne(supervisor.worker[1].deadline_us, 0); /* watched while it has some */
  ck_assert(frame_read(1, &kind, payload, &bytes));
  ck_assert_int_eq(ep_points_decode(kind, payload, bytes, &points, NULL), EP_OK);
  ck_assert_int_eq(kind, EP_FRAME_POINTS);
  ck_assert_uint_eq(points.count, 3);
  ck_assert_int_eq(points.points[0].number, 7);
  ck_assert(sent(1, EP_FRAME_RESULTS, "swp_a", help.lease, 3));
  ck_assert_int_eq(supervisor.worker[1].points_out, 0);
  ck_assert_int_eq(supervisor.worker[1].deadline_us, 0);
  ck_assert_int_eq(supervisor.shown.helped, 3);
  ck_assert(frame_read(0, &kind, payload, &bytes));
  ck_assert_int_eq(kind, EP_FRAME_RESULTS);
  ck_assert_int_eq(ep_points_decode(kind, payload, bytes, &points, NULL), EP_OK);
  ck_assert_uint_eq(points.lease, help.lease);
  ck_assert_int_eq(points.results[0].number, 7);
  ep_command_deinit(&help);
}
END_TEST

START_TEST(what_is_not_theirs_passes_nowhere) {
  leads(0, "swp_a", 1);
  leads(2, "swp_b", 1);
  ep_helpers_lend(&supervisor);
  told(0);
  ep_command help = told(1);
  told(2);
  ck_assert_str_eq(help.job, "swp_a");
  ck_assert(sent(0, EP_FRAME_POINTS, "swp_a", 77, 1));          /* no lease */
  ck_assert(sent(2, EP_FRAME_POINTS, "swp_b", help.lease, 1));  /* another's helper */
  ck_assert(sent(0, EP_FRAME_POINTS, "swp_b", help.lease, 1));  /* another's sweep */
  ck_assert(sent(1, EP_FRAME_RESULTS, "swp_a", 77, 1));         /* a lease of before */
  ck_assert(sent(3, EP_FRAME_RESULTS, "swp_a", help.lease, 1)); /* no helper */
  for (int i = 0; i < WORKERS; i++) ck_assert(told_nothing(i));
  ck_assert_int_eq(supervisor.shown.helped, 0);
  ep_command_deinit(&help);
}
END_TEST

START_TEST(sweeps_share_the_idle_workers_evenly) {
  leads(0, "swp_a", 3);
  ep_helpers_lend(&supervisor);
  for (int i = 0; i < 3; i++) {
    ep_command command = told(i);
    ep_command_deinit(&command);
  }
  worker_make(3, "cuda:3", "a GPU");
  leads(3, "swp_b", 3);
  ep_helpers_lend(&supervisor);
  ep_command taken = told(2);
  ck_assert_int_eq(taken.kind, EP_COMMAND_HELP); /* which ends the help before */
  ck_assert_str_eq(taken.job, "swp_b");
  ck_assert_int_eq(told(0).leases_count, 1);
  ck_assert_int_eq(told(3).leases_count, 1);
  ep_command_deinit(&taken);
}
END_TEST

START_TEST(a_helper_that_is_gone_is_told_of) {
  leads(0, "swp_a", 3);
  ep_helpers_lend(&supervisor);
  told(0);
  refuses = true;
  ep_supervised_give_up(&supervisor, &supervisor.worker[1], "it died");
  ep_helpers_lend(&supervisor);
  ck_assert_int_eq(told(0).leases_count, 1);
  ck_assert_int_eq(helped, 1);
  ck_assert_str_eq(supervisor.worker[1].status.helps, "");
}
END_TEST

START_TEST(with_the_sweep_the_help_ends) {
  leads(0, "swp_a", 1);
  ep_helpers_lend(&supervisor);
  told(0);
  ep_command help = told(1);
  ep_supervised_give_up(&supervisor, &supervisor.worker[0], "it died");
  ep_command release = told(1);
  ck_assert_int_eq(release.kind, EP_COMMAND_RELEASE);
  ck_assert_uint_eq(release.lease, help.lease);
  ck_assert_uint_eq(supervisor.worker[1].lease, 0);
  ep_command_deinit(&help);
}
END_TEST

START_TEST(one_that_cannot_help_is_not_asked_again_at_once) {
  leads(0, "swp_a", 1);
  ep_helpers_lend(&supervisor);
  ep_command help = told(1);
  ep_reply reply = {.kind = EP_REPLY_HELPED, .lease = help.lease};
  ep_fail(&reply.error, EP_NO_MEMORY, "no memory");
  ep_helpers_refuse(&supervisor, &supervisor.worker[1], &reply);
  ck_assert_uint_eq(supervisor.worker[1].lease, 0);
  ep_helpers_lend(&supervisor);
  ck_assert_uint_eq(supervisor.worker[1].lease, 0);
  ck_assert_uint_ne(supervisor.worker[2].lease, 0); /* another one helps */
  ep_command_deinit(&help);
}
END_TEST

/* Its own points, but of no helper of another sweep. */
START_TEST(the_sweeps_worker_may_end_a_loan) {
  leads(0, "swp_a", 1);
  leads(2, "swp_b", 1);
  ep_helpers_lend(&supervisor);
  ep_command help = told(1);
  ck_assert_str_eq(help.job, "swp_a");
  ep_reply reply = {.kind = EP_REPLY_HELPED, .lease = help.lease};
  ep_fail(&reply.error, EP_NO_MEMORY, "no memory");
  ep_helpers_refuse(&supervisor, &supervisor.worker[2], &reply);
  ck_assert_uint_eq(supervisor.worker[1].lease, help.lease);
  ep_helpers_refuse(&supervisor, &supervisor.worker[0], &reply);
  ck_assert_uint_eq(supervisor.worker[1].lease, 0);
  ep_command release = told(1);
  ck_assert_int_eq(release.kind, EP_COMMAND_RELEASE);
  ep_command_deinit(&help);
}
END_TEST

START_TEST(one_that_is_kept_hides_no_other) {
  held = 1;
  leads(0, "swp_a", 1);
  ep_helpers_lend(&supervisor);
  ck_assert_uint_eq(supervisor.worker[1].lease, 0);
  ck_assert_uint_ne(supervisor.worker[2].lease, 0);
}
END_TEST

/* Of another machine: idle_us is when it ends without a job. */
START_TEST(one_that_has_helped_is_idle_from_then_on) {
  for (int i = 0; i < 2; i++) {
    supervisor.worker[i].remote = true;
    supervisor.worker[i].status.device = 0;
  }
  supervisor.remote.idle_us = 1000000;
  leads(0, "swp_a", 1);
  ep_helpers_lend(&supervisor);
  ck_assert_uint_ne(supervisor.worker[1].lease, 0);
  ck_assert_int_eq(supervisor.worker[1].idle_us, 0);
  ep_helpers_free(&supervisor, &supervisor.worker[0]);
  ck_assert_int_ne(supervisor.worker[1].idle_us, 0);
}
END_TEST

/* A connection that comes back before its end was noticed: what was on its way is lost. */
START_TEST(points_do_not_outlive_the_connection) {
  for (int turn = 0; turn < 2; turn++) { /* the sweep's, then the helper's */
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    leads(0, "swp_a", 1);
    ep_helpers_lend(&supervisor);
    const uint64_t lease = supervisor.worker[1].lease;
    ck_assert_uint_ne(lease, 0);
    ep_supervised_attach(&supervisor, &supervisor.worker[turn], pair[0], true);
    ck_assert_uint_eq(supervisor.worker[1].lease, 0);
    ck_assert(supervisor.worker[0].helpers_due);
    close(ends[turn]);
    ends[turn] = pair[1];
  }
}
END_TEST

EP_SUITE("server/workers/helpers") {
  TCase *tests = ep_suite_case(suite, "helpers");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, idle_workers_of_the_same_kind_help);
  tcase_add_test(tests, a_sweep_is_told_too_where_there_is_none);
  tcase_add_test(tests, a_sweep_on_the_cpu_has_all_cores_already);
  tcase_add_test(tests, points_go_to_the_helper_and_results_back);
  tcase_add_test(tests, what_is_not_theirs_passes_nowhere);
  tcase_add_test(tests, sweeps_share_the_idle_workers_evenly);
  tcase_add_test(tests, a_helper_that_is_gone_is_told_of);
  tcase_add_test(tests, with_the_sweep_the_help_ends);
  tcase_add_test(tests, one_that_cannot_help_is_not_asked_again_at_once);
  tcase_add_test(tests, the_sweeps_worker_may_end_a_loan);
  tcase_add_test(tests, one_that_is_kept_hides_no_other);
  tcase_add_test(tests, one_that_has_helped_is_idle_from_then_on);
  tcase_add_test(tests, points_do_not_outlive_the_connection);
}
