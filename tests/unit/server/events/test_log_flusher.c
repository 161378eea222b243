/* Tests of server/events/log_flusher.c: lines that come while a log is being flushed. */
#include "server/events/log_flusher.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/suite.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

#define JOB "job_01kaaaaaaaaaaaaaaaaaaaaaaa"

/* In the place of the system's: a sync waits until the disk is free, and fails if it is to. */
static atomic_int syncs_begun;
static atomic_bool disk_busy, disk_fails;

int fdatasync(int fd) {
  atomic_fetch_add(&syncs_begun, 1);
  wait_until(!atomic_load(&disk_busy));
  if (!atomic_load(&disk_fails)) return (int)syscall(SYS_fdatasync, fd);
  errno = EIO;
  return -1;
}

static ep_open_logs logs;
static ep_log_flusher flusher;
static ep_event_log *log_held;

static void setup(void) {
  atomic_store(&syncs_begun, 0);
  atomic_store(&disk_fails, false);
  scratch_open();
  ck_assert_int_eq(mkdir(scratch_path("jobs"), 0700), 0);
  ck_assert_int_eq(mkdir(scratch_path("jobs/" JOB), 0700), 0);
  ep_open_logs_init(&logs, scratch_dir);
  assert_ok(ep_log_flusher_start(&flusher, &logs, error));
  assert_ok(ep_open_logs_retain(&logs, JOB, &log_held, error));
}

static void teardown(void) {
  ep_open_logs_release(&logs, log_held);
  ep_open_logs_deinit(&logs);
  scratch_close();
}

static void epoch_hold(int64_t epoch) {
  ep_event event = {.job = JOB,
                    .type = EP_EVENT_EPOCH,
                    .time_us = 1763650000000000,
                    .epochs = 10,
                    .progress = {.epoch = epoch, .loss = 0.5, .lr = 0.1},
                    .eta_seconds = 1};
  assert_ok(ep_event_log_hold(log_held, &event, 1, error));
  assert_ok(ep_log_flusher_add(&flusher, JOB, error));
}

static int64_t bytes_written(void) {
  struct stat found;
  return stat(scratch_path("jobs/" JOB "/events.ndjson"), &found) == 0 ? found.st_size : 0;
}

static void *stop_run(void *context) {
  (void)context;
  ep_log_flusher_stop(&flusher);
  return NULL;
}

static bool is_stopping(void) {
  pthread_mutex_lock(&flusher.mutex);
  const bool stopping = flusher.stopping;
  pthread_mutex_unlock(&flusher.mutex);
  return stopping;
}

/* A line that is held while an earlier one is on its way to the disk, and the flusher is to stop
 * before that one is there. */
static void stop_meanwhile(void) {
  pthread_t thread;
  atomic_store(&disk_busy, true);
  epoch_hold(1);
  wait_until(atomic_load(&syncs_begun) > 0);
  epoch_hold(2);
  ck_assert_int_eq(pthread_create(&thread, NULL, stop_run, NULL), 0);
  wait_until(is_stopping());
  atomic_store(&disk_busy, false);
  pthread_join(thread, NULL);
}

START_TEST(a_line_that_came_during_the_last_flush_is_flushed) {
  ep_event_log_tail tail;
  stop_meanwhile();
  ep_event_log_get_tail(log_held, &tail);
  ck_assert_int_eq(tail.last_seq, 2);
  ck_assert_int_eq(bytes_written(), tail.bytes);
}
END_TEST

/* With a disk that fails the flusher ends all the same. */
START_TEST(a_disk_that_fails_does_not_hold_up_the_end) {
  atomic_store(&disk_fails, true);
  stop_meanwhile();
  ck_assert_int_eq(bytes_written(), 0);
}
END_TEST

EP_SUITE("log_flusher") {
  TCase *tests = ep_suite_case(suite, "stop");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_line_that_came_during_the_last_flush_is_flushed);
  tcase_add_test(tests, a_disk_that_fails_does_not_hold_up_the_end);
}
