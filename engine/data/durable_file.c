#include "engine/data/durable_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/sha256.h"

enum { BUFFER_BYTES = 1 << 16, HASHED_BESIDE_BYTES = 1 << 20, PIECE_BYTES = 8 << 20 };

struct ep_durable_file {
  int file;
  crypto_hash_sha256_state hash;
  int64_t bytes;
  size_t used;
  char path[PATH_MAX], temporary[PATH_MAX];
  uint8_t buffer[BUFFER_BYTES];
};

ep_status ep_file_write_all(int file, const void *bytes, size_t count, ep_error *error) {
  const uint8_t *at = bytes;
  while (count > 0) {
    ssize_t written = write(file, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ep_fail(error, EP_IO, "writing: %s", strerror(errno));
    at += written;
    count -= (size_t)written;
  }
  return EP_OK;
}

ep_status ep_durable_folder_sync(const char *folder, ep_error *error) {
  int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "%s: %s", folder, strerror(errno));
  ep_status status = EP_OK;
  if (fsync(file) != 0) status = ep_fail(error, EP_IO, "%s: fsync: %s", folder, strerror(errno));
  close(file);
  return status;
}

ep_status ep_durable_file_create(const char *path, ep_durable_file **out, ep_error *error) {
  *out = NULL;
  ep_durable_file *file = malloc(sizeof *file);
  if (!file) return ep_fail(error, EP_NO_MEMORY, "no memory to write %s", path);
  int length = snprintf(file->temporary, sizeof file->temporary, "%s.tmp", path);
  if (length < 0 || length >= PATH_MAX) {
    free(file);
    return ep_fail(error, EP_IO, "a path of %d bytes is too long", length);
  }
  memcpy(file->path, path, strlen(path) + 1);
  file->file = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file->file < 0) {
    ep_status status = ep_fail(error, EP_IO, "%s: %s", file->temporary, strerror(errno));
    free(file);
    return status;
  }
  crypto_hash_sha256_init(&file->hash);
  file->bytes = 0;
  file->used = 0;
  *out = file;
  return EP_OK;
}

static ep_status flush(ep_durable_file *file, ep_error *error) {
  ep_status status = ep_file_write_all(file->file, file->buffer, file->used, error);
  file->used = 0;
  return status;
}

static ep_status sync_fail(const ep_durable_file *file, ep_error *error) {
  return ep_fail(error, EP_IO, "%s: fsync: %s", file->temporary, strerror(errno));
}

/* Has the kernel write, or end writing, what it holds of the file. No promise, which is fsync's;
 * but a report of a failure is made only once, and must not be lost. */
static ep_status write_back(const ep_durable_file *file, unsigned flags, ep_error *error) {
  if (sync_file_range(file->file, 0, 0, flags) == 0) return EP_OK;
  bool failed = errno == EIO || errno == ENOSPC || errno == EDQUOT;
  return failed ? sync_fail(file, error) : EP_OK; /* a file system that has no such thing */
}

/* Much at once is hashed while it is written, which takes as long, and the disk begins with what is
 * there. */
typedef struct {
  crypto_hash_sha256_state *state;
  const void *bytes;
  size_t count;
} hashing;

static void *hash_run(void *context) {
  const hashing *job = context;
  ep_sha256_update(job->state, job->bytes, job->count);
  return NULL;
}

static ep_status large_write(ep_durable_file *file, const void *bytes, size_t count,
                             ep_error *error) {
  hashing job = {&file->hash, bytes, count};
  pthread_t thread;
  bool threaded =
      count >= HASHED_BESIDE_BYTES && pthread_create(&thread, NULL, hash_run, &job) == 0;
  ep_status status = EP_OK;
  for (size_t at = 0; at < count && !status; at += PIECE_BYTES) {
    size_t piece = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
    status = ep_file_write_all(file->file, (const uint8_t *)bytes + at, piece, error);
    if (!status && piece == PIECE_BYTES) status = write_back(file, SYNC_FILE_RANGE_WRITE, error);
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
  if (status) return status;
  if (count > BUFFER_BYTES) return large_write(file, bytes, count, error);
  ep_sha256_update(&file->hash, bytes, count);
  memcpy(file->buffer + file->used, bytes, count);
  file->used += count;
  return EP_OK;
}

/* Every byte in the file; *sha256 and *bytes say what was written. */
static ep_status complete(ep_durable_file *file, char sha256[65], int64_t *bytes, ep_error *error) {
  ep_status status = flush(file, error);
  if (status) return status;
  if (sha256) ep_sha256_final(&file->hash, sha256);
  if (bytes) *bytes = file->bytes;
  return EP_OK;
}

/* All have their blocks before the first fsync: then its journal entry is the others' as well. */
static ep_status group_sync(const ep_durable_group *group, ep_error *error) {
  const unsigned all =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  ep_status status = EP_OK;
  for (int i = 0; group->count > 1 && i < group->count && !status; i++)
    status = write_back(group->file[i], all, error);
  for (int i = 0; i < group->count && !status; i++)
    if (fsync(group->file[i]->file) != 0) status = sync_fail(group->file[i], error);
  return status;
}

static ep_status folder_of_sync(const ep_durable_file *file, ep_error *error) {
  char folder[PATH_MAX];
  memcpy(folder, file->path, sizeof folder);
  char *slash = strrchr(folder, '/');
  if (!slash)
    memcpy(folder, ".", 2);
  else
    slash[slash == folder] = 0; /* "/name" lies in "/" */
  return ep_durable_folder_sync(folder, error);
}

ep_status ep_durable_group_take(ep_durable_group *group, ep_durable_file *file, char sha256[65],
                                int64_t *bytes, ep_error *error) {
  assert(group->count < EP_DURABLE_GROUP_MOST);
  ep_status status = complete(file, sha256, bytes, error);
  if (!status) status = write_back(file, SYNC_FILE_RANGE_WRITE, error);
  if (status)
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

ep_status ep_durable_group_commit(ep_durable_group *group, ep_error *error) {
  ep_status status = group_sync(group, error);
  for (int i = 0; i < group->count && !status; i++) {
    const ep_durable_file *file = group->file[i];
    if (rename(file->temporary, file->path) != 0)
      status = ep_fail(error, EP_IO, "%s: rename: %s", file->path, strerror(errno));
  }
  if (group->count > 0 && !status) status = folder_of_sync(group->file[0], error);
  for (int i = 0; i < group->count && !status; i++) {
    close(group->file[i]->file);
    free(group->file[i]);
  }
  if (status)
    ep_durable_group_abandon(group);
  else
    group->count = 0;
  return status;
}

void ep_durable_group_abandon(ep_durable_group *group) {
  for (int i = 0; i < group->count; i++) ep_durable_file_abandon(group->file[i]);
  group->count = 0;
}

ep_status ep_durable_file_commit(ep_durable_file *file, char sha256[65], int64_t *bytes,
                                 ep_error *error) {
  ep_durable_group alone = {{file}, 1};
  ep_status status = complete(file, sha256, bytes, error);
  if (!status) return ep_durable_group_commit(&alone, error);
  ep_durable_file_abandon(file);
  return status;
}

void ep_durable_file_abandon(ep_durable_file *file) {
  if (!file) return;
  close(file->file);
  unlink(file->temporary);
  free(file);
}
