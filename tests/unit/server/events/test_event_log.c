/* Tests of server/events/event_log.c: numbering, reading on, torn lines, failures of the disk,
 * wakes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/events/event_log.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* In the place of the system's: these count, fail for folders, and return once so many syncs are on
 * their way at once. */
static atomic_int syncs_begun, folder_syncs, syncs_at_once = 1;
static atomic_bool folders_fail;

static void sync_begin(void) {
  atomic_fetch_add(&syncs_begun, 1);
  wait_until(atomic_load(&syncs_begun) >= atomic_load(&syncs_at_once));
}

static size_t bytes_written;
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  bytes_written += count;
  return syscall(SYS_pwrite64, file, bytes, count, offset);
}

int fdatasync(int fd) {
  sync_begin();
  return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd) {
  sync_begin();
  atomic_fetch_add(&folder_syncs, 1);
  if (!atomic_load(&folders_fail)) return (int)syscall(SYS_fsync, fd);
  errno = EIO;
  return -1;
}

static ep_event epoch_event(int64_t epoch) {
  return (ep_event){.job = "job_01kaaaaaaaaaaaaaaaaaaaaaaa",
                    .type = EP_EVENT_EPOCH,
                    .time_us = 1763650000000000,
                    .epochs = 1000000,
                    .progress = {.epoch = epoch, .loss = 0.5 / (double)epoch, .lr = 0.1},
                    .eta_seconds = 1};
}

static ep_event_log *log_open(void) {
  ep_event_log *log = NULL;
  assert_ok(ep_event_log_open(scratch_path("events.ndjson"), &log, error));
  return log;
}

static void epochs_append(ep_event_log *log, int64_t first, int64_t last) {
  ep_event events[100];
  while (first <= last) {
    int count = 0;
    for (; count < 100 && first <= last; count++, first++) events[count] = epoch_event(first);
    assert_ok(ep_event_log_append(log, events, count, error));
  }
}

static void type_append(ep_event_log *log, ep_event_type type) {
  ep_event event = epoch_event(1);
  event.type = type;
  event.state = EP_STATE_CANCELLED;
  event.message = "why";
  event.device = event.executor = "cpu";
  assert_ok(ep_event_log_append(log, &event, 1, error));
}

/* The seq of each line from `offset` on, checked to be first, first + 1, …; returns the lines. */
static int64_t lines_check(ep_event_log *log, int64_t offset, int64_t first, size_t capacity) {
  char *buffer = malloc(capacity);
  int64_t lines = 0;
  for (;;) {
    size_t bytes = 0;
    bool ended = false;
    assert_ok(ep_event_log_read(log, offset, buffer, capacity, &bytes, &ended, error));
    if (bytes == 0) break;
    for (char *line = buffer; line < buffer + bytes; lines++) {
      char *end = memchr(line, '\n', (size_t)(buffer + bytes - line));
      ck_assert_ptr_nonnull(end);
      ep_event event = {0};
      assert_ok(ep_event_parse(line, (size_t)(end - line), &event, error));
      ck_assert_int_eq(event.seq, first + lines);
      line = end + 1;
    }
    offset += (int64_t)bytes;
  }
  free(buffer);
  return lines;
}

START_TEST(numbers_and_reads_on) {
  ep_event_log *log = log_open();
  epochs_append(log, 1, 1000);
  for (int64_t after = 0; after <= 1001; after += after < 130 ? 1 : 67) {
    int64_t offset = ep_event_log_offset_after(log, after);
    int64_t expected = after >= 1000 ? 0 : 1000 - after;
    ck_assert_int_eq(lines_check(log, offset, after + 1, 4096), expected);
  }
  ck_assert_int_eq(ep_event_log_offset_after(log, -5), 0);
  ep_event_log_close(log);
}
END_TEST

