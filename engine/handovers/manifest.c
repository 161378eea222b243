#include "engine/handovers/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "api/wire/frame.h"
#include "engine/files/durable_file.h"

#define MAGIC "EPHANDO1" /* another where the structs here, or the frames, change */

enum { FILES_MOST = 4096 /* checkpoints, and moments of a time-lapse */ };

typedef struct {
  char magic[8];
  char version[32];
  char job[EP_ID_BYTES];
  int32_t attempt, whole;
  int64_t epochs_logged, files_count, frames_bytes;
  char sha256[EP_SHA256_HEX_BYTES + 7]; /* of the header with zeros here, and what is behind it */
} header;

_Static_assert(sizeof(header) == 184 && sizeof(ep_handover_file) == 200, "no padding in the file");

ep_status ep_handover_add_frame(ep_handover *handover, const uint8_t *frame, size_t bytes,
                                ep_error *error) {
  ep_frame_kind kind;
  ep_progress_prefix prefix;
  size_t payload = 0;
  if (bytes < EP_FRAME_HEADER_BYTES + sizeof prefix ||
      ep_frame_header(frame, &kind, &payload, NULL) != EP_OK || kind != EP_FRAME_PROGRESS)
    return EP_OK;
  memcpy(&prefix, frame + EP_FRAME_HEADER_BYTES, sizeof prefix);
  if (prefix.count == 0 || strncmp(prefix.job, handover->job, sizeof prefix.job) != 0) return EP_OK;
  if (bytes > EP_LIMIT_HANDOVER_FRAMES_BYTES - handover->frames_bytes)
    return ep_fail(error, EP_TOO_LARGE, "too many reports for a handover");
  const size_t needed = handover->frames_bytes + bytes;
  if (needed > handover->frames_capacity) {
    const size_t grown = 2 * needed;
    uint8_t *frames = realloc(handover->frames, grown);
    if (!frames) return ep_fail_memory(error);
    handover->frames = frames;
    handover->frames_capacity = grown;
  }
  uint8_t *to = handover->frames + handover->frames_bytes;
  memcpy(to, frame, bytes);
  prefix.attempt = handover->attempt;
  memcpy(to + EP_FRAME_HEADER_BYTES, &prefix, sizeof prefix);
  handover->frames_bytes = needed;
  return EP_OK;
}

ep_status ep_handover_add_file(ep_handover *handover, const char *name, const char *sha256,
                               ep_error *error) {
  ep_handover_file file = {0}; /* what is behind the texts is written too */
  if (handover->files_count == FILES_MOST || strlen(name) >= sizeof file.name)
    return ep_fail(error, EP_TOO_LARGE, "too many files for a handover, or too long a name");
  if (handover->files_count == handover->files_capacity) {
    const int grown = handover->files_capacity == 0 ? 16 : 2 * handover->files_capacity;
    ep_handover_file *files = realloc(handover->files, (size_t)grown * sizeof *files);
    if (!files) return ep_fail_memory(error);
    handover->files = files;
    handover->files_capacity = grown;
  }
  memcpy(file.name, name, strlen(name));
  snprintf(file.sha256, sizeof file.sha256, "%s", sha256);
  handover->files[handover->files_count++] = file;
  return EP_OK;
}

const uint8_t *ep_handover_next_frame(const ep_handover *handover, size_t *at, size_t *bytes) {
  ep_frame_kind kind;
  if (*at >= handover->frames_bytes) return NULL;
  const uint8_t *frame = handover->frames + *at;
  ep_frame_header(frame, &kind, bytes, NULL); /* it was read before */
  *bytes += EP_FRAME_HEADER_BYTES;
  *at += *bytes;
  return frame;
}

