#include "engine/files/durable_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "engine/files/disk_wait.h"
#include "engine/files/free_space.h"
#include "engine/files/path.h"

enum { BUFFER_BYTES = 1 << 16, HASHED_BESIDE_BYTES = 1 << 20, PIECE_BYTES = 8 << 20 };

struct ep_durable_file {
  int file;
  ep_sha256 hash;
  int64_t bytes;
  size_t used;
  ep_cancellation stop;
  char path[EP_PATH_BYTES], temporary[EP_PATH_BYTES];
  uint8_t buffer[BUFFER_BYTES];
};

ep_status ep_file_write_all(int file, const void *bytes, size_t count, ep_error *error) {
  const uint8_t *at = bytes;
  ep_status status = ep_free_space_check(file, (int64_t)count, error);
  if (status != EP_OK) return status;
  while (count > 0) {
    ep_disk_wait_begin();
    ssize_t written = write(file, at, count);
    ep_disk_wait_end();
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return ep_fail(error, ep_status_from_errno(errno), "writing: %s", strerror(errno));
    at += written;
    count -= (size_t)written;
  }
  return EP_OK;
}

ep_status ep_file_rewrite(int file, ep_error *error) {
  uint8_t pages[BUFFER_BYTES];
  ssize_t got;
  for (off_t at = 0; (got = pread(file, pages, sizeof pages, at)) != 0; at += got > 0 ? got : 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || pwrite(file, pages, (size_t)got, at) != got)
      return ep_fail(error, ep_status_from_errno(errno), "writing again: %s", strerror(errno));
  }
  return EP_OK;
}

ep_status ep_durable_folder_sync(const char *folder, ep_error *error) {
  return ep_disk_waits(&(ep_disk_wait){-1, folder}, 1, error);
}

ep_status ep_durable_file_create(const char *path, ep_durable_file **out, ep_error *error) {
  *out = NULL;
  ep_durable_file *file = malloc(sizeof *file);
  if (!file) return ep_fail_memory(error);
  int length = snprintf(file->temporary, sizeof file->temporary, "%s" EP_TEMPORARY_SUFFIX, path);
  if (length < 0 || length >= EP_PATH_BYTES) {
    free(file);
    return ep_fail(error, EP_IO, "a path of %d bytes is too long", length);
  }
  memcpy(file->path, path, strlen(path) + 1);
  ep_status status = ep_sha256_init(&file->hash, error);
  if (status != EP_OK) {
    free(file);
    return status;
  }
  file->file = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file->file < 0) {
    status =
        ep_fail(error, ep_status_from_errno(errno), "%s: %s", file->temporary, strerror(errno));
    ep_sha256_deinit(&file->hash);
    free(file);
    return status;
  }
  file->bytes = 0;
  file->used = 0;
  file->stop = (ep_cancellation){0};
  *out = file;
  return EP_OK;
}

void ep_durable_file_heed(ep_durable_file *file, const ep_cancellation *stop) {
  file->stop = *stop;
}

static ep_status stop_check(const ep_durable_file *file, ep_error *error) {
  if (!file->stop.asked || !file->stop.asked(file->stop.context)) return EP_OK;
  return ep_fail(error, EP_CANCELLED, "the client disconnected");
}

static ep_status flush(ep_durable_file *file, ep_error *error) {
  ep_status status = stop_check(file, error);
  if (status != EP_OK) return status;
  status = ep_file_write_all(file->file, file->buffer, file->used, error);
  file->used = 0;
  return status;
}

static ep_status sync_fail(const ep_durable_file *file, ep_error *error) {
  return ep_fail(error, ep_status_from_errno(errno), "%s: fsync: %s", file->temporary,
                 strerror(errno));
}

/* Has the kernel begin to write what it holds of the file. No promise, which is fsync's; but a
 * report of a failure is made only once, and must not be lost. */
static ep_status write_begin(const ep_durable_file *file, ep_error *error) {
  ep_disk_wait_begin();
  int failure = sync_file_range(file->file, 0, 0, SYNC_FILE_RANGE_WRITE) == 0 ? 0 : errno;
  ep_disk_wait_end();
  if (failure == 0) return EP_OK;
  errno = failure;
  bool failed = failure == EIO || failure == ENOSPC || failure == EDQUOT;
  return failed ? sync_fail(file, error) : EP_OK; /* a file system that has no such thing */
}

/* Much at once is hashed while it is written, which takes as long, and the disk begins with what is
 * there. */
typedef struct {
  ep_sha256 *hash;
  const void *bytes;
  size_t count;
} hashing;

static void *hash_run(void *context) {
  const hashing *job = context;
  ep_sha256_update(job->hash, job->bytes, job->count);
  return NULL;
}

static ep_status large_write(ep_durable_file *file, const void *bytes, size_t count,
                             ep_error *error) {
  hashing job = {&file->hash, bytes, count};
  pthread_t thread;
  bool threaded =
      count >= HASHED_BESIDE_BYTES && pthread_create(&thread, NULL, hash_run, &job) == 0;
  ep_status status = EP_OK;
  for (size_t at = 0; at < count && status == EP_OK; at += PIECE_BYTES) {
    size_t piece = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
    status = stop_check(file, error);
    if (status == EP_OK)
      status = ep_file_write_all(file->file, (const uint8_t *)bytes + at, piece, error);
    if (status == EP_OK && piece == PIECE_BYTES) status = write_begin(file, error);
  }
  if (threaded)
    pthread_join(thread, NULL);
  else
    hash_run(&job);
  return status;
}

