/* A training that dies at any step and goes on from its checkpoint ends with the same bits as one
 * that nothing stopped: in every executor of the CPU, with all that a training can hold. */
#include "engine/checkpoints/list.h"
#include "engine/checkpoints/manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "engine/weights/safetensors.h"
#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

static ep_backend *backend;

static void backend_open(void) {
  ck_assert_int_eq(ep_backend_cpu()->open(0, &backend, NULL), EP_OK);
}

static void backend_close(void) {
  ep_backend_cpu()->close(backend);
}

/* A spec of some 60 epochs of many batches. */
#define JOB(executor, layers, loss, optimizer, more)                                       \
  "{\"data\":{\"generator\":\"disc\",\"rows\":200,\"seed\":3,"                             \
  "\"validation\":0.2},\"model\":{\"layers\":[" layers "]},\"loss\":\"" loss               \
  "\",\"optimizer\":" optimizer ",\"epochs\":60,\"batch_size\":7,\"executor\":\"" executor \
  "\",\"checkpoint\":{\"every_seconds\":0,\"keep\":1000},\"report_every\":1" more "}"
#define DENSE                                                                          \
  "{\"type\":\"linear\",\"out_features\":9},{\"type\":\"tanh\"},{\"type\":\"linear\"," \
  "\"out_features\":2}"
#define NOISY                                                                                \
  "{\"type\":\"linear\",\"out_features\":16},{\"type\":\"batch_norm\"},{\"type\":\"relu\"}," \
  "{\"type\":\"dropout\",\"p\":0.3},{\"type\":\"linear\",\"out_features\":2}"
#define ADAM "{\"type\":\"adam\",\"lr\":0.01}"
#define NADAM "{\"type\":\"nadam\",\"lr\":0.01}"
#define MOMENTUM "{\"type\":\"sgd\",\"lr\":0.05,\"momentum\":0.9}"

static const char *const specs[] = {
    JOB("cpu/reference", DENSE, "cross_entropy", ADAM, ""),
    JOB("cpu/fused", DENSE, "cross_entropy", MOMENTUM, ""),
    JOB("cpu/fused", DENSE, "cross_entropy", NADAM, ",\"schedule\":{\"type\":\"one_cycle\"}"),
    JOB("cpu/blocked", NOISY, "cross_entropy", ADAM, ""),
    JOB("cpu/reference", NOISY, "cross_entropy", MOMENTUM,
        ",\"schedule\":{\"type\":\"reduce_on_plateau\",\"patience\":1,\"factor\":0.5}"),
    JOB("cpu/fused", DENSE, "cross_entropy", ADAM,
        ",\"early_stopping\":{\"patience\":7},\"schedule\":{\"type\":\"reduce_on_plateau\","
        "\"patience\":2}"),
    JOB("cpu/blocked", NOISY, "cross_entropy", MOMENTUM, ",\"keep\":\"best\""),
};
enum { SPECS = sizeof specs / sizeof *specs, KILLS = 24, KILLS_A_TRAINING = 8, FLIPS = 20 };

/* The whole file's bytes but for what is a time. */
static uint64_t weights_hash(const fixture *f) {
  char path[128];
  ep_tensors file;
  uint64_t hash = UINT64_C(14695981039346656037);
  snprintf(path, sizeof path, "%s/weights.safetensors", f->folder);
  ck_assert_int_eq(ep_tensors_open(path, &file, NULL), EP_OK);
  for (size_t i = 0; i < file.tensors_count; i++)
    for (int64_t b = 0; b < file.tensor[i].values_count * 4; b++)
      hash = (hash ^ file.tensor[i].bytes[b]) * UINT64_C(1099511628211);
  ep_tensors_close(&file);
  return hash;
}

static int64_t checkpoints_count(const fixture *f) {
  int64_t *steps, count;
  ck_assert_int_eq(ep_checkpoints_list(f->folder, &steps, &count, NULL), EP_OK);
  free(steps);
  return count;
}

/* Gives a training nothing but one checkpoint of another one, chosen by chance: it seems to have
 * died behind that. */
