#include "engine/files/path.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

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
