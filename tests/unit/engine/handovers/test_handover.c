/* What a relay leaves in the shared folder, and what a gateway takes up of it. */
#include "engine/handovers/handover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/wire/frame.h"
#include "engine/files/path.h"
#include "tests/suite.h"

#define JOB "job_00000000000000000000000001"
#define LEFT "handovers/" JOB "-1"

static char root[64], shared[96], jobs[96], own[160], node[96], joined[EP_PATH_BYTES];

static void folder_make(const char *path) {
  ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void scratch_make(void) {
  const char *base = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/epochd-handover.XXXXXX",
           base && strlen(base) < 30 ? base : "/tmp");
  ck_assert_ptr_nonnull(mkdtemp(root));
  snprintf(shared, sizeof shared, "%s/shared", root);
  snprintf(jobs, sizeof jobs, "%s/jobs", root);
  snprintf(own, sizeof own, "%s/" JOB, jobs);
  snprintf(node, sizeof node, "%s/node", root);
  folder_make(shared);
  folder_make(jobs);
  folder_make(own);
  folder_make(node);
}

static void tree_remove(const char *path) {
  DIR *entries = opendir(path);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    char inner[512];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(inner, sizeof inner, "%.250s/%.250s", path, entry->d_name);
    if (unlink(inner) != 0) tree_remove(inner);
  }
  if (entries) closedir(entries);
  rmdir(path);
}

static void scratch_remove(void) {
  tree_remove(root);
}

/* Valid until the next call. */
static const char *path_of(const char *folder, const char *name) {
  ck_assert_int_eq(ep_path_join(joined, NULL, folder, name, NULL), EP_OK);
  return joined;
}

static bool is_there(const char *folder, const char *name) {
  return access(path_of(folder, name), F_OK) == 0;
}

