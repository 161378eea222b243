#include "engine/checkpoints/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hash/sha256.h"
#include "engine/checkpoints/list.h"
#include "engine/checkpoints/manifest.h"
#include "engine/files/verified.h"
#include "engine/weights/notes.h"

#define OPTIMIZER EP_CHECKPOINT_TENSOR_PREFIX "optimizer"
#define BEST EP_CHECKPOINT_TENSOR_PREFIX "best"
#define BEST_OPTIMIZER EP_CHECKPOINT_TENSOR_PREFIX "best_optimizer"
#define NUMBERS_NOTE "checkpoint"
#define HASH_NOTE "checkpoint_added_sha256"
#define WHOLE_HASH_NOTE "checkpoint_sha256" /* of older files */
#define EPOCH_NOTE "snapshot"
#define SNAPSHOT_HASH_NOTE "snapshot_sha256"

enum { TENSORS_MORE = 3, NOTES_MORE = 2 };

/* The file is of our making: where it cannot be read, it has changed since. */
static ep_status damage_tell(const char *path, ep_status status, ep_error *error) {
  char why[EP_MESSAGE_BYTES] = "";
  if (status != EP_DATA) return status;
  if (error) memcpy(why, error->message, sizeof why);
  return ep_fail(error, EP_DAMAGED,
                 "%s is damaged (%.200s): take another checkpoint, or submit the job's spec again",
                 ep_stored_name(path), why);
}

/* The SHA-256 of the numbers, and of the values from the tensor `first` on. */
static ep_status content_hash(const char *numbers, const ep_tensors *tensors, size_t first,
                              char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_sha256 hash;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  ep_sha256_update(&hash, numbers, strlen(numbers));
  for (size_t i = first; i < tensors->tensors_count; i++)
    ep_sha256_update(&hash, tensors->tensor[i].bytes,
                     (size_t)tensors->tensor[i].values_count * sizeof(float));
  ep_sha256_final(&hash, sha256);
  return EP_OK;
}

static void tensor_add(ep_tensors *tensors, const char *name, const float *values, int64_t count) {
  if (!values || count == 0) return;
  ep_tensor *tensor = &tensors->tensor[tensors->tensors_count++];
  *tensor = (ep_tensor){
      .dimensions = 1, .shape = {count}, .values_count = count, .bytes = (const uint8_t *)values};
  snprintf(tensor->name, sizeof tensor->name, "%s", name);
}

/* Takes `text`; false: memory is short. */
static bool note_add(ep_tensors *tensors, const char *key, char *text) {
  ep_tensor_note *note = &tensors->note[tensors->notes_count++];
  *note = (ep_tensor_note){strdup(key), text};
  return note->key && text;
}

/* Room behind the weights' own tensors and notes. */
static ep_status room_make(ep_tensors *tensors, ep_error *error) {
  ep_tensor *tensor =
      realloc(tensors->tensor, (tensors->tensors_count + TENSORS_MORE) * sizeof *tensor);
  if (tensor) tensors->tensor = tensor;
  ep_tensor_note *note = realloc(tensors->note, (tensors->notes_count + NOTES_MORE) * sizeof *note);
  if (note) tensors->note = note;
  return tensor && note ? EP_OK : ep_fail_memory(error);
}