/* What a training repeats after a start is known by the last report of each kind. */
START_TEST(remembers_reports_within_epochs) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail, again;
  ep_progress_record layer = {
      .kind = EP_PROGRESS_LAYER, .epoch = 2, .layer = {.count = 1, .units = 1, .name = "0"}};
  ep_event events[] = {
      {.job = "j", .type = EP_EVENT_BATCH, .progress = {.epoch = 1, .batch = 9, .batches = 10}},
      {.job = "j", .type = EP_EVENT_EPOCH, .progress = {.epoch = 1}},
      {.job = "j", .type = EP_EVENT_BATCH, .progress = {.epoch = 2, .batch = 3, .batches = 10}},
      {.job = "j", .type = EP_EVENT_LAYERS, .progress = {.epoch = 2}, .layers = &layer}};
  ck_assert_int_eq(ep_event_log_append(log, events, 4, NULL), EP_OK);
  ep_event_log_get_tail(log, &tail);
  ck_assert(tail.reports.epoch == 1 && tail.reports.layers_epoch == 2);
  ck_assert(tail.reports.batch_epoch == 2 && tail.reports.batch == 3);
  ep_event_log_close(log);
  log = log_open();
  ep_event_log_get_tail(log, &again);
  ck_assert_mem_eq(&again.reports, &tail.reports, sizeof tail.reports);
  ep_event_log_close(log);
}
END_TEST

START_TEST(remembers_when_opened_again) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail, again;
  type_append(log, EP_EVENT_QUEUED);
  ep_event_log_get_tail(log, &tail);
  ck_assert(!tail.started && tail.reports.epoch == 0);
  type_append(log, EP_EVENT_STARTED);
  epochs_append(log, 1, 321);
  type_append(log, EP_EVENT_WARNING);
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.last_seq, 324);
  ck_assert_int_eq(tail.reports.epoch, 321);
  ck_assert(tail.started && !tail.ended);
  ep_event_log_close(log);
  log = log_open();
  ep_event_log_get_tail(log, &again);
  ck_assert_int_eq(again.last_seq, tail.last_seq);
  ck_assert_int_eq(again.reports.epoch, tail.reports.epoch);
  ck_assert_int_eq(again.bytes, tail.bytes);
  ck_assert(again.started && !again.ended);
  epochs_append(log, 322, 400);
  ck_assert_int_eq(lines_check(log, ep_event_log_offset_after(log, 300), 301, 8192), 403 - 300);
  ep_event_log_close(log);
}
END_TEST

START_TEST(takes_nothing_after_the_end) {
  ep_event_log *log = log_open();
  char buffer[4096];
  size_t bytes;
  bool ended;
  epochs_append(log, 1, 2);
  assert_ok(ep_event_log_read(log, 0, buffer, sizeof buffer, &bytes, &ended, error));
  ck_assert(!ended && bytes > 0);
  type_append(log, EP_EVENT_END);
  ep_event event = epoch_event(3);
  ck_assert_int_eq(ep_event_log_append(log, &event, 1, NULL), EP_CONFLICT);
  assert_ok(ep_event_log_read(log, 0, buffer, sizeof buffer, &bytes, &ended, error));
  ck_assert(ended);
  ep_event_log_close(log);
  log = log_open();
  ck_assert_int_eq(ep_event_log_append(log, &event, 1, NULL), EP_CONFLICT);
  ck_assert_int_eq(lines_check(log, 0, 1, 4096), 3);
  ep_event_log_close(log);
}
END_TEST

/* Cuts the file at every byte of its last line: what was whole stays, and it can be appended to. */
START_TEST(cuts_a_torn_line) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail;
  epochs_append(log, 1, 3);
  ep_event_log_get_tail(log, &tail);
  int64_t last = ep_event_log_offset_after(log, 2);
  ep_event_log_close(log);
  for (int64_t cut = tail.bytes - 1; cut > last; cut--) {
    ck_assert_int_eq(truncate(scratch_path("events.ndjson"), cut), 0);
    log = log_open();
    ep_event_log_get_tail(log, &tail);
    ck_assert_int_eq(tail.last_seq, 2);
    ck_assert_int_eq(tail.reports.epoch, 2);
    epochs_append(log, 3, 3);
    ck_assert_int_eq(lines_check(log, 0, 1, 4096), 3);
    ep_event_log_close(log);
  }
}
END_TEST