void ep_handover_epochs(const ep_handover *handover, int64_t *first, int64_t *last) {
  size_t bytes = 0;
  const uint8_t *frame;
  *first = *last = 0;
  for (size_t at = 0; (frame = ep_handover_next_frame(handover, &at, &bytes));) {
    ep_progress progress;
    if (ep_progress_decode(frame + EP_FRAME_HEADER_BYTES, bytes - EP_FRAME_HEADER_BYTES, &progress,
                           NULL) != EP_OK)
      return;
    for (uint32_t i = 0; i < progress.count; i++) {
      if (progress.records[i].kind != EP_PROGRESS_EPOCH) continue;
      if (*first == 0) *first = progress.records[i].epoch;
      *last = progress.records[i].epoch;
    }
  }
}

static ep_status hash_make(const header *head, const ep_handover_file *files, const uint8_t *frames,
                           char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  header plain = *head;
  ep_sha256 hash;
  memset(plain.sha256, 0, sizeof plain.sha256);
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  ep_sha256_update(&hash, &plain, sizeof plain);
  ep_sha256_update(&hash, files, (size_t)head->files_count * sizeof *files);
  ep_sha256_update(&hash, frames, (size_t)head->frames_bytes);
  ep_sha256_final(&hash, sha256);
  return EP_OK;
}

static ep_status file_write(const char *path, const header *head, const ep_handover *handover,
                            ep_error *error) {
  ep_durable_file *file = NULL;
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status == EP_OK) status = ep_durable_file_write(file, head, sizeof *head, error);
  if (status == EP_OK && handover->files_count > 0)
    status = ep_durable_file_write(file, handover->files,
                                   (size_t)handover->files_count * sizeof *handover->files, error);
  if (status == EP_OK && handover->frames_bytes > 0)
    status = ep_durable_file_write(file, handover->frames, handover->frames_bytes, error);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

ep_status ep_handover_write(const char *path, const ep_handover *handover, ep_error *error) {
  header head = {.attempt = handover->attempt,
                 .whole = handover->whole,
                 .epochs_logged = handover->epochs_logged,
                 .files_count = handover->files_count,
                 .frames_bytes = (int64_t)handover->frames_bytes};
  memcpy(head.magic, MAGIC, sizeof head.magic);
  snprintf(head.version, sizeof head.version, "%s", EP_VERSION);
  snprintf(head.job, sizeof head.job, "%s", handover->job);
  ep_status status = hash_make(&head, handover->files, handover->frames, head.sha256, error);
  if (status == EP_OK) status = file_write(path, &head, handover, error);
  if (status == EP_OK && chmod(path, 0600) != 0)
    status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  return status;
}

static ep_status damaged(const char *path, ep_error *error) {
  return ep_fail(error, EP_DAMAGED, "%s is damaged, or no handover", path);
}

/* Whether the sizes in the header are those of the file. */
static bool sizes_fit(const header *head, size_t bytes) {
  return head->files_count >= 0 && head->files_count <= FILES_MOST && head->frames_bytes >= 0 &&
         head->frames_bytes <= EP_LIMIT_HANDOVER_FRAMES_BYTES &&
         bytes == sizeof *head + (size_t)head->files_count * sizeof(ep_handover_file) +
                      (size_t)head->frames_bytes;
}

static bool text_ends(const char *text, size_t bytes) {
  return memchr(text, 0, bytes) != NULL;
}

/* Epochs are counted from 1, which those that are looked for rely on. */
static bool epochs_fit(const ep_progress *progress) {
  for (uint32_t i = 0; i < progress->count; i++)
    if (progress->records[i].kind == EP_PROGRESS_EPOCH && progress->records[i].epoch < 1)
      return false;
  return true;
}

/* Frames of this job and attempt, each whole. */
static bool frames_fit(const ep_handover *handover) {
  for (size_t at = 0; at < handover->frames_bytes;) {
    const uint8_t *frame = handover->frames + at;
    const size_t left = handover->frames_bytes - at;
    ep_frame_kind kind;
    ep_progress progress;
    size_t payload = 0;
    if (left < EP_FRAME_HEADER_BYTES || ep_frame_header(frame, &kind, &payload, NULL) != EP_OK ||
        kind != EP_FRAME_PROGRESS || payload % 8 != 0 || payload > left - EP_FRAME_HEADER_BYTES ||
        ep_progress_decode(frame + EP_FRAME_HEADER_BYTES, payload, &progress, NULL) != EP_OK ||
        strcmp(progress.job, handover->job) != 0 || progress.attempt != handover->attempt ||
        !epochs_fit(&progress))
      return false;
    at += EP_FRAME_HEADER_BYTES + payload;
  }
  return true;
}

