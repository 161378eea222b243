/* Places of workers on other machines, over a control socket whose other end is this test: who gets
 * which place, what a worker that comes back is told, and what the gateway is told to have. */
#include "server/workers/remote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/workers/worker.h"
#include "tests/suite.h"

static ep_supervisor supervisor;
static int gateway;           /* the test's end */
static int waiting;           /* jobs */
static ep_slurm_request need; /* of them */
static char died[EP_ID_BYTES];

static int jobs_queued(void *context, const char *device, ep_slurm_request *needed) {
  (void)context, (void)device;
  *needed = need;
  return waiting;
}

static void job_died(void *context, const char *job, int attempt, bool begun, const char *cause) {
  (void)context, (void)attempt, (void)begun, (void)cause;
  snprintf(died, sizeof died, "%s", job);
}

static void setup(void) {
  int pair[2];
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  gateway = pair[1];
  waiting = 0;
  died[0] = 0;
  need = (ep_slurm_request){.partition = "gpu", .memory_bytes = INT64_C(1) << 30};
  supervisor = (ep_supervisor){.wake = -1, .devices_count = 1, .shown = {.count = 1}};
  supervisor.events = (ep_supervisor_events){.queued = jobs_queued, .died = job_died};
  supervisor.remote = (ep_remote){.control = pair[0], .workers_most = 3, .reconnect_us = 1000000};
  snprintf(supervisor.device[0].info.id, sizeof supervisor.device[0].info.id, "slurm:gpu");
  supervisor.device[0].state = EP_DEVICE_ABSENT;
  pthread_mutex_init(&supervisor.mutex, NULL);
}

static void teardown(void) {
  for (int i = 0; i < supervisor.workers_count; i++)
    ep_worker_link_close(&supervisor.worker[i].link);
  close(supervisor.remote.control);
  close(gateway);
  pthread_mutex_destroy(&supervisor.mutex);
}

static ep_control control_of(ep_control_kind kind, const char *worker) {
  ep_control control = {.kind = kind, .first = 1};
  snprintf(control.worker, sizeof control.worker, "%s", worker);
  snprintf(control.device, sizeof control.device, "slurm:gpu");
  return control;
}

static void tell(const ep_control *control) {
  int pair[2] = {-1, -1};
  if (control->kind == EP_CONTROL_ATTACH)
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  ck_assert_int_eq(ep_control_send(gateway, control, pair[1], NULL), EP_OK);
  if (pair[1] >= 0) close(pair[1]);
  ep_remote_receive(&supervisor);
  if (pair[0] >= 0) close(pair[0]);
}

static ep_control told(void) {
  ep_control control;
  int file;
  bool got;
  ck_assert_int_eq(ep_control_receive(gateway, &control, &file, &got, NULL), EP_OK);
  ck_assert(got);
  return control;
}

/* A worker with job_a, attempt 1. */
static ep_control with_job(const char *worker) {
  ep_control control = control_of(EP_CONTROL_ATTACH, worker);
  snprintf(control.job, sizeof control.job, "job_a");
  control.attempt = 1;
  control.has_all = true;
  control.last = 7;
  return control;
}

START_TEST(a_worker_gets_a_place_and_again_the_same) {
  ep_control control = control_of(EP_CONTROL_ATTACH, "wrk_a");
  tell(&control);
  ck_assert_int_eq(told().kind, EP_CONTROL_ADMIT);
  ck_assert_int_eq(supervisor.workers_count, 1);
  ck_assert_int_eq(supervisor.worker[0].status.state, EP_DEVICE_STARTING);
  supervisor.worker[0].frames_taken = 5;
  control.last = 6;
  tell(&control);
  const ep_control admitted = told();
  ck_assert_uint_eq(admitted.taken, 5);
  ck_assert(admitted.keep);
  ck_assert_int_eq(supervisor.workers_count, 1);
}
END_TEST

START_TEST(the_job_of_an_epochd_before_is_gone_on_with) {
  ck_assert(ep_remote_expect(&supervisor, "slurm:gpu", "job_a", 1));
  ck_assert_int_eq(supervisor.worker[0].status.state, EP_DEVICE_RESTARTING);
  ep_control control = with_job("wrk_a");
  control.ended = true; /* a gateway took its end, and this epochd did not get it */
  tell(&control);
  const ep_control admitted = told();
  ck_assert_int_eq(admitted.kind, EP_CONTROL_ADMIT);
  ck_assert_uint_eq(admitted.taken, 0); /* all frames are sent again */
  ck_assert(admitted.keep);
  ck_assert_int_eq(supervisor.worker[0].status.state, EP_DEVICE_BUSY);
  ck_assert_str_eq(supervisor.worker[0].worker, "wrk_a");
}
END_TEST

START_TEST(a_job_that_nobody_expects_is_refused_unless_it_has_ended) {
  ep_control control = with_job("wrk_a");
  tell(&control);
  ck_assert_int_eq(told().kind, EP_CONTROL_END);
  ck_assert_int_eq(supervisor.workers_count, 0);
  control.ended = true;
  tell(&control);
  const ep_control admitted = told();
  ck_assert_int_eq(admitted.kind, EP_CONTROL_ADMIT);
  ck_assert_uint_eq(admitted.taken, 7);
  ck_assert_int_eq(supervisor.worker[0].status.state, EP_DEVICE_STARTING);
}
END_TEST