static int64_t checkpoint_give(const fixture *from, const fixture *to, unsigned *seed) {
  int64_t *steps, count;
  char path[EP_PATH_BYTES], copy[EP_PATH_BYTES];
  ck_assert_int_eq(ep_checkpoints_list(from->folder, &steps, &count, NULL), EP_OK);
  int64_t step = steps[rand_r(seed) % count];
  free(steps);
  ck_assert_int_eq(ep_checkpoints_remove_after(to->folder, -1, NULL), EP_OK);
  ck_assert_int_eq(ep_checkpoint_path(from->folder, step, path, NULL), EP_OK);
  ck_assert_int_eq(ep_checkpoint_path(to->folder, step, copy, NULL), EP_OK);
  ck_assert_int_eq(link(path, copy), 0);
  return step;
}

static void fixture_end(fixture *f) {
  ck_assert_int_eq(ep_checkpoints_remove_after(f->folder, -1, NULL), EP_OK);
  fixture_close(f);
}

static ep_kept_epoch train_all(fixture *f) {
  f->records_count = f->records_sent = 0;
  ep_job_result result = fixture_train(f);
  ck_assert_msg(result.status == EP_OK, "%s", result.message);
  ep_job_result_deinit(&result);
  return result.kept;
}

/* The epochs that a resumed training reports are the last ones of the whole one, to the bit. */
static void records_compare(const fixture *whole, const fixture *resumed) {
  int first = whole->records_count - resumed->records_count;
  ck_assert_int_ge(first, 0);
  for (int i = 0; i < resumed->records_count; i++) {
    ep_progress_record a = whole->records[first + i], b = resumed->records[i];
    a.elapsed_seconds = b.elapsed_seconds = 0;
    ck_assert_msg(memcmp(&a, &b, sizeof a) == 0, "epoch %lld differs", (long long)b.epoch);
  }
}

/* A training with a checkpoint after every few steps. */
static void checkpoints_make(fixture *f, unsigned *seed) {
  ck_assert_int_eq(ep_checkpoints_remove_after(f->folder, -1, NULL), EP_OK);
  f->training.checkpoint_after_seconds = 0;
  f->training.segment_steps_most = 11 + rand_r(seed) % 40;
  train_all(f);
  ck_assert_int_ge(checkpoints_count(f), 6);
}

START_TEST(a_resumed_training_ends_with_the_same_bits) {
  static fixture whole, checkpointed, resumed;
  unsigned seed = 7 + (unsigned)_i;
  fixture_open(&whole, specs[_i], ep_backend_cpu(), backend);
  const ep_kept_epoch kept = train_all(&whole);
  uint64_t expected = weights_hash(&whole);
  ck_assert_int_eq(checkpoints_count(&whole), 0);
  fixture_open(&checkpointed, specs[_i], ep_backend_cpu(), backend);
  fixture_open(&resumed, specs[_i], ep_backend_cpu(), backend);
  for (int kill = 0; kill < KILLS; kill++) {
    if (kill % KILLS_A_TRAINING == 0) checkpoints_make(&checkpointed, &seed);
    ck_assert_uint_eq(weights_hash(&checkpointed), expected);
    int64_t step = checkpoint_give(&checkpointed, &resumed, &seed);
    const ep_kept_epoch again = train_all(&resumed);
    ck_assert(again.epoch == kept.epoch && again.best_epoch == kept.best_epoch);
    ck_assert(again.value == kept.value && again.best == kept.best);
    ck_assert_int_eq(resumed.first_epoch, step / resumed.steps_per_epoch);
    ck_assert_msg(weights_hash(&resumed) == expected, "resumed at step %lld", (long long)step);
    records_compare(&whole, &resumed);
  }
  fixture_end(&resumed);
  fixture_end(&checkpointed);
  fixture_end(&whole);
}
END_TEST