/* The disk is "full" at a size limit: the append fails, readers see what was there, and when there
 * is room again the same events go in, once. */
START_TEST(survives_a_full_disk) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail;
  ep_error error = {0};
  struct rlimit before, limit;
  epochs_append(log, 1, 50);
  ep_event_log_get_tail(log, &tail);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before;
  limit.rlim_cur = (rlim_t)tail.bytes + 100;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ep_event events[2] = {epoch_event(51), epoch_event(52)};
  ck_assert_int_eq(ep_event_log_append(log, events, 2, &error), EP_IO);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 50);
  struct stat state;
  ck_assert_int_eq(stat(scratch_path("events.ndjson"), &state), 0);
  ck_assert_int_eq(state.st_size, tail.bytes);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  epochs_append(log, 51, 52);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 52);
  ep_event_log_close(log);
}
END_TEST

/* The first lines wait for their log's name and for its folder's, all at once; lines that are held
 * wait for nothing. Where a name does not come to the disk, nobody sees them. */
START_TEST(names_come_to_the_disk_with_the_first_lines) {
  ep_event_log *log = log_open();
  ep_event event = epoch_event(1);
  assert_ok(ep_event_log_hold(log, &event, 1, error));
  ck_assert_int_eq(syncs_begun, 0);
  atomic_store(&folders_fail, true);
  atomic_store(&syncs_at_once, 3);
  ck_assert_int_eq(ep_event_log_flush(log, NULL), EP_IO);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 0);
  atomic_store(&folders_fail, false);
  atomic_store(&syncs_begun, 0);
  assert_ok(ep_event_log_flush(log, error));
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 1);
  ck_assert_int_eq(folder_syncs, 4);
  atomic_store(&syncs_at_once, 1);
  epochs_append(log, 2, 3);
  ck_assert_int_eq(folder_syncs, 4);
  ep_event_log_close(log);
}
END_TEST

/* A line of a row needs no sync, but those before it do: of a daemon that was killed they may be in
 * the memory of the machine alone. They are written again as well. */
START_TEST(a_copy_follows_lines_that_are_on_disk) {
  ep_event_log *log = log_open();
  ep_event end = epoch_event(4);
  epochs_append(log, 1, 2);
  ep_event_log_close(log);
  log = log_open();
  size_t before = bytes_written;
  atomic_store(&folders_fail, true);
  ck_assert_int_eq(ep_event_log_append_copy(log, &end, NULL), EP_IO);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 2);
  ck_assert_uint_gt(bytes_written - before, (size_t)ep_event_log_offset_after(log, 2));
  atomic_store(&folders_fail, false);
  assert_ok(ep_event_log_append_copy(log, &end, error));
  int syncs = atomic_load(&syncs_begun);
  assert_ok(ep_event_log_append_copy(log, &end, error));
  ck_assert_int_eq(atomic_load(&syncs_begun), syncs);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 4);
  ep_event_log_close(log);
}
END_TEST

static void count_wakes(void *context) {
  ++*(int *)context;
}

/* Lines that are held are numbered and seen by nobody; they come with what is appended next, in one
 * piece. While the disk is full they are held still. */