static void file_write(const char *folder, const char *name, const char *text) {
  FILE *file = fopen(path_of(folder, name), "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
}

static bool file_is(const char *folder, const char *name, const char *text) {
  char found[64] = "";
  FILE *file = fopen(path_of(folder, name), "r");
  if (!file) return false;
  size_t bytes = fread(found, 1, sizeof found - 1, file);
  fclose(file);
  return bytes == strlen(text) && memcmp(found, text, bytes) == 0;
}

/* Reports of the ends of these epochs, a frame each. */
static void reports_add(ep_handover *handover, const char *job, int64_t first, int64_t last) {
  for (int64_t epoch = first; epoch <= last; epoch++) {
    const ep_progress_record record = {.kind = EP_PROGRESS_EPOCH, .epoch = epoch};
    ep_progress progress = {.attempt = 7, .count = 1, .records = &record};
    size_t bytes = 0;
    memcpy(progress.job, job, strlen(job));
    uint8_t *frame = ep_progress_encode(&progress, &bytes);
    ck_assert_ptr_nonnull(frame);
    ck_assert_int_eq(ep_handover_add_frame(handover, frame, bytes, NULL), EP_OK);
    free(frame);
  }
}

/* As a relay: attempt 1, which began with `logged` epochs in the log and reported others. */
static void leave(int64_t logged, int64_t first, int64_t last, bool whole) {
  ep_handover handover = {.job = JOB, .attempt = 1, .whole = whole, .epochs_logged = logged};
  ep_error error = {0};
  reports_add(&handover, JOB, first, last);
  reports_add(&handover, "job_of_another", 90, 99);
  ck_assert_msg(ep_handover_leave(shared, node, &handover, &error) == EP_OK, "%s", error.message);
  ep_handover_deinit(&handover);
}

/* As the gateway, for attempt 2. */
static ep_status take(int64_t logged, int64_t *step) {
  const ep_handover_start start = {
      .shared = shared, .job_folder = own, .job = JOB, .attempt = 2, .epochs_logged = logged};
  ep_error error = {0};
  return ep_handover_take(&start, step, &error);
}

START_TEST(what_is_left_is_taken_up) {
  int64_t step, first, last;
  struct stat state;
  ep_handover found;
  file_write(node, "checkpoint-100.safetensors", "new");
  file_write(node, "moment-5.safetensors", "moment");
  file_write(node, "weights.safetensors", "of an end");
  file_write(node, "spec.json", "of another's");
  file_write(own, "checkpoint-40.safetensors", "old");
  leave(3, 4, 10, true);
  ck_assert_int_eq(stat(path_of(shared, LEFT), &state), 0);
  ck_assert_uint_eq(state.st_mode & 0777, 0700);
  ck_assert_int_eq(stat(path_of(shared, LEFT "/checkpoint-100.safetensors"), &state), 0);
  ck_assert_uint_eq(state.st_mode & 0777, 0600);
  ck_assert_int_eq(stat(path_of(shared, LEFT "/handover.bin"), &state), 0);
  ck_assert_uint_eq(state.st_mode & 0777, 0600);
  ck_assert(!is_there(shared, LEFT "/weights.safetensors"));
  ck_assert(!is_there(shared, LEFT "/spec.json"));

  ck_assert_int_eq(take(5, &step), EP_OK);
  ck_assert_int_eq(step, 100);
  ck_assert(file_is(own, "checkpoint-100.safetensors", "new"));
  ck_assert(file_is(own, "checkpoint-40.safetensors", "old"));
  ck_assert(file_is(own, "moment-5.safetensors", "moment"));
  ck_assert(!is_there(own, "weights.safetensors"));
  ck_assert(!is_there(shared, LEFT));
  ck_assert_int_eq(ep_handover_read(path_of(own, EP_HANDOVER_FILE), &found, NULL), EP_OK);
  ep_handover_epochs(&found, &first, &last);
  ck_assert_int_eq(first, 4);
  ck_assert_int_eq(last, 10); /* and none of another job */
  ep_handover_deinit(&found);
  ck_assert_int_eq(take(10, &step), EP_OK);
  ck_assert_int_eq(step, -1); /* there is nothing any more */
}
END_TEST

/* The worker removes an old checkpoint while its files are copied: a name that leads to no file. */
START_TEST(a_file_that_goes_meanwhile_is_left_out) {
  int64_t step;
  file_write(node, "checkpoint-100.safetensors", "new");
  ck_assert_int_eq(symlink("gone", path_of(node, "checkpoint-40.safetensors")), 0);
  leave(0, 1, 10, true);
  ck_assert_int_eq(take(0, &step), EP_OK);
  ck_assert_int_eq(step, 100);
  ck_assert(!is_there(own, "checkpoint-40.safetensors"));
}
END_TEST

/* A disk that does not read is no reason to remove what may be good. */
START_TEST(what_cannot_be_read_stays) {
  static const char *const names[] = {"trials.bin", JOB};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *folder = i == 0 ? own : jobs;
    char path[EP_PATH_BYTES];
    int64_t step;
    file_write(node, "trials.bin", "one two");
    leave(0, 1, 0, true);
    if (i == 1) tree_remove(own);
    snprintf(path, sizeof path, "%s", path_of(folder, names[i]));
    ck_assert_int_eq(symlink(names[i], path), 0); /* to itself: whoever opens it fails */
    ck_assert_int_eq(take(0, &step), EP_IO);
    ck_assert_int_eq(step, -1);
    ep_handovers_trim(shared, jobs);
    ck_assert(is_there(shared, LEFT "/trials.bin"));
    ck_assert_int_eq(unlink(path), 0);
  }
  folder_make(own);
  int64_t step;
  ck_assert_int_eq(take(0, &step), EP_OK);
  ck_assert_int_eq(step, 0);
}
END_TEST

enum { LARGE_BYTES = 5 << 20 };

/* While one file is copied: how often that was told before it had its name, each time with more. */
static void growth_note(void *context) {
  int *told = context;
  struct stat state;
  static off_t before;
  if (*told == 0) before = -1;
  if (stat(path_of(own, "checkpoint-100.safetensors.new-2.tmp"), &state) != 0) return;
  ck_assert_int_gt(state.st_size, before);
  before = state.st_size;
  ++*told;
}

