#include "clients/epochctl/http/path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void path_append(char path[EP_REQUEST_PATH_BYTES], const char *text, bool encode) {
  static const char PLAIN[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  size_t used = strlen(path);
  for (; *text; text++) {
    if (used + 4 > EP_REQUEST_PATH_BYTES) {
      *path = 0;
      return;
    }
    if (!encode || strchr(PLAIN, *text))
      path[used++] = *text;
    else
      used += (size_t)snprintf(path + used, 4, "%%%02X", (unsigned char)*text);
    path[used] = 0;
  }
}

void ep_path_make(char path[EP_REQUEST_PATH_BYTES], const char *before, const char *name,
                  const char *after) {
  *path = 0;
  path_append(path, before, false);
  path_append(path, name, true);
  if (*path) path_append(path, after, false);
}

void ep_path_query(char path[EP_REQUEST_PATH_BYTES], const char *name, const char *value) {
  if (!*path) return;
  path_append(path, strchr(path, '?') ? "&" : "?", false);
  if (*path) path_append(path, name, false);
  if (*path) path_append(path, "=", false);
  if (*path) path_append(path, value, true);
}

void ep_path_query_list(char path[EP_REQUEST_PATH_BYTES], const char *name,
                        const char *const *values, int count) {
  ep_path_query(path, name, "");
  for (int i = 0; i < count; i++) {
    if (*path && i > 0) path_append(path, ",", false);
    if (*path) path_append(path, values[i], true);
  }
}
