#include "server/http/messages/range.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool number_read(const char **at, int64_t *out) {
  if (**at < '0' || **at > '9') return false;
  char *stop;
  errno = 0;
  *out = strtoll(*at, &stop, 10);
  if (errno) *out = INT64_MAX; /* beyond every end */
  *at = stop;
  return true;
}

ep_range_kind ep_range_read(const char *header, int64_t size, int64_t *first, int64_t *count) {
  *first = 0;
  *count = size;
  if (!header || strncasecmp(header, "bytes=", 6) != 0 || strchr(header, ','))
    return EP_RANGE_WHOLE;
  const char *at = header + 6;
  int64_t from = 0, to = INT64_MAX;
  bool has_from = number_read(&at, &from);
  if (*at++ != '-') return EP_RANGE_WHOLE;
  bool has_to = number_read(&at, &to);
  if (*at || (!has_from && !has_to) || (has_from && has_to && to < from)) return EP_RANGE_WHOLE;
  if (!has_from) { /* the last `to` bytes */
    if (to == 0 || size == 0) return EP_RANGE_OUTSIDE;
    from = to < size ? size - to : 0;
    to = INT64_MAX;
  }
  if (from >= size) return EP_RANGE_OUTSIDE;
  if (to >= size) to = size - 1;
  *first = from;
  *count = to - from + 1;
  return EP_RANGE_PART;
}