/* epochd ends a worker that is silent for long: a single file may take longer to copy. */
START_TEST(a_large_file_is_told_of_while_it_is_copied) {
  int told = 0;
  int64_t step;
  const ep_file_moves moves = {.moved = growth_note, .context = &told};
  const ep_handover_start start = {
      .shared = shared, .job_folder = own, .job = JOB, .attempt = 2, .moves = &moves};
  file_write(node, "checkpoint-100.safetensors", "begins");
  ck_assert_int_eq(truncate(path_of(node, "checkpoint-100.safetensors"), LARGE_BYTES), 0);
  leave(0, 1, 10, true);
  ck_assert_int_eq(ep_handover_take(&start, &step, NULL), EP_OK);
  ck_assert_int_eq(step, 100);
  ck_assert_int_ge(told, 5);
}
END_TEST

START_TEST(what_is_older_is_not) {
  int64_t step;
  file_write(node, "checkpoint-100.safetensors", "new");
  file_write(own, "checkpoint-101.safetensors", "own");
  leave(0, 1, 10, true);
  ck_assert_int_eq(take(11, &step), EP_OK);
  ck_assert_int_eq(step, -1);
  ck_assert(!is_there(own, "checkpoint-100.safetensors"));
  ck_assert(!is_there(own, EP_HANDOVER_FILE));
  ck_assert(!is_there(shared, LEFT)); /* it is of no use to anybody */
}
END_TEST

/* The checkpoint came over the connection before it broke, and reports before it did not. */
START_TEST(reports_alone_count) {
  int64_t step;
  file_write(node, "checkpoint-100.safetensors", "the same");
  file_write(own, "checkpoint-100.safetensors", "the same");
  leave(0, 1, 10, true);
  ck_assert_int_eq(take(6, &step), EP_OK);
  ck_assert_int_eq(step, 100);
  ck_assert(is_there(own, EP_HANDOVER_FILE));
}
END_TEST