static ep_status file_write(const char *path, ep_checkpoint *checkpoint,
                            const ep_checkpoint_values *values, ep_tensors *tensors,
                            ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES];
  const ep_program *program = &values->plan->program;
  int64_t floats = ep_program_state_floats(program);
  ep_status status =
      ep_tensors_measure(tensors, checkpoint->weights_sha256, &checkpoint->weights_bytes, error);
  if (status == EP_OK) status = room_make(tensors, error);
  if (status != EP_OK) return status;
  const size_t first = tensors->tensors_count;
  tensor_add(tensors, OPTIMIZER, values->optimizer, program->optimizer_floats);
  tensor_add(tensors, BEST, values->best, floats);
  tensor_add(tensors, BEST_OPTIMIZER, values->best_optimizer, program->optimizer_floats);
  char *numbers = ep_checkpoint_format(checkpoint);
  if (!note_add(tensors, NUMBERS_NOTE, numbers)) return ep_fail_memory(error);
  status = content_hash(numbers, tensors, first, sha256, error);
  if (status == EP_OK && !note_add(tensors, HASH_NOTE, strdup(sha256)))
    status = ep_fail_memory(error);
  if (status == EP_OK)
    status = ep_tensors_write(path, tensors, NULL, sha256, &checkpoint->bytes, error);
  return status;
}

ep_status ep_checkpoint_write(const char *job_folder, ep_checkpoint *checkpoint,
                              const ep_checkpoint_values *values, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_tensors tensors;
  ep_status status = ep_checkpoint_path(job_folder, checkpoint->step, path, error);
  if (status == EP_OK) status = ep_weights_list(values->plan, values->state, &tensors, error);
  if (status != EP_OK) return status;
  status = ep_weights_notes_list(values->plan, values->scaling, values->spec_text, &tensors, error);
  if (status == EP_OK) status = file_write(path, checkpoint, values, &tensors, error);
  ep_tensors_close(&tensors);
  return status;
}

static ep_status numbers_read(const ep_tensors *file, ep_checkpoint *out, ep_error *error) {
  const char *numbers = ep_tensors_note(file, NUMBERS_NOTE);
  if (!numbers) return ep_fail(error, EP_DATA, "not a checkpoint file");
  ep_status status = ep_checkpoint_parse(numbers, out, error);
  if (status == EP_OK) out->bytes = (int64_t)file->mapping.size;
  return status;
}

ep_status ep_checkpoint_read(const char *path, ep_checkpoint *out, ep_error *error) {
  ep_tensors file;
  ep_status status = ep_tensors_open(path, &file, error);
  if (status != EP_OK) return damage_tell(path, status, error);
  status = numbers_read(&file, out, error);
  ep_tensors_close(&file);
  return damage_tell(path, status, error);
}

static bool is_added(const ep_tensor_note *note) {
  return strcmp(note->key, NUMBERS_NOTE) == 0 || strcmp(note->key, HASH_NOTE) == 0 ||
         strcmp(note->key, WHOLE_HASH_NOTE) == 0 || strcmp(note->key, SNAPSHOT_HASH_NOTE) == 0;
}

/* How many tensors are the weights'; the others lie behind them. */
static size_t weights_count(const ep_tensors *file) {
  static const char prefix[] = EP_CHECKPOINT_TENSOR_PREFIX;
  size_t count = file->tensors_count;
  while (count > 0 && strncmp(file->tensor[count - 1].name, prefix, sizeof prefix - 1) == 0)
    count--;
  return count;
}

/* Holds the weights against the SHA-256 of the file that they would be without the rest: their
 * notes (the spec, classes, columns) have no other checksum. */
static ep_status weights_check(const ep_tensors *file, const char *expected, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES];
  int64_t bytes;
  ep_tensors weights = *file; /* lent, but for the list of notes */
  weights.note = malloc((file->notes_count + 1) * sizeof *weights.note);
  if (!weights.note) return ep_fail_memory(error);
  weights.notes_count = 0;
  for (size_t i = 0; i < file->notes_count; i++)
    if (!is_added(&file->note[i])) weights.note[weights.notes_count++] = file->note[i];
  weights.tensors_count = weights_count(file);
  ep_status status = ep_tensors_measure(&weights, sha256, &bytes, error);
  free(weights.note);
  if (status == EP_OK && strcmp(sha256, expected) != 0)
    status = ep_fail(error, EP_DATA, "the checksum of its weights does not match");
  return status;
}