/* Flips a bit of the newest checkpoint. */
static void newest_damage(const fixture *f, unsigned *seed) {
  int64_t *steps, count;
  char path[EP_PATH_BYTES];
  struct stat about;
  ck_assert_int_eq(ep_checkpoints_list(f->folder, &steps, &count, NULL), EP_OK);
  ck_assert_int_eq(ep_checkpoint_path(f->folder, steps[0], path, NULL), EP_OK);
  free(steps);
  FILE *file = fopen(path, "r+b");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fstat(fileno(file), &about), 0);
  long place = rand_r(seed) % about.st_size;
  fseek(file, place, SEEK_SET);
  int byte = fgetc(file);
  fseek(file, place, SEEK_SET);
  fputc(byte ^ 1 << rand_r(seed) % 8, file);
  fclose(file);
}

/* A checkpoint with a flipped bit is passed over for the one before it, unless the bit means
 * nothing; the bits of the weights stay. */
/* Reports that never came to the log would be missing for ever: the checkpoint behind them is
 * passed over. */
START_TEST(a_checkpoint_ahead_of_the_log_is_passed_over) {
  static fixture f;
  unsigned seed = 5;
  fixture_open(&f, specs[_i], ep_backend_cpu(), backend);
  checkpoints_make(&f, &seed);
  f.training.checkpoint_after_seconds = 1e9;
  uint64_t expected = weights_hash(&f);
  for (int logged = 40; logged >= 0; logged -= 10) {
    f.training.epochs_logged = logged;
    train_all(&f);
    ck_assert_int_le(f.first_epoch, logged);
    ck_assert(logged == 0 || f.first_epoch > 0);
    if (f.records_count > 0) ck_assert_int_le(f.records[0].epoch, logged + 1);
    ck_assert_uint_eq(weights_hash(&f), expected);
  }
  fixture_end(&f);
}
END_TEST

START_TEST(a_damaged_checkpoint_is_passed_over) {
  static fixture f;
  unsigned seed = 99;
  int passed_over = 0;
  fixture_open(&f, specs[_i], ep_backend_cpu(), backend);
  checkpoints_make(&f, &seed);
  uint64_t expected = weights_hash(&f);
  for (int flip = 0; flip < FLIPS; flip++) {
    /* a bit of the device's name takes all of them away */
    if (checkpoints_count(&f) < 2) checkpoints_make(&f, &seed);
    f.training.checkpoint_after_seconds = 1e9;
    newest_damage(&f, &seed);
    train_all(&f);
    ck_assert_uint_eq(weights_hash(&f), expected);
    passed_over += f.note[0] != 0;
  }
  ck_assert_int_ge(passed_over, 5);
  fixture_end(&f);
}
END_TEST

/* Whatever its age: in the loop, and while its results are measured. at_epoch: 0 = the last one. */
static void pause_look(const char *spec, int64_t at_epoch) {
  static fixture whole, paused;
  fixture_open(&whole, spec, ep_backend_cpu(), backend);
  train_all(&whole);
  fixture_open(&paused, spec, ep_backend_cpu(), backend);
  paused.training.checkpoint_after_seconds = 1e9;
  paused.training.segment_steps_most = 25;
  paused.training.pause = &paused.pause;
  if (at_epoch == 0) at_epoch = whole.records[whole.records_count - 1].epoch;
  paused.pause_at_epoch = at_epoch;
  ep_job_result result = fixture_train(&paused);
  ck_assert_int_eq(result.status, EP_PAUSED);
  ck_assert_int_ge(result.epochs_done, at_epoch);
  ep_job_result_deinit(&result);
  ck_assert_int_eq(checkpoints_count(&paused), 1);
  ck_assert_ptr_null(fixture_read(&paused, "weights.safetensors"));
  paused.pause_at_epoch = 0;
  atomic_store(&paused.pause, false);
  train_all(&paused);
  ck_assert_int_ge(paused.first_epoch, at_epoch);
  ck_assert_uint_eq(weights_hash(&paused), weights_hash(&whole));
  fixture_end(&paused);
  fixture_end(&whole);
}

START_TEST(a_paused_training_has_a_checkpoint) {
  pause_look(specs[_i], 20);
}
END_TEST

START_TEST(a_training_paused_in_its_results_has_a_checkpoint) {
  pause_look(specs[_i], 0);
}
END_TEST

