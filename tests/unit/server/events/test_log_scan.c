/* Tests of server/events/log_scan.c, and of what event_log.c does with a damaged log. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/wire/event_seal.h"
#include "server/events/event_log.h"
#include "server/events/log_scan.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static ep_event_log *sample_open(void) {
  ep_event_log *log = NULL;
  assert_ok(ep_event_log_open(scratch_path("events.ndjson"), &log, error));
  return log;
}

static void line_append(ep_event_log *log, ep_event_type type, int64_t epoch) {
  ep_event event = {.job = "job_01kaaaaaaaaaaaaaaaaaaaaaaa",
                    .type = type,
                    .time_us = 1763650000000000,
                    .epochs = 1000000,
                    .progress = {.epoch = epoch, .loss = 0.5 / (double)epoch, .lr = 0.1},
                    .eta_seconds = 1,
                    .state = EP_STATE_CANCELLED,
                    .device = "cpu",
                    .executor = "cpu"};
  if (type == EP_EVENT_WARNING) event.message = "why";
  assert_ok(ep_event_log_append(log, &event, 1, error));
}

/* A log as it was written, and its lines. */
enum { SAMPLE_LINES = 8, SAMPLE_BYTES = 8192 };
static char sample[SAMPLE_BYTES];
static size_t sample_bytes, sample_lines[SAMPLE_LINES + 1]; /* where each begins, and the end */

static void sample_make(void) {
  ep_event_log *log = sample_open();
  line_append(log, EP_EVENT_QUEUED, 1);
  line_append(log, EP_EVENT_STARTED, 1);
  for (int64_t epoch = 1; epoch <= SAMPLE_LINES - 3; epoch++)
    line_append(log, EP_EVENT_EPOCH, epoch);
  line_append(log, EP_EVENT_END, 1);
  for (int i = 0; i <= SAMPLE_LINES; i++)
    sample_lines[i] = (size_t)ep_event_log_offset_after(log, i);
  ep_event_log_close(log);
  FILE *file = fopen(scratch_path("events.ndjson"), "r");
  sample_bytes = fread(sample, 1, sizeof sample, file);
  fclose(file);
  ck_assert_uint_eq(sample_bytes, sample_lines[SAMPLE_LINES]);
}

/* Opens a log of these bytes; it must have `lines` lines, the first of the sample. */
static void damaged_open(const char *bytes, size_t count, int64_t lines, bool damaged) {
  char left[SAMPLE_BYTES];
  assert_ok(ep_data_dir_write_file(scratch_path("events.ndjson"), bytes, count, error));
  ep_event_log *log = sample_open();
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.last_seq, lines);
  ck_assert_int_eq(tail.damaged, damaged);
  ck_assert_int_eq(tail.ended, lines == SAMPLE_LINES);
  ck_assert_int_eq(tail.started, lines >= 2);
  FILE *file = fopen(scratch_path("events.ndjson"), "r");
  size_t got = fread(left, 1, sizeof left, file);
  fclose(file);
  ck_assert_uint_eq(got, sample_lines[lines]);
  ck_assert_int_eq(memcmp(left, bytes, got), 0);
  ep_event_log_close(log);
}

/* Each bit of a log is flipped: the log ends before that line. */
START_TEST(notices_each_flipped_bit) {
  char bytes[SAMPLE_BYTES];
  sample_make();
  ck_assert_uint_gt(sample_bytes, 1000);
  int file = open(scratch_path("events.ndjson"), O_RDWR);
  for (size_t at = 0; at < sample_bytes; at++) {
    int line = 0;
    while (sample_lines[line + 1] <= at) line++;
    memcpy(bytes, sample, sample_bytes);
    bytes[at] ^= (char)(1 << _i);
    bool torn = line == SAMPLE_LINES - 1 && at == sample_bytes - 1;
    ep_log_scan scan;
    ck_assert_int_eq(pwrite(file, bytes, sample_bytes, 0), sample_bytes);
    assert_ok(ep_log_scan_file(file, NULL, NULL, &scan, error));
    ck_assert_int_eq(scan.lines, line);
    ck_assert_uint_eq((size_t)scan.bytes, sample_lines[line]);
    ck_assert_int_eq(scan.damaged, !torn);
  }
  close(file);
}
END_TEST

START_TEST(notices_lines_in_another_order) {
  char bytes[SAMPLE_BYTES];
  sample_make();
  for (int i = 0; i + 1 < SAMPLE_LINES; i++) {
    size_t first = sample_lines[i + 1] - sample_lines[i];
    size_t second = sample_lines[i + 2] - sample_lines[i + 1];
    memcpy(bytes, sample, sample_bytes);
    memcpy(bytes + sample_lines[i], sample + sample_lines[i + 1], second);
    memcpy(bytes + sample_lines[i] + second, sample + sample_lines[i], first);
    damaged_open(bytes, sample_bytes, i, true);
  }
}
END_TEST

/* A block in the middle is lost: all zeros (0), gone (1), or of another job's log (2). */
START_TEST(notices_a_lost_page) {
  char bytes[SAMPLE_BYTES];
  sample_make();
  for (int i = 1; i + 1 < SAMPLE_LINES; i++) {
    size_t from = sample_lines[i], to = sample_lines[i + 1], count = sample_bytes;
    memcpy(bytes, sample, sample_bytes);
    if (_i == 0) memset(bytes + from + 5, 0, to - from);
    if (_i == 1) {
      memmove(bytes + from, bytes + to, sample_bytes - to);
      count -= to - from;
    }
    if (_i == 2) {
      ep_event other = {.seq = i + 1, .job = "job_2", .type = EP_EVENT_QUEUED};
      size_t length = ep_event_format(&other, bytes + from, sizeof bytes - from);
      memcpy(bytes + from + length, sample + to, sample_bytes - to);
      count = from + length + sample_bytes - to;
    }
    damaged_open(bytes, count, i, true);
  }
}
END_TEST