/* The numbers, which have the weights' SHA-256, and what the file has besides the weights. */
static ep_status content_check(const ep_tensors *file, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES];
  const char *written = ep_tensors_note(file, HASH_NOTE);
  const size_t first = written ? weights_count(file) : 0;
  if (!written) written = ep_tensors_note(file, WHOLE_HASH_NOTE);
  ep_status status = content_hash(ep_tensors_note(file, NUMBERS_NOTE), file, first, sha256, error);
  if (status == EP_OK && (!written || strcmp(written, sha256) != 0))
    status = ep_fail(error, EP_DATA, "its checksum does not match");
  return status;
}

/* No checksum has the tensors' names. */
static ep_status tensors_check(const ep_tensors *file, ep_error *error) {
  static const char *const added[] = {OPTIMIZER, BEST, BEST_OPTIMIZER};
  for (size_t i = 0; i < file->tensors_count; i++)
    if (file->tensor[i].whole) return ep_fail(error, EP_DATA, "one of its tensors is not float32");
  for (size_t i = weights_count(file); i < file->tensors_count; i++) {
    bool known = false;
    for (size_t j = 0; j < sizeof added / sizeof *added; j++)
      known = known || strcmp(file->tensor[i].name, added[j]) == 0;
    if (!known) return ep_fail(error, EP_DATA, "one of its tensors has another name");
  }
  return EP_OK;
}

/* Opens the file and looks at every byte of it. */
static ep_status checked_open(const char *path, ep_tensors *file, ep_checkpoint *numbers,
                              ep_error *error) {
  ep_status status = ep_tensors_open(path, file, error);
  if (status != EP_OK) return damage_tell(path, status, error);
  status = numbers_read(file, numbers, error);
  if (status == EP_OK) status = tensors_check(file, error);
  if (status == EP_OK) status = content_check(file, error);
  if (status == EP_OK) status = weights_check(file, numbers->weights_sha256, error);
  if (status != EP_OK) ep_tensors_close(file);
  return damage_tell(path, status, error);
}

ep_status ep_checkpoint_check(const char *path, ep_error *error) {
  ep_tensors file;
  ep_checkpoint numbers;
  ep_status status = checked_open(path, &file, &numbers, error);
  if (status == EP_OK) ep_tensors_close(&file);
  return status;
}

/* Copies a tensor of `count` values; to NULL: only looks at it. */
static ep_status tensor_copy(const ep_tensors *file, const char *name, float *to, int64_t count,
                             ep_error *error) {
  const ep_tensor *tensor = ep_tensors_find(file, name);
  if (count == 0) return EP_OK;
  if (!tensor || tensor->values_count != count)
    return ep_fail(error, EP_INVALID, "the checkpoint's \"%s\" has %lld values instead of %lld",
                   name, tensor ? (long long)tensor->values_count : 0LL, (long long)count);
  if (to) memcpy(to, tensor->bytes, (size_t)count * sizeof *to);
  return EP_OK;
}

