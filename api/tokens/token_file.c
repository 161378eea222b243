/* A token file on disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/tokens/secret_file.h"
#include "api/tokens/tokens.h"

enum { TOKEN_PATH_BYTES = 4096 };

/* All of the file, which ends in 0; the caller's. */
static ep_status text_read(int file, const char *path, char **out, size_t *bytes, ep_error *error) {
  char *text = malloc(EP_LIMIT_TOKEN_FILE_BYTES + 1);
  ssize_t count = 1;
  *bytes = 0;
  if (!text) return ep_fail_memory(error);
  while (count != 0 && *bytes <= EP_LIMIT_TOKEN_FILE_BYTES) {
    count = read(file, text + *bytes, EP_LIMIT_TOKEN_FILE_BYTES + 1 - *bytes);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) *bytes += (size_t)count;
  }
  ep_status status = EP_OK;
  if (count < 0)
    status =
        ep_fail(error, EP_IO, "the token file %.300s cannot be read: %s", path, strerror(errno));
  else if (*bytes > EP_LIMIT_TOKEN_FILE_BYTES)
    status = ep_fail(error, EP_INVALID, "the token file %.300s is larger than %d bytes", path,
                     EP_LIMIT_TOKEN_FILE_BYTES);
  if (status == EP_OK)
    text[*bytes] = 0;
  else
    free(text);
  *out = status == EP_OK ? text : NULL;
  return status;
}

ep_status ep_tokens_read(const char *path, ep_token_list *out, char **text, ep_error *error) {
  char *read = NULL;
  size_t bytes = 0;
  *out = (ep_token_list){0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO,
                   "the token file %.300s cannot be read: %s", path, strerror(errno));
  ep_status status = ep_secret_file_check(file, "token file", path, error);
  if (status == EP_OK) status = text_read(file, path, &read, &bytes, error);
  close(file);
  if (status == EP_OK) status = ep_tokens_parse(read, bytes, path, out, error);
  if (status == EP_OK && text) {
    *text = read;
    return EP_OK;
  }
  if (read) explicit_bzero(read, bytes);
  free(read);
  return status;
}

ep_status ep_tokens_lock(const char *path, int *lock, ep_error *error) {
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  if (!folder) return ep_fail_memory(error);
  *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  if (*lock >= 0 && flock(*lock, LOCK_EX) == 0) return EP_OK;
  int number = errno;
  if (*lock >= 0) close(*lock);
  return ep_fail(error, EP_IO, "the folder of %.300s: %s", path, strerror(number));
}

void ep_tokens_unlock(int lock) {
  close(lock);
}

ep_status ep_tokens_write(const char *path, const char *text, size_t bytes, ep_error *error) {
  char temporary[TOKEN_PATH_BYTES];
  if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
    return ep_fail(error, EP_INVALID, "the token file's path is longer than %d bytes",
                   TOKEN_PATH_BYTES);
  int file = mkostemp(temporary, O_CLOEXEC); /* 0600 */
  if (file < 0)
    return ep_fail(error, EP_IO, "%.300s cannot be written: %s", temporary, strerror(errno));
  struct stat before;
  FILE *stream = fdopen(file, "w");
  /* the daemon's user may own it, where root changes it */
  bool written = stream && fwrite(text, 1, bytes, stream) == bytes && fflush(stream) == 0 &&
                 fsync(file) == 0 &&
                 (stat(path, &before) != 0 || geteuid() != 0 ||
                  fchown(file, before.st_uid, before.st_gid) == 0) &&
                 rename(temporary, path) == 0;
  int number = errno;
  if (stream)
    fclose(stream);
  else
    close(file);
  if (written) return EP_OK;
  unlink(temporary);
  return ep_fail(error, EP_IO, "%.300s cannot be written: %s", path, strerror(number));
}