/* head: checked against its hash. */
static ep_status content_take(const header *head, const uint8_t *content, ep_handover *out,
                              ep_error *error) {
  const size_t files = (size_t)head->files_count * sizeof *out->files;
  *out = (ep_handover){
      .attempt = head->attempt, .whole = head->whole != 0, .epochs_logged = head->epochs_logged};
  memcpy(out->job, head->job, sizeof out->job);
  out->files = malloc(files + 1);
  out->frames = malloc((size_t)head->frames_bytes + 1);
  if (!out->files || !out->frames) {
    ep_handover_deinit(out);
    return ep_fail_memory(error);
  }
  memcpy(out->files, content, files);
  memcpy(out->frames, content + files, (size_t)head->frames_bytes);
  out->files_count = out->files_capacity = (int)head->files_count;
  out->frames_bytes = out->frames_capacity = (size_t)head->frames_bytes;
  return EP_OK;
}

/* Numbers that an attempt may have. */
static bool numbers_fit(const header *head) {
  return head->attempt > 0 && (head->whole == 0 || head->whole == 1) && head->epochs_logged >= 0;
}

ep_status ep_handover_parse(const uint8_t *bytes, size_t count, const char *path, ep_handover *out,
                            ep_error *error) {
  header head;
  char sha256[sizeof head.sha256] = ""; /* with the zeros behind it */
  *out = (ep_handover){0};
  if (count < sizeof head) return damaged(path, error);
  memcpy(&head, bytes, sizeof head);
  if (memcmp(head.magic, MAGIC, sizeof head.magic) != 0 || !sizes_fit(&head, count) ||
      !text_ends(head.version, sizeof head.version) || !text_ends(head.job, sizeof head.job))
    return damaged(path, error);
  if (strcmp(head.version, EP_VERSION) != 0)
    return ep_fail(error, EP_UNSUPPORTED, "%s is of epochd %s", path, head.version);
  ep_status status = content_take(&head, bytes + sizeof head, out, error);
  if (status != EP_OK) return status;
  status = hash_make(&head, out->files, out->frames, sha256, error);
  bool sound = status == EP_OK && memcmp(sha256, head.sha256, sizeof sha256) == 0;
  for (int i = 0; sound && i < out->files_count; i++)
    sound = text_ends(out->files[i].name, sizeof out->files[i].name) &&
            text_ends(out->files[i].sha256, sizeof out->files[i].sha256);
  if (status == EP_OK && (!sound || !numbers_fit(&head) || !frames_fit(out)))
    status = damaged(path, error);
  if (status != EP_OK) ep_handover_deinit(out);
  return status;
}

ep_status ep_handover_read(const char *path, ep_handover *out, ep_error *error) {
  struct stat state;
  const size_t most =
      sizeof(header) + FILES_MOST * sizeof(ep_handover_file) + EP_LIMIT_HANDOVER_FRAMES_BYTES;
  *out = (ep_handover){0};
  int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  const bool regular = fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0 &&
                       (size_t)state.st_size <= most;
  uint8_t *bytes = regular ? malloc((size_t)state.st_size) : NULL;
  ep_status status = regular ? EP_OK : damaged(path, error);
  if (regular && !bytes) status = ep_fail_memory(error);
  for (ssize_t got, at = 0; status == EP_OK && at < state.st_size; at += got) {
    got = read(file, bytes + at, (size_t)(state.st_size - at));
    if (got <= 0) status = ep_fail(error, EP_IO, "%s cannot be read", path);
  }
  close(file);
  if (status == EP_OK) status = ep_handover_parse(bytes, (size_t)state.st_size, path, out, error);
  free(bytes);
  return status;
}

void ep_handover_deinit(ep_handover *handover) {
  free(handover->files);
  free(handover->frames);
  *handover = (ep_handover){0};
}