START_TEST(a_gap_in_the_reports_is_none_to_go_on_from) {
  static const struct {
    int64_t logged_then, first, logged_now;
    bool whole, taken;
  } cases[] = {{3, 4, 3, true, true},
               {3, 4, 2, true, false}, /* the log has lost what it had */
               {3, 6, 6, false, true},
               {3, 6, 5, false, false}, /* the relay had dropped reports */
               {0, 1, 0, true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t step;
    file_write(node, "checkpoint-100.safetensors", "new");
    leave(cases[i].logged_then, cases[i].first, 10, cases[i].whole);
    ck_assert_int_eq(take(cases[i].logged_now, &step), EP_OK);
    ck_assert_msg((step == 100) == cases[i].taken, "case %zu", i);
    unlink(path_of(own, "checkpoint-100.safetensors"));
  }
}
END_TEST

START_TEST(trials_go_on_behind_their_own) {
  int64_t step;
  file_write(node, "trials.bin", "one two");
  file_write(own, "trials.bin", "one ");
  leave(0, 1, 0, true);
  ck_assert_int_eq(take(0, &step), EP_OK);
  ck_assert_int_eq(step, 0);
  ck_assert(file_is(own, "trials.bin", "one two"));
  file_write(node, "trials.bin", "one and another");
  leave(0, 1, 0, true);
  ck_assert_int_eq(take(0, &step), EP_OK);
  ck_assert_int_eq(step, -1);
  ck_assert(file_is(own, "trials.bin", "one two"));
}
END_TEST

/* Flips a bit of a file. */
static void damage(const char *path, long at) {
  FILE *file = fopen(path, "r+");
  ck_assert_ptr_nonnull(file);
  fseek(file, at, SEEK_SET);
  const int byte = fgetc(file);
  fseek(file, at, SEEK_SET);
  fputc(byte ^ 4, file);
  fclose(file);
}

START_TEST(a_changed_bit_is_refused) {
  struct stat state;
  int64_t step;
  char path[EP_PATH_BYTES];
  file_write(node, "checkpoint-100.safetensors", "new");
  leave(0, 1, 3, true);
  snprintf(path, sizeof path, "%s", path_of(shared, LEFT "/handover.bin"));
  ck_assert_int_eq(stat(path, &state), 0);
  for (long at = 0; at < state.st_size; at++) {
    ep_handover found;
    damage(path, at);
    ck_assert_msg(ep_handover_read(path, &found, NULL) != EP_OK, "byte %ld", at);
    damage(path, at);
  }
  damage(path_of(shared, LEFT "/checkpoint-100.safetensors"), 1);
  ck_assert_int_eq(take(0, &step), EP_DAMAGED);
  ck_assert_int_eq(step, -1);
  ck_assert(!is_there(own, "checkpoint-100.safetensors"));
  ck_assert(!is_there(own, "checkpoint-100.safetensors.new-2"));
  ck_assert(!is_there(shared, LEFT));
}
END_TEST

START_TEST(another_attempts_or_users_is_refused) {
  int64_t step;
  char path[EP_PATH_BYTES];
  file_write(node, "checkpoint-100.safetensors", "new");
  leave(0, 1, 3, true);
  snprintf(path, sizeof path, "%s", path_of(shared, LEFT));
  chmod(path, 0750);
  ck_assert_int_eq(take(0, &step), EP_FORBIDDEN);
  leave(0, 1, 3, true);
  ck_assert_int_eq(rename(path, path_of(shared, "handovers/" JOB "-2")), 0);
  ck_assert_int_eq(take(0, &step), EP_DAMAGED); /* its file says that it is of attempt 1 */
  leave(0, 1, 3, true);
  ck_assert_int_eq(rename(path, path_of(shared, "handovers/" JOB "-3")), 0);
  ck_assert_int_eq(take(0, &step), EP_OK);
  ck_assert_int_eq(step, -1);
  ck_assert(is_there(shared, "handovers/" JOB "-3")); /* it is of an attempt to come */
  ck_assert(!is_there(own, "checkpoint-100.safetensors"));
}
END_TEST

/* A file that a rogue relay lists must not lie elsewhere. */
START_TEST(a_file_elsewhere_is_refused) {
  static const char *const names[] = {"../escaped", "spec.json", "weights.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    ep_handover handover = {.job = JOB, .attempt = 1, .whole = true};
    int64_t step;
    file_write(node, "checkpoint-100.safetensors", "new");
    leave(0, 1, 3, true);
    ck_assert_int_eq(ep_handover_add_file(&handover, names[i], "", NULL), EP_OK);
    ck_assert_int_eq(ep_handover_write(path_of(shared, LEFT "/handover.bin"), &handover, NULL),
                     EP_OK);
    ep_handover_deinit(&handover);
    ck_assert_int_eq(take(0, &step), EP_DAMAGED);
    ck_assert(!is_there(jobs, "escaped") && !is_there(own, "spec.json"));
  }
}
END_TEST

START_TEST(what_nobody_takes_up_goes) {
  const struct timespec old[2] = {{.tv_sec = time(NULL) - EP_LIMIT_HANDOVER_SECONDS - 10},
                                  {.tv_sec = time(NULL) - EP_LIMIT_HANDOVER_SECONDS - 10}};
  file_write(node, "checkpoint-100.safetensors", "new");
  leave(0, 1, 3, true);
  folder_make(path_of(shared, "handovers/job_gone-1"));
  folder_make(path_of(shared, "handovers/.new-begun"));
  ep_handovers_trim(shared, jobs);
  ck_assert(is_there(shared, LEFT "/checkpoint-100.safetensors"));
  ck_assert(!is_there(shared, "handovers/job_gone-1"));
  ck_assert(is_there(shared, "handovers/.new-begun")); /* a relay is at it */
  utimensat(AT_FDCWD, path_of(shared, LEFT), old, 0);
  utimensat(AT_FDCWD, path_of(shared, "handovers/.new-begun"), old, 0);
  ep_handovers_trim(shared, jobs);
  ck_assert(!is_there(shared, LEFT));
  ck_assert(!is_there(shared, "handovers/.new-begun"));
}
END_TEST

/* Of a rogue, with the right hash: frames of chance, and a sound one cut, longer, or of another. */
START_TEST(frames_that_no_worker_sends_are_refused) {
  uint64_t state = 11;
  const char *path = path_of(shared, "handover.bin");
  for (int round = 0; round < 40; round++) {
    ep_handover handover = {.job = JOB, .attempt = 1}, found;
    reports_add(&handover, round % 4 == 3 ? JOB : "job_of_another", 1, 3);
    if (round % 4 == 0) memcpy(handover.job, "job_of_another", sizeof "job_of_another");
    reports_add(&handover, handover.job, 1, 3);
    ck_assert_uint_gt(handover.frames_bytes, 64);
    for (size_t i = 0; round % 4 == 1 && i < handover.frames_bytes; i++) {
      state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
      handover.frames[i] = (uint8_t)(state >> 56);
    }
    if (round % 4 == 0) memcpy(handover.job, JOB, sizeof JOB);
    if (round % 4 == 2) handover.attempt = 2;
    if (round % 4 == 3) handover.frames_bytes -= 1 + (size_t)round;
    ck_assert_int_eq(ep_handover_write(path, &handover, NULL), EP_OK);
    ck_assert_msg(ep_handover_read(path, &found, NULL) == EP_DAMAGED, "round %d", round);
    ep_handover_deinit(&handover);
  }
}
END_TEST

START_TEST(reports_have_a_ceiling) {
  ep_handover handover = {.job = JOB, .attempt = 1};
  const ep_progress_record record = {.kind = EP_PROGRESS_EPOCH, .epoch = 1};
  ep_progress progress = {.job = JOB, .count = 1, .records = &record};
  size_t bytes = 0;
  uint8_t *frame = ep_progress_encode(&progress, &bytes);
  ep_status status = EP_OK;
  ck_assert_ptr_nonnull(frame);
  while (status == EP_OK) status = ep_handover_add_frame(&handover, frame, bytes, NULL);
  ck_assert_int_eq(status, EP_TOO_LARGE);
  ck_assert_uint_le(handover.frames_bytes, EP_LIMIT_HANDOVER_FRAMES_BYTES);
  ck_assert_uint_gt(handover.frames_bytes + bytes, EP_LIMIT_HANDOVER_FRAMES_BYTES);
  free(frame);
  ep_handover_deinit(&handover);
}
END_TEST

EP_SUITE("engine/handovers") {
  TCase *tests = ep_suite_case(suite, "handovers");
  tcase_add_checked_fixture(tests, scratch_make, scratch_remove);
  tcase_add_test(tests, what_is_left_is_taken_up);
  tcase_add_test(tests, a_file_that_goes_meanwhile_is_left_out);
  tcase_add_test(tests, what_cannot_be_read_stays);
  tcase_add_test(tests, a_large_file_is_told_of_while_it_is_copied);
  tcase_add_test(tests, what_is_older_is_not);
  tcase_add_test(tests, reports_alone_count);
  tcase_add_test(tests, a_gap_in_the_reports_is_none_to_go_on_from);
  tcase_add_test(tests, trials_go_on_behind_their_own);
  tcase_add_test(tests, a_changed_bit_is_refused);
  tcase_add_test(tests, another_attempts_or_users_is_refused);
  tcase_add_test(tests, a_file_elsewhere_is_refused);
  tcase_add_test(tests, what_nobody_takes_up_goes);
  tcase_add_test(tests, frames_that_no_worker_sends_are_refused);
  tcase_add_test(tests, reports_have_a_ceiling);
}