/* Files of versions that did not store which epoch is kept lack three numbers, and no others. */
START_TEST(numbers_of_an_older_version_are_read) {
  const ep_checkpoint written = {
      .step = 7, .best = 0.5, .best_epoch = 3, .kept_epoch = 3, .kept = 0.5};
  ep_checkpoint read;
  char *text = ep_checkpoint_format(&written);
  ck_assert_int_eq(ep_checkpoint_parse(text, &read, NULL), EP_OK);
  ck_assert(read.kept_epoch == 3 && read.kept == 0.5);
  char *from = strstr(text, "\"lowest_epoch\""), *to = strstr(text, "\"weights_bytes\"");
  ck_assert(from && to && from < to);
  memmove(from, to, strlen(to) + 1);
  ck_assert_int_eq(ep_checkpoint_parse(text, &read, NULL), EP_OK);
  ck_assert(read.best_epoch == 3 && read.kept_epoch == 0 && read.lowest_epoch == 0);
  memmove(text + 1, strstr(text, "\"epoch\""), strlen(strstr(text, "\"epoch\"")) + 1); /* no step */
  ck_assert_int_eq(ep_checkpoint_parse(text, &read, NULL), EP_DATA);
  free(text);
}
END_TEST

/* A training of which `f` has checkpoints and snapshots; the newest checkpoint's step. */
static int64_t snapshots_make(fixture *f) {
  int64_t *steps, count;
  unsigned seed = 3;
  fixture_open(f, JOB("cpu/fused", DENSE, "cross_entropy", MOMENTUM, ",\"timelapse_every\":20"),
               ep_backend_cpu(), backend);
  checkpoints_make(f, &seed);
  ck_assert_int_eq(ep_checkpoints_list(f->folder, &steps, &count, NULL), EP_OK);
  int64_t newest = steps[0];
  free(steps);
  return newest;
}

static ep_status newest_check(const char *folder, int64_t step, ep_error *error) {
  char path[EP_PATH_BYTES];
  ck_assert_int_eq(ep_checkpoint_path(folder, step, path, NULL), EP_OK);
  return ep_checkpoint_check(path, error);
}

/* Each third bit of the file at `path`. */
static void bits_flip(const char *folder, const char *path, int64_t number,
                      ep_status (*check)(const char *folder, int64_t number, ep_error *error)) {
  struct stat about;
  ck_assert_int_eq(check(folder, number, NULL), EP_OK);
  int file = open(path, O_RDWR);
  ck_assert(file >= 0 && fstat(file, &about) == 0);
  for (off_t bit = 0; bit < 8 * about.st_size; bit += 3) {
    uint8_t was, other;
    ck_assert_int_eq(pread(file, &was, 1, bit / 8), 1);
    other = was ^ (uint8_t)(1 << bit % 8);
    ck_assert_int_eq(pwrite(file, &other, 1, bit / 8), 1);
    ck_assert_msg(check(folder, number, NULL) != EP_OK, "%s: bit %lld of byte %lld", path,
                  (long long)bit % 8, (long long)bit / 8);
    ck_assert_int_eq(pwrite(file, &was, 1, bit / 8), 1);
  }
  close(file);
  ck_assert_int_eq(check(folder, number, NULL), EP_OK);
}

START_TEST(every_bit_of_a_stored_file_counts) {
  static fixture f;
  char path[EP_PATH_BYTES], other[EP_PATH_BYTES];
  int64_t step = snapshots_make(&f);
  ck_assert_int_eq(ep_checkpoint_path(f.folder, step, path, NULL), EP_OK);
  bits_flip(f.folder, path, step, newest_check);
  ck_assert_int_eq(ep_moment_path(f.folder, 20, path, NULL), EP_OK);
  bits_flip(f.folder, path, 20, ep_snapshot_check);
  ck_assert_int_eq(ep_moment_path(f.folder, 40, other, NULL), EP_OK);
  ck_assert_int_eq(rename(other, path), 0); /* whole, and of another epoch */
  ck_assert_int_eq(ep_snapshot_check(f.folder, 20, NULL), EP_DAMAGED);
  ck_assert_int_eq(ep_snapshot_check(f.folder, 40, NULL), EP_NOT_FOUND);
  ck_assert_int_eq(ep_moments_remove_after(f.folder, -1, NULL), EP_OK);
  fixture_end(&f);
}
END_TEST