START_TEST(a_worker_that_lost_frames_has_its_job_given_up) {
  ck_assert(ep_remote_expect(&supervisor, "slurm:gpu", "job_a", 1));
  ep_control control = with_job("wrk_a");
  control.has_all = false;
  tell(&control);
  ck_assert_int_eq(told().kind, EP_CONTROL_END);
  ck_assert_str_eq(died, "job_a");
  ck_assert_int_eq(supervisor.worker[0].status.state, EP_DEVICE_ABSENT);
}
END_TEST

START_TEST(as_many_workers_are_wanted_as_jobs) {
  waiting = 9;
  ep_remote_want(&supervisor);
  ep_control wanted = told();
  ck_assert_int_eq(wanted.kind, EP_CONTROL_WANT);
  ck_assert_int_eq(wanted.count, 3); /* workers_most */
  waiting = 0;
  ep_remote_want(&supervisor);
  ck_assert_int_eq(told().count, 0);
}
END_TEST

START_TEST(only_idle_workers_that_are_too_small_make_room) {
  ep_control control = control_of(EP_CONTROL_ATTACH, "wrk_small");
  control.request = (ep_slurm_request){.partition = "gpu", .memory_bytes = INT64_C(1) << 30};
  tell(&control);
  told();
  snprintf(control.worker, sizeof control.worker, "wrk_large");
  control.request.memory_bytes = INT64_C(8) << 30;
  tell(&control);
  told();
  supervisor.worker[0].status.state = supervisor.worker[1].status.state = EP_DEVICE_IDLE;
  supervisor.worker[0].idle_us = supervisor.worker[1].idle_us = INT64_MAX;
  need.memory_bytes = INT64_C(6) << 30;
  waiting = 1;
  ep_remote_want(&supervisor);
  ck_assert_int_eq(supervisor.worker[0].idle_us, 1);
  ck_assert(supervisor.worker[1].idle_us == INT64_MAX);
}
END_TEST

START_TEST(what_slurm_shows_reaches_the_list_of_devices) {
  ep_control control = control_of(EP_CONTROL_ATTACH, "wrk_a");
  tell(&control);
  control = control_of(EP_CONTROL_PARTITION, "");
  control.partition.wait_seconds = 40;
  tell(&control);
  ck_assert(supervisor.shown.device[0].wait_seconds == 40);
  control.partition.wait_seconds = -1;
  tell(&control);
  ck_assert(isinf(supervisor.shown.device[0].wait_seconds));
  control = control_of(EP_CONTROL_REFUSED, "");
  control.count = 2;
  tell(&control);
  tell(&control);
  ck_assert_int_eq(supervisor.shown.refused, 4);
  control = control_of(EP_CONTROL_LEAVE, "wrk_a");
  tell(&control);
  ck_assert(supervisor.worker[0].leaving);
  control = control_of(EP_CONTROL_GONE, "wrk_a");
  snprintf(control.text, sizeof control.text, "it is gone");
  tell(&control);
  ck_assert(supervisor.worker[0].gone);
  ck_assert_str_eq(supervisor.worker[0].cause, "it is gone");
}
END_TEST

START_TEST(a_job_whose_files_are_on_their_way_is_not_silent) {
  ep_control control = control_of(EP_CONTROL_ATTACH, "wrk_a");
  tell(&control);
  ep_supervised *worker = &supervisor.worker[0];
  supervisor.stall_seconds = 60;
  snprintf(worker->status.job, sizeof worker->status.job, "job_a");
  control = control_of(EP_CONTROL_MOVES, "wrk_a");
  worker->deadline_us = 1;
  tell(&control);
  ck_assert_int_gt(worker->deadline_us, 1);
  ck_assert_int_eq(worker->frames, 0); /* it has reported nothing */
  worker->deadline_us = 1;
  worker->begun = true; /* from then on its reports count */
  tell(&control);
  ck_assert_int_eq(worker->deadline_us, 1);
  worker->begun = false;
  control = control_of(EP_CONTROL_MOVES, "wrk_b");
  tell(&control);
  control = control_of(EP_CONTROL_MOVES, "");
  tell(&control);
  ck_assert_int_eq(worker->deadline_us, 1);
  worker->deadline_us = 0; /* one that helps, and has nothing to do */
  control = control_of(EP_CONTROL_MOVES, "wrk_a");
  tell(&control);
  ck_assert_int_eq(worker->deadline_us, 0);
}
END_TEST

EP_SUITE("server/workers/remote") {
  TCase *tests = ep_suite_case(suite, "remote");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_worker_gets_a_place_and_again_the_same);
  tcase_add_test(tests, the_job_of_an_epochd_before_is_gone_on_with);
  tcase_add_test(tests, a_job_that_nobody_expects_is_refused_unless_it_has_ended);
  tcase_add_test(tests, a_worker_that_lost_frames_has_its_job_given_up);
  tcase_add_test(tests, as_many_workers_are_wanted_as_jobs);
  tcase_add_test(tests, only_idle_workers_that_are_too_small_make_room);
  tcase_add_test(tests, what_slurm_shows_reaches_the_list_of_devices);
  tcase_add_test(tests, a_job_whose_files_are_on_their_way_is_not_silent);
}
