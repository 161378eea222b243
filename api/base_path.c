#include "api/base_path.h"

#include <stdio.h>
#include <string.h>

static char base[EP_BASE_PATH_BYTES];

bool ep_base_path_valid(const char *path) {
  static const char SEGMENT[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  if (!*path || strlen(path) >= EP_BASE_PATH_BYTES) return false;
  while (*path) {
    if (*path++ != '/') return false;
    size_t bytes = strspn(path, SEGMENT);
    if (bytes == 0 || (bytes <= 2 && strspn(path, ".") >= bytes)) return false;
    path += bytes;
  }
  return true;
}

void ep_base_path_set(const char *path) {
  snprintf(base, sizeof base, "%s", path);
}

const char *ep_base_path(void) {
  return base;
}
