/* The files that rows of pictures lie in on their way from the process that reads them: the values
 * as they are in memory, and the names, each with its zero. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/data/inputs/picture_rows.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"

static const char VALUES_FILE[] = "values", NAMES_FILE[] = "names";

static ep_status file_open(const char *folder, const char *name, int flags, int *out,
                           ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, folder, name, NULL);
  if (status != EP_OK) return status;
  *out = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (*out >= 0) return EP_OK;
  return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : ep_status_from_errno(errno), "%s: %s",
                 name, strerror(errno));
}

static ep_status names_write(const char *folder, const ep_picture_rows *rows, ep_error *error) {
  int file;
  ep_status status = file_open(folder, NAMES_FILE, O_WRONLY | O_CREAT | O_EXCL, &file, error);
  if (status != EP_OK) return status;
  for (int64_t i = 0; i < rows->count && status == EP_OK; i++)
    status = ep_file_write_all(file, rows->name[i], strlen(rows->name[i]) + 1, error);
  close(file);
  return status;
}

ep_status ep_picture_rows_write(const char *folder, const ep_picture_rows *rows, int64_t values,
                                ep_error *error) {
  int file;
  ep_status status = file_open(folder, VALUES_FILE, O_WRONLY | O_CREAT | O_EXCL, &file, error);
  if (status != EP_OK) return status;
  status =
      ep_file_write_all(file, rows->x, (size_t)(rows->count * values) * sizeof *rows->x, error);
  close(file);
  return status == EP_OK && rows->name ? names_write(folder, rows, error) : status;
}

/* All of a file: *out, the caller's, has a zero behind it. */
static ep_status file_read(const char *folder, const char *name, char **out, size_t *bytes,
                           ep_error *error) {
  int file;
  struct stat about;
  *out = NULL;
  ep_status status = file_open(folder, name, O_RDONLY, &file, error);
  if (status != EP_OK) return status;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > EP_LIMIT_PREDICT_BYTES)
    status = ep_fail(error, EP_INTERNAL, "%s was not written by the picture reader", name);
  if (status == EP_OK && !(*out = malloc((size_t)about.st_size + 1)))
    status = ep_fail_memory(error);
  *bytes = 0;
  while (status == EP_OK && *bytes < (size_t)about.st_size) {
    ssize_t count = read(file, *out + *bytes, (size_t)about.st_size - *bytes);
    if (count > 0)
      *bytes += (size_t)count;
    else if (count == 0 || errno != EINTR)
      status = ep_fail(error, EP_IO, "%s cannot be read", name);
  }
  close(file);
  if (status == EP_OK) (*out)[*bytes] = 0;
  if (status != EP_OK) {
    free(*out);
    *out = NULL;
  }
  return status;
}

/* The names of text: [bytes], ends with 0. */
static ep_status names_split(const char *text, size_t bytes, ep_picture_rows *out,
                             ep_error *error) {
  const char *at = text, *end = text + bytes;
  out->name = calloc((size_t)out->count, sizeof *out->name);
  if (!out->name) return ep_fail_memory(error);
  for (int64_t i = 0; i < out->count; i++) {
    if (at >= end) return ep_fail(error, EP_INTERNAL, "fewer names than pictures");
    out->name[i] = strdup(at);
    if (!out->name[i]) return ep_fail_memory(error);
    at += strlen(at) + 1;
  }
  return EP_OK;
}

static ep_status names_load(const char *folder, ep_picture_rows *out, ep_error *error) {
  char *text;
  size_t bytes;
  ep_error why = {0};
  ep_status status = file_read(folder, NAMES_FILE, &text, &bytes, &why);
  if (status == EP_NOT_FOUND) return EP_OK; /* one picture */
  if (status != EP_OK) return ep_fail(error, status, "%s", why.message);
  status = names_split(text, bytes, out, error);
  free(text);
  return status;
}

ep_status ep_picture_rows_load(const char *folder, int64_t values, ep_picture_rows *out,
                               ep_error *error) {
  char *x;
  size_t bytes, row_bytes = (size_t)values * sizeof *out->x;
  *out = (ep_picture_rows){0};
  ep_status status = file_read(folder, VALUES_FILE, &x, &bytes, error);
  if (status != EP_OK) return status;
  out->x = (double *)(void *)x;
  out->count = (int64_t)(bytes / row_bytes);
  if (bytes == 0 || bytes % row_bytes != 0)
    status = ep_fail(error, EP_INTERNAL, "the pictures that were read are not a row");
  if (status == EP_OK) status = names_load(folder, out, error);
  if (status != EP_OK) ep_picture_rows_deinit(out);
  return status;
}