ep_status ep_checkpoint_fits(const char *path, const ep_plan *plan, ep_error *error) {
  ep_tensors file;
  ep_status status = ep_tensors_open(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_weights_take(&file, plan, NULL, error);
  if (status == EP_OK)
    status = tensor_copy(&file, OPTIMIZER, NULL, plan->program.optimizer_floats, error);
  ep_tensors_close(&file);
  return status;
}

ep_status ep_checkpoint_load(const char *path, const ep_plan *plan, ep_checkpoint *out,
                             float *state, float *optimizer, float *best, bool *has_best,
                             ep_error *error) {
  ep_tensors file;
  const ep_program *program = &plan->program;
  int64_t floats = ep_program_state_floats(program);
  ep_status status = checked_open(path, &file, out, error);
  if (status != EP_OK) return status;
  *has_best = best && ep_tensors_find(&file, BEST);
  status = ep_weights_take(&file, plan, state, error);
  if (status == EP_OK)
    status = tensor_copy(&file, OPTIMIZER, optimizer, program->optimizer_floats, error);
  if (status == EP_OK && *has_best) status = tensor_copy(&file, BEST, best, floats, error);
  if (status == EP_OK && *has_best)
    status = tensor_copy(&file, BEST_OPTIMIZER, best + floats, program->optimizer_floats, error);
  ep_tensors_close(&file);
  return status;
}

static void note_drop(ep_tensors *file, size_t index) {
  free(file->note[index].key);
  free(file->note[index].text);
  memmove(&file->note[index], &file->note[index + 1],
          (--file->notes_count - index) * sizeof *file->note);
}

ep_status ep_checkpoint_extract(const char *path, const char *to, ep_error *error) {
  ep_tensors file;
  ep_checkpoint numbers;
  ep_status status = checked_open(path, &file, &numbers, error);
  if (status != EP_OK) return status;
  file.tensors_count = weights_count(&file);
  for (size_t i = file.notes_count; i-- > 0;)
    if (is_added(&file.note[i])) note_drop(&file, i);
  status = ep_tensors_write(to, &file, NULL, NULL, NULL, error);
  ep_tensors_close(&file);
  return damage_tell(path, status, error);
}

static ep_status snapshot_notes_add(ep_tensors *tensors, int64_t epoch, ep_error *error) {
  char text[32], sha256[EP_SHA256_HEX_BYTES];
  int64_t bytes;
  snprintf(text, sizeof text, "%lld", (long long)epoch);
  ep_status status = room_make(tensors, error);
  if (status == EP_OK && !note_add(tensors, EPOCH_NOTE, strdup(text)))
    status = ep_fail_memory(error);
  if (status == EP_OK) status = ep_tensors_measure(tensors, sha256, &bytes, error);
  if (status == EP_OK && !note_add(tensors, SNAPSHOT_HASH_NOTE, strdup(sha256)))
    status = ep_fail_memory(error);
  return status;
}

ep_status ep_snapshot_write(const char *job_folder, int64_t epoch,
                            const ep_checkpoint_values *values, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_tensors tensors;
  ep_status status = ep_moment_path(job_folder, epoch, path, error);
  if (status == EP_OK) status = ep_weights_list(values->plan, values->state, &tensors, error);
  if (status != EP_OK) return status;
  status = ep_weights_notes_list(values->plan, values->scaling, values->spec_text, &tensors, error);
  if (status == EP_OK) status = snapshot_notes_add(&tensors, epoch, error);
  if (status == EP_OK) status = ep_tensors_write(path, &tensors, NULL, NULL, NULL, error);
  ep_tensors_close(&tensors);
  return status;
}

/* A bit of a note's name that has changed hides one of the two notes, not both. */
static ep_status snapshot_content_check(const ep_tensors *file, int64_t epoch, ep_error *error) {
  const char *number = ep_tensors_note(file, EPOCH_NOTE),
             *sha256 = ep_tensors_note(file, SNAPSHOT_HASH_NOTE);
  char expected[32];
  if (!number && !sha256) return EP_OK; /* of an older version */
  snprintf(expected, sizeof expected, "%lld", (long long)epoch);
  if (!number || !sha256 || strcmp(number, expected) != 0)
    return ep_fail(error, EP_DATA, "it has no checksum, or is of another epoch than %s", expected);
  ep_status status = tensors_check(file, error);
  return status == EP_OK ? weights_check(file, sha256, error) : status;
}

ep_status ep_snapshot_check(const char *job_folder, int64_t epoch, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_tensors file;
  ep_status status = ep_moment_path(job_folder, epoch, path, error);
  if (status == EP_OK) status = ep_tensors_open(path, &file, error);
  if (status == EP_OK) {
    status = snapshot_content_check(&file, epoch, error);
    ep_tensors_close(&file);
  }
  return damage_tell(path, status, error);
}
