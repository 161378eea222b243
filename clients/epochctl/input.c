#include "clients/epochctl/input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ep_status read_all(FILE *file, const char *path, size_t max_bytes, char **out,
                          size_t *out_bytes, ep_error *error) {
  char *text = NULL;
  size_t used = 0, capacity = 0;
  for (;;) {
    if (capacity - used < 2) {
      size_t larger = capacity ? capacity * 2 : 65536;
      char *more = realloc(text, larger);
      if (!more) {
        free(text);
        return ep_fail(error, EP_NO_MEMORY, "not enough memory to read %.300s", path);
      }
      text = more;
      capacity = larger;
    }
    size_t count = fread(text + used, 1, capacity - used - 1, file);
    used += count;
    if (count == 0 || used > max_bytes) break;
  }
  text[used] = 0;
  *out = text;
  *out_bytes = used;
  if (!ferror(file) && used <= max_bytes) return EP_OK;
  bool broken = ferror(file);
  free(text);
  *out = NULL;
  return broken ? ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", path, strerror(errno))
                : ep_fail(error, EP_TOO_LARGE, "%.300s is larger than %zu bytes", path, max_bytes);
}

ep_status ep_input_read(const char *path, size_t max_bytes, char **out, size_t *out_bytes,
                        ep_error *error) {
  if (strcmp(path, "-") == 0)
    return read_all(stdin, "standard input", max_bytes, out, out_bytes, error);
  FILE *file = fopen(path, "re");
  if (!file) return ep_fail(error, EP_INVALID, "%.300s cannot be read: %s", path, strerror(errno));
  ep_status status = read_all(file, path, max_bytes, out, out_bytes, error);
  fclose(file);
  return status;
}