START_TEST(holds_lines_until_they_are_flushed) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail;
  struct rlimit before, full;
  int wakes = 0;
  ep_event_log_subscribe(log, count_wakes, &wakes);
  assert_ok(ep_event_log_flush(log, error)); /* of nothing */
  ck_assert_int_eq(wakes, 0);
  ep_event events[2] = {epoch_event(1), epoch_event(2)};
  assert_ok(ep_event_log_hold(log, events, 2, error));
  ck_assert_int_eq(events[1].seq, 2);
  ep_event_log_get_tail(log, &tail);
  ck_assert(tail.last_seq == 2 && tail.reports.epoch == 2);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 0);
  ck_assert_int_eq(ep_event_log_offset_after(log, 1), 0);
  epochs_append(log, 3, 3);
  ck_assert_int_eq(wakes, 1);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 3);

  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  full = before;
  full.rlim_cur = (rlim_t)ep_event_log_offset_after(log, 3);
  events[0] = epoch_event(4);
  assert_ok(ep_event_log_hold(log, events, 1, error));
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
  ck_assert_int_eq(ep_event_log_flush(log, NULL), EP_IO);
  events[1] = epoch_event(5);
  ck_assert_int_eq(ep_event_log_append(log, &events[1], 1, NULL), EP_IO);
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.last_seq, 4); /* the fifth is not there, the fourth is held */
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_ok(ep_event_log_flush(log, error));
  ck_assert_int_eq(wakes, 2);
  epochs_append(log, 5, 200);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 200);
  ck_assert_int_eq(lines_check(log, ep_event_log_offset_after(log, 150), 151, 8192), 50);
  ep_event_log_close(log);
  log = log_open();
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 200);
  ep_event_log_close(log);
}
END_TEST

typedef struct {
  ep_event_log *log;
  ep_status status;
} flush;

static void *flush_run(void *context) {
  flush *one = context;
  one->status = ep_event_log_flush(one->log, NULL);
  return NULL;
}

/* Flushes in another thread, holds line `epoch` while that waits for the disk, and returns how the
 * flush ended. */
static ep_status flush_and_hold(ep_event_log *log, int64_t epoch) {
  flush one = {.log = log};
  pthread_t thread;
  ep_event event = epoch_event(epoch);
  atomic_store(&syncs_begun, 0);
  atomic_store(&syncs_at_once, 10); /* more than there are: it waits */
  ck_assert_int_eq(pthread_create(&thread, NULL, flush_run, &one), 0);
  wait_until(atomic_load(&syncs_begun) > 0);
  assert_ok(ep_event_log_hold(log, &event, 1, error));
  ck_assert_int_eq(event.seq, epoch);
  atomic_store(&syncs_at_once, 1);
  pthread_join(thread, NULL);
  return one.status;
}

/* Who holds lines does not wait for a flush, whether it succeeds or fails; the lines come in their
 * order, each once. */
START_TEST(holds_lines_beside_a_flush) {
  ep_event_log *log = log_open();
  ep_event_log_tail tail;
  ep_event event = epoch_event(1);
  assert_ok(ep_event_log_hold(log, &event, 1, error));
  atomic_store(&folders_fail, true);
  ck_assert_int_eq(flush_and_hold(log, 2), EP_IO);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 0);
  event = epoch_event(3);
  ck_assert_int_eq(ep_event_log_append(log, &event, 1, NULL), EP_IO);
  atomic_store(&folders_fail, false);
  ck_assert_int_eq(flush_and_hold(log, 3), EP_OK);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 2);
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.last_seq, 3);
  epochs_append(log, 4, 200);
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 200);
  ck_assert_int_eq(lines_check(log, ep_event_log_offset_after(log, 64), 65, 8192), 136);
  ep_event_log_close(log);
  log = log_open();
  ck_assert_int_eq(lines_check(log, 0, 1, 8192), 200);
  ep_event_log_close(log);
}
END_TEST

START_TEST(opens_a_long_log) {
  ep_event_log *log = log_open();
  ep_event *events = calloc(10000, sizeof *events);
  for (int64_t batch = 0; batch < 20; batch++) {
    for (int i = 0; i < 10000; i++) events[i] = epoch_event(batch * 10000 + i + 1);
    assert_ok(ep_event_log_append(log, events, 10000, error));
  }
  free(events);
  ep_event_log_close(log);
  log = log_open();
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.reports.epoch, 200000);
  ck_assert_int_eq(lines_check(log, ep_event_log_offset_after(log, 199000), 199001, 65536), 1000);
  ep_event_log_close(log);
}
END_TEST

