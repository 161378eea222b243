#include "api/arguments/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY_BYTES = 65536 };

/* Reads until the file's end, or beyond max_bytes; false when memory is short. *out is the
 * caller's (free) in both cases. */
static bool file_take(FILE *file, size_t max_bytes, char **out, size_t *out_bytes) {
  size_t used = 0, capacity = 0, count;
  do {
    if (capacity - used < 2) {
      capacity = capacity ? capacity * 2 : FIRST_CAPACITY_BYTES;
      char *larger = realloc(*out, capacity);
      if (!larger) return false;
      *out = larger;
    }
    count = fread(*out + used, 1, capacity - used - 1, file);
    used += count;
  } while (count > 0 && used <= max_bytes);
  (*out)[used] = 0;
  *out_bytes = used;
  return true;
}

ep_status ep_input_read(const char *path, size_t max_bytes, char **out, size_t *out_bytes,
                        ep_error *error) {
  ep_status status = EP_OK;
  bool piped = strcmp(path, "-") == 0;
  const char *name = piped ? "standard input" : path;
  FILE *file = piped ? stdin : fopen(path, "re");
  *out = NULL;
  if (!*path) return ep_fail(error, EP_INVALID, "the file name is empty");
  if (!file) return ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", path, strerror(errno));
  if (!file_take(file, max_bytes, out, out_bytes))
    status = ep_fail_memory(error);
  else if (ferror(file))
    status = ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", name, strerror(errno));
  else if (*out_bytes > max_bytes)
    status = ep_fail(error, EP_TOO_LARGE, "%.300s is larger than %zu bytes", name, max_bytes);
  if (!piped) fclose(file);
  if (status != EP_OK) {
    free(*out);
    *out = NULL;
  }
  return status;
}
