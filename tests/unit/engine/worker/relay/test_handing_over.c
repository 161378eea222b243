/* What the relay of one attempt leaves, the relay of the next one holds as its own worker's. */
#include "engine/worker/relay/handing_over.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/handovers/handover.h"
#include "tests/suite.h"

#define JOB "job_00000000000000000000000001"

static ep_relay_folder folder;
static ep_held held;

static void folder_open(void) {
  ck_assert_int_eq(ep_relay_folder_open(&folder, "", NULL), EP_OK);
  memcpy(folder.shared, folder.path, sizeof folder.shared);
  ck_assert_int_eq(ep_relay_folder_begin(&folder, JOB, NULL), EP_OK);
  held = EP_HELD_NONE;
  ep_held_begin(&held);
}

static void folder_close(void) {
  ep_held_deinit(&held);
  ep_relay_folder_close(&folder);
}

/* The reports of attempt 1, in the folder of the job, as the gateway of attempt 2 sends them. */
static void reports_come(int64_t first, int64_t last) {
  char left[EP_PATH_BYTES], own[EP_PATH_BYTES];
  for (int64_t epoch = first; epoch <= last; epoch++) {
    const ep_progress_record record = {.kind = EP_PROGRESS_EPOCH, .epoch = epoch, .loss = 0.5};
    const ep_progress progress = {.job = JOB, .attempt = 1, .count = 1, .records = &record};
    ep_held_frame frame = {0};
    frame.bytes = ep_progress_encode(&progress, &frame.count);
    ck_assert_ptr_nonnull(frame.bytes);
    ck_assert_int_eq(ep_held_add(&held, &frame, NULL), EP_OK);
  }
  ck_assert_int_eq(ep_relay_hand_over(&folder, &held, 1, first - 1, NULL), EP_OK);
  ck_assert_int_eq(
      ep_path_join(left, NULL, folder.shared, "handovers", JOB "-1", EP_HANDOVER_FILE, NULL),
      EP_OK);
  ck_assert_int_eq(ep_path_join(own, NULL, folder.path, "jobs", JOB, EP_HANDOVER_FILE, NULL),
                   EP_OK);
  ck_assert_int_eq(rename(left, own), 0);
  ep_held_deinit(&held);
  ep_held_begin(&held);
}

static ep_command train(const char *executor, int64_t logged) {
  ep_command command = {
      .kind = EP_COMMAND_TRAIN, .job = JOB, .attempt = 2, .epochs_logged = logged};
  snprintf(command.executor, sizeof command.executor, "%s", executor);
  return command;
}

START_TEST(reports_are_the_next_attempts) {
  bool changed = false;
  ep_command command = train("cpu/fused", 3);
  reports_come(3, 6);
  ck_assert_int_eq(ep_relay_take_over(&folder, &held, &command, &changed, NULL), EP_OK);
  ck_assert(changed);
  ck_assert_int_eq(command.epochs_logged, 6);
  ck_assert_uint_eq(ep_held_last(&held), 4);
  for (uint64_t i = 1; i <= 4; i++) {
    const ep_held_frame *frame = ep_held_find(&held, i);
    ep_progress progress;
    ck_assert_int_eq(ep_progress_decode(frame->bytes + EP_FRAME_HEADER_BYTES,
                                        frame->count - EP_FRAME_HEADER_BYTES, &progress, NULL),
                     EP_OK);
    ck_assert_str_eq(progress.job, JOB);
    ck_assert_int_eq(progress.attempt, 2);
    ck_assert_int_eq(progress.records[0].epoch, 2 + (int64_t)i);
  }
}
END_TEST

START_TEST(what_the_log_has_is_not_said_again) {
  bool changed = true;
  ep_command command = train("cpu/fused", 6);
  reports_come(1, 6);
  ck_assert_int_eq(ep_relay_take_over(&folder, &held, &command, &changed, NULL), EP_OK);
  ck_assert(!changed);
  ck_assert_uint_eq(ep_held_last(&held), 0);
}
END_TEST

START_TEST(nothing_comes_before_a_first_start) {
  bool changed = true;
  ep_command command = train("", 0);
  reports_come(1, 6);
  ck_assert_int_eq(ep_relay_take_over(&folder, &held, &command, &changed, NULL), EP_OK);
  ck_assert(!changed);
  ck_assert_uint_eq(ep_held_last(&held), 0);
}
END_TEST

START_TEST(what_another_job_reported_is_not_said) {
  bool changed = true;
  char path[EP_PATH_BYTES];
  ep_command command = train("cpu/fused", 0);
  const ep_handover other = {.job = "job_of_another", .attempt = 1, .whole = true};
  ck_assert_int_eq(ep_path_join(path, NULL, folder.path, "jobs", JOB, EP_HANDOVER_FILE, NULL),
                   EP_OK);
  ck_assert_int_eq(ep_handover_write(path, &other, NULL), EP_OK);
  ck_assert_int_eq(ep_relay_take_over(&folder, &held, &command, &changed, NULL), EP_OK);
  ck_assert(!changed);
  ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

EP_SUITE("engine/handing_over") {
  TCase *tests = ep_suite_case(suite, "handing_over");
  tcase_add_checked_fixture(tests, folder_open, folder_close);
  tcase_add_test(tests, reports_are_the_next_attempts);
  tcase_add_test(tests, what_the_log_has_is_not_said_again);
  tcase_add_test(tests, nothing_comes_before_a_first_start);
  tcase_add_test(tests, what_another_job_reported_is_not_said);
}