ep_status ep_durable_file_write(ep_durable_file *file, const void *bytes, size_t count,
                                ep_error *error) {
  ep_status status = EP_OK;
  file->bytes += (int64_t)count;
  if (count > BUFFER_BYTES - file->used) status = flush(file, error);
  if (status != EP_OK) return status;
  if (count > BUFFER_BYTES) return large_write(file, bytes, count, error);
  ep_sha256_update(&file->hash, bytes, count);
  memcpy(file->buffer + file->used, bytes, count);
  file->used += count;
  return EP_OK;
}

ep_status ep_durable_file_sync(ep_durable_file *file, ep_error *error) {
  ep_status status = flush(file, error);
  if (status != EP_OK) return status;
  return ep_disk_waits(&(ep_disk_wait){file->file, file->temporary}, 1, error);
}

/* Every byte in the file; *sha256 and *bytes say what was written. */
static ep_status complete(ep_durable_file *file, char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes,
                          ep_error *error) {
  ep_status status = flush(file, error);
  if (status != EP_OK) return status;
  if (sha256) ep_sha256_final(&file->hash, sha256);
  if (bytes) *bytes = file->bytes;
  return EP_OK;
}

/* The folder that a file lies in. */
static void folder_of(const ep_durable_file *file, char folder[EP_PATH_BYTES]) {
  memcpy(folder, file->path, EP_PATH_BYTES);
  char *slash = strrchr(folder, '/');
  if (!slash)
    memcpy(folder, ".", 2);
  else
    slash[slash == folder] = 0; /* "/name" lies in "/" */
}

static void handle_close(ep_durable_file *file) {
  close(file->file);
  ep_sha256_deinit(&file->hash);
  free(file);
}

static ep_status file_place(const ep_durable_file *file, ep_error *error) {
  ep_disk_wait_begin();
  int failure = rename(file->temporary, file->path) == 0 ? 0 : errno;
  ep_disk_wait_end();
  if (failure == 0) return EP_OK;
  return ep_fail(error, ep_status_from_errno(failure), "%s: rename: %s", file->path,
                 strerror(failure));
}

ep_status ep_durable_group_take(ep_durable_group *group, ep_durable_file *file,
                                char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error) {
  assert(group->count < EP_DURABLE_GROUP_MOST);
  ep_status status = complete(file, sha256, bytes, error);
  if (status == EP_OK) status = write_begin(file, error);
  if (status != EP_OK)
    ep_durable_file_abandon(file);
  else
    group->file[group->count++] = file;
  return status;
}

void ep_durable_group_move(ep_durable_group *from, ep_durable_group *to) {
  assert(from->count + to->count <= EP_DURABLE_GROUP_MOST);
  for (int i = 0; i < from->count; i++) to->file[to->count++] = from->file[i];
  from->count = 0;
}

/* All files and their folder, waited for at the same time. */
static ep_status group_sync(const ep_durable_group *group, ep_error *error) {
  ep_disk_wait waits[EP_DURABLE_GROUP_MOST + 1];
  char folder[EP_PATH_BYTES];
  for (int i = 0; i < group->count; i++)
    waits[i] = (ep_disk_wait){group->file[i]->file, group->file[i]->path};
  folder_of(group->file[0], folder);
  waits[group->count] = (ep_disk_wait){-1, folder};
  return ep_disk_waits(waits, group->count + 1, error);
}

ep_status ep_durable_group_commit(ep_durable_group *group, ep_error *error) {
  ep_status status = EP_OK;
  int placed = 0;
  if (group->count == 0) return EP_OK;
  while (placed < group->count && status == EP_OK) {
    status = file_place(group->file[placed], error);
    if (status == EP_OK) placed++;
  }
  if (status == EP_OK) status = group_sync(group, error);
  for (int i = 0; i < placed; i++) {
    if (status != EP_OK) unlink(group->file[i]->path);
    handle_close(group->file[i]);
  }
  for (int i = placed; i < group->count; i++) ep_durable_file_abandon(group->file[i]);
  group->count = 0;
  return status;
}

void ep_durable_group_abandon(ep_durable_group *group) {
  for (int i = 0; i < group->count; i++) ep_durable_file_abandon(group->file[i]);
  group->count = 0;
}

ep_status ep_durable_file_commit(ep_durable_file *file, char sha256[EP_SHA256_HEX_BYTES],
                                 int64_t *bytes, ep_error *error) {
  char folder[EP_PATH_BYTES];
  ep_status status = complete(file, sha256, bytes, error);
  if (status == EP_OK)
    status = ep_disk_waits(&(ep_disk_wait){file->file, file->temporary}, 1, error);
  if (status == EP_OK) status = file_place(file, error);
  if (status != EP_OK) {
    ep_durable_file_abandon(file);
    return status;
  }
  folder_of(file, folder);
  handle_close(file);
  return ep_durable_folder_sync(folder, error);
}

void ep_durable_file_abandon(ep_durable_file *file) {
  if (!file) return;
  unlink(file->temporary);
  handle_close(file);
}