/* Any blocks of a log are zeros, garbage, another block's bytes or gone, as after a power failure:
 * what is read is its first lines as they were. The faults are the same in every run. */
START_TEST(reads_the_first_lines_of_any_damage) {
  enum { BLOCK = 64, ROUNDS = 20000 };
  char bytes[SAMPLE_BYTES];
  uint64_t random = 1;
  int cut = 0;
  sample_make();
  int file = open(scratch_path("events.ndjson"), O_RDWR);
  for (int round = 0; round < ROUNDS; round++) {
    size_t count = sample_bytes;
    memcpy(bytes, sample, sample_bytes);
    for (int faults = 1 + round % 3; faults > 0; faults--) {
      random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      size_t at = (random >> 33) % (sample_bytes / BLOCK) * BLOCK;
      size_t from = (random >> 13) % (sample_bytes / BLOCK) * BLOCK;
      switch ((random >> 60) & 3) {
      case 0: memset(bytes + at, 0, BLOCK); break;
      case 1: memcpy(bytes + at, sample + from, BLOCK); break;
      case 2: bytes[at + (random >> 50) % BLOCK] ^= (char)(1 << (random >> 40) % 8); break;
      default: count = at < count ? at + 1 : count;
      }
    }
    ep_log_scan scan;
    ck_assert_int_eq(ftruncate(file, (off_t)count), 0);
    ck_assert_int_eq(pwrite(file, bytes, count, 0), count);
    assert_ok(ep_log_scan_file(file, NULL, NULL, &scan, error));
    ck_assert_uint_eq((size_t)scan.bytes, sample_lines[scan.lines]);
    ck_assert_int_eq(memcmp(bytes, sample, (size_t)scan.bytes), 0);
    cut += scan.lines < SAMPLE_LINES;
  }
  ck_assert_int_gt(cut, ROUNDS / 2);
  close(file);
}
END_TEST

/* What is cut of a damaged log is put aside, and the log goes on. */
START_TEST(puts_aside_what_it_cuts) {
  char bytes[SAMPLE_BYTES], aside[SAMPLE_BYTES];
  ep_event_log_tail tail;
  sample_make();
  memcpy(bytes, sample, sample_bytes);
  bytes[sample_lines[3] + 9] ^= 1;
  damaged_open(bytes, sample_bytes, 3, true);
  FILE *file = fopen(scratch_path("events.damaged"), "r");
  ck_assert_ptr_nonnull(file);
  size_t got = fread(aside, 1, sizeof aside, file);
  fclose(file);
  ck_assert_uint_eq(got, sample_bytes - sample_lines[3]);
  ck_assert_int_eq(memcmp(aside, bytes + sample_lines[3], got), 0);
  ep_event_log *log = sample_open();
  line_append(log, EP_EVENT_WARNING, 1); /* it goes on */
  ep_event_log_get_tail(log, &tail);
  ck_assert_int_eq(tail.last_seq, 4);
  ep_event_log_close(log);
}
END_TEST

/* Writes the first `count` lines of the sample without their seals; returns the bytes. */
static size_t seals_remove(char *out, int count) {
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    size_t length = sample_lines[i + 1] - sample_lines[i] - EP_EVENT_SEAL_BYTES - 2;
    memcpy(out + used, sample + sample_lines[i], length);
    memcpy(out + used + length, "}\n", 2);
    used += length + 2;
  }
  return used;
}

/* An older epochd wrote lines without seals; later lines of the same log have them. */
START_TEST(opens_an_older_log) {
  char bytes[SAMPLE_BYTES];
  ep_event_log_tail tail;
  sample_make();
  for (int lines = 1; lines <= SAMPLE_LINES; lines++) {
    size_t count = seals_remove(bytes, lines);
    memcpy(bytes + count, sample + sample_lines[lines], sample_bytes - sample_lines[lines]);
    count += sample_bytes - sample_lines[lines];
    assert_ok(ep_data_dir_write_file(scratch_path("events.ndjson"), bytes, count, error));
    ep_event_log *log = sample_open();
    ep_event_log_get_tail(log, &tail);
    ck_assert(tail.last_seq == SAMPLE_LINES && tail.ended && !tail.damaged);
    ck_assert_int_eq(tail.reports.epoch, SAMPLE_LINES - 3);
    ep_event_log_close(log);
  }
  memcpy(bytes, sample, sample_bytes); /* and none after one that has it */
  size_t length = seals_remove(bytes + sample_lines[1], SAMPLE_LINES);
  ck_assert_uint_lt(sample_lines[1] + length, sizeof bytes);
  damaged_open(bytes, sample_lines[1] + length, 1, true);
}
END_TEST

EP_SUITE("log_scan") {
  TCase *tests = ep_suite_case(suite, "log_scan");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, notices_each_flipped_bit, 0, 8);
  tcase_add_test(tests, notices_lines_in_another_order);
  tcase_add_loop_test(tests, notices_a_lost_page, 0, 3);
  tcase_add_test(tests, reads_the_first_lines_of_any_damage);
  tcase_add_test(tests, puts_aside_what_it_cuts);
  tcase_add_test(tests, opens_an_older_log);
}
