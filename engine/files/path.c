#include "engine/files/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

ep_status ep_path_join(char *path, ep_error *error, const char *base, ...) {
  va_list names;
  int used = snprintf(path, EP_PATH_BYTES, "%s", base);
  va_start(names, base);
  for (const char *name = va_arg(names, const char *); name && used >= 0 && used < EP_PATH_BYTES;
       name = va_arg(names, const char *))
    used += snprintf(path + used, (size_t)(EP_PATH_BYTES - used), "/%s", name);
  va_end(names);
  if (used < 0 || used >= EP_PATH_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "a path below %.100s… is too long", base);
  return EP_OK;
}

ep_status ep_path_next(DIR *folder, const char *path, struct dirent **entry, ep_error *error) {
  do {
    errno = 0;
    *entry = readdir(folder);
  } while (*entry && (strcmp((*entry)->d_name, ".") == 0 || strcmp((*entry)->d_name, "..") == 0));
  if (*entry || errno == 0) return EP_OK;
  return ep_fail(error, EP_IO, "%s cannot be read: %s", path, strerror(errno));
}
