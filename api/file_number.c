#include "api/file_number.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MOST = 18 }; /* any so many are within 64 bits */

int64_t ep_file_number(const char *prefix, const char *name) {
  const char *digits = name + strlen(prefix);
  if (strncmp(name, prefix, strlen(prefix)) != 0) return -1;
  size_t count = strspn(digits, "0123456789");
  if (count == 0 || count > DIGITS_MOST || strcmp(digits + count, EP_SAFETENSORS_SUFFIX) != 0)
    return -1;
  return strtoll(digits, NULL, 10);
}