static void wake_count(void *context) {
  atomic_fetch_add((atomic_int *)context, 1);
}

START_TEST(wakes_subscribers) {
  ep_event_log *log = log_open();
  atomic_int one = 0, two = 0;
  uint64_t first = ep_event_log_subscribe(log, wake_count, &one);
  uint64_t second = ep_event_log_subscribe(log, wake_count, &two);
  epochs_append(log, 1, 1);
  ep_event_log_unsubscribe(log, first);
  ep_event_log_unsubscribe(log, first); /* a token that is gone does nothing */
  uint64_t third = ep_event_log_subscribe(log, wake_count, &one);
  ep_event_log_unsubscribe(log, first); /* not even when its place was given away */
  epochs_append(log, 2, 2);
  ck_assert_int_eq(one, 2);
  ck_assert_int_eq(two, 2);
  ep_event_log_unsubscribe(log, second);
  ep_event_log_unsubscribe(log, third);
  epochs_append(log, 3, 3);
  ck_assert_int_eq(one + two, 4);
  ep_event_log_close(log);
}
END_TEST

typedef struct {
  ep_event_log *log;
  uint64_t token;
  int calls;
} self_remover;

static void remove_itself(void *context) {
  self_remover *self = context;
  self->calls++;
  ep_event_log_unsubscribe(self->log, self->token);
}

START_TEST(a_wake_may_unsubscribe_itself) {
  self_remover self = {.log = log_open()};
  self.token = ep_event_log_subscribe(self.log, remove_itself, &self);
  epochs_append(self.log, 1, 1);
  epochs_append(self.log, 2, 2);
  ck_assert_int_eq(self.calls, 1);
  ep_event_log_close(self.log);
}
END_TEST

/* Readers follow while another thread appends: every line once, in order. */
typedef struct {
  ep_event_log *log;
  int64_t lines;
} follower;

static void *follow(void *context) {
  follower *f = context;
  char *buffer = malloc(70000);
  int64_t offset = 0;
  bool ended = false;
  while (!ended) {
    size_t bytes = 0;
    if (ep_event_log_read(f->log, offset, buffer, 70000, &bytes, &ended, NULL) != EP_OK) break;
    for (size_t i = 0; i < bytes; i++) f->lines += buffer[i] == '\n';
    offset += (int64_t)bytes;
  }
  free(buffer);
  return NULL;
}

START_TEST(readers_follow) {
  follower followers[3];
  pthread_t threads[3];
  ep_event_log *log = log_open();
  for (int i = 0; i < 3; i++) {
    followers[i] = (follower){log, 0};
    pthread_create(&threads[i], NULL, follow, &followers[i]);
  }
  epochs_append(log, 1, 5000);
  type_append(log, EP_EVENT_END);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(followers[i].lines, 5001);
  ep_event_log_close(log);
}
END_TEST

EP_SUITE("event_log") {
  TCase *tests = ep_suite_case(suite, "event_log");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, numbers_and_reads_on);
  tcase_add_test(tests, remembers_when_opened_again);
  tcase_add_test(tests, remembers_reports_within_epochs);
  tcase_add_test(tests, takes_nothing_after_the_end);
  tcase_add_test(tests, cuts_a_torn_line);
  tcase_add_test(tests, survives_a_full_disk);
  tcase_add_test(tests, holds_lines_until_they_are_flushed);
  tcase_add_test(tests, holds_lines_beside_a_flush);
  tcase_add_test(tests, names_come_to_the_disk_with_the_first_lines);
  tcase_add_test(tests, a_copy_follows_lines_that_are_on_disk);
  tcase_add_test(tests, opens_a_long_log);
  tcase_add_test(tests, wakes_subscribers);
  tcase_add_test(tests, a_wake_may_unsubscribe_itself);
  tcase_add_test(tests, readers_follow);
}
