#include "engine/data/durable_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

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

ep_status ep_durable_file_write(ep_durable_file *file, const void *bytes, size_t count,
                                ep_error *error) {
  ep_status status = EP_OK;
  crypto_hash_sha256_update(&file->hash, bytes, count);
  file->bytes += (int64_t)count;
  if (count > BUFFER_BYTES - file->used) status = flush(file, error);
  if (status) return status;
  if (count > BUFFER_BYTES) return ep_file_write_all(file->file, bytes, count, error);
  memcpy(file->buffer + file->used, bytes, count);
  file->used += count;
  return EP_OK;
}

static ep_status place(ep_durable_file *file, ep_error *error) {
  ep_status status = flush(file, error);
  if (status) return status;
  if (fsync(file->file) != 0)
    return ep_fail(error, EP_IO, "%s: fsync: %s", file->temporary, strerror(errno));
  if (rename(file->temporary, file->path) != 0)
    return ep_fail(error, EP_IO, "%s: rename: %s", file->path, strerror(errno));
  char folder[PATH_MAX];
  memcpy(folder, file->path, sizeof folder);
  char *slash = strrchr(folder, '/');
  if (!slash)
    memcpy(folder, ".", 2);
  else
    slash[slash == folder] = 0; /* "/name" lies in "/" */
  return ep_durable_folder_sync(folder, error);
}

ep_status ep_durable_file_commit(ep_durable_file *file, char sha256[65], int64_t *bytes,
                                 ep_error *error) {
  ep_status status = place(file, error);
  if (status) {
    ep_durable_file_abandon(file);
    return status;
  }
  uint8_t digest[crypto_hash_sha256_BYTES];
  crypto_hash_sha256_final(&file->hash, digest);
  if (sha256) sodium_bin2hex(sha256, 65, digest, sizeof digest);
  if (bytes) *bytes = file->bytes;
  close(file->file);
  free(file);
  return EP_OK;
}

void ep_durable_file_abandon(ep_durable_file *file) {
  if (!file) return;
  close(file->file);
  unlink(file->temporary);
  free(file);
}