static ep_tensor_note *note_find(const ep_tensors *file, const char *key) {
  for (size_t i = 0; i < file->notes_count; i++)
    if (strcmp(file->note[i].key, key) == 0) return &file->note[i];
  ck_abort_msg("no note %s", key);
}

/* The notes as an older version wrote them: of a checkpoint one SHA-256 of all values, of a
 * snapshot none. */
START_TEST(files_of_an_older_version_are_read) {
  static fixture f;
  char path[EP_PATH_BYTES];
  ep_tensors file;
  ep_sha256 hash;
  int64_t step = snapshots_make(&f);
  ck_assert_int_eq(ep_checkpoint_path(f.folder, step, path, NULL), EP_OK);
  ck_assert_int_eq(ep_tensors_open(path, &file, NULL), EP_OK);
  ep_tensor_note *note = note_find(&file, "checkpoint_added_sha256");
  const char *numbers = ep_tensors_note(&file, "checkpoint");
  ck_assert_int_eq(ep_sha256_init(&hash, NULL), EP_OK);
  ep_sha256_update(&hash, numbers, strlen(numbers));
  for (size_t i = 0; i < file.tensors_count; i++)
    ep_sha256_update(&hash, file.tensor[i].bytes, (size_t)file.tensor[i].values_count * 4);
  ep_sha256_final(&hash, note->text);
  free(note->key);
  note->key = strdup("checkpoint_sha256");
  ck_assert_int_eq(ep_tensors_write(path, &file, NULL, NULL, NULL, NULL), EP_OK);
  ep_tensors_close(&file);
  bits_flip(f.folder, path, step, newest_check);
  ck_assert_int_eq(ep_moment_path(f.folder, 20, path, NULL), EP_OK);
  ck_assert_int_eq(ep_tensors_open(path, &file, NULL), EP_OK);
  ck_assert(&file.note[file.notes_count - 2] == note_find(&file, "snapshot"));
  ck_assert(&file.note[file.notes_count - 1] == note_find(&file, "snapshot_sha256"));
  for (int i = 0; i < 2; i++) {
    file.notes_count--;
    free(file.note[file.notes_count].key);
    free(file.note[file.notes_count].text);
  }
  ck_assert_int_eq(ep_tensors_write(path, &file, NULL, NULL, NULL, NULL), EP_OK);
  ep_tensors_close(&file);
  ck_assert_int_eq(ep_snapshot_check(f.folder, 20, NULL), EP_OK);
  ck_assert_int_eq(truncate(path, 100), 0);
  ck_assert_int_eq(ep_snapshot_check(f.folder, 20, NULL), EP_DAMAGED);
  ck_assert_int_eq(ep_moments_remove_after(f.folder, -1, NULL), EP_OK);
  fixture_end(&f);
}
END_TEST

EP_SUITE("engine/training: checkpoints") {
  TCase *tests = ep_suite_case(suite, "checkpoints");
  tcase_set_timeout(tests, 300);
  tcase_add_unchecked_fixture(tests, backend_open, backend_close);
  tcase_add_loop_test(tests, a_resumed_training_ends_with_the_same_bits, 0, SPECS);
  tcase_add_loop_test(tests, a_checkpoint_ahead_of_the_log_is_passed_over, 0, SPECS);
  tcase_add_loop_test(tests, a_damaged_checkpoint_is_passed_over, 0, SPECS);
  tcase_add_loop_test(tests, a_paused_training_has_a_checkpoint, 0, SPECS);
  tcase_add_loop_test(tests, a_training_paused_in_its_results_has_a_checkpoint, 0, SPECS);
  tcase_add_test(tests, every_bit_of_a_stored_file_counts);
  tcase_add_test(tests, files_of_an_older_version_are_read);
  tcase_add_test(tests, numbers_of_an_older_version_are_read);
}
