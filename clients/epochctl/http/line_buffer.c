#include "clients/epochctl/http/line_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

bool ep_line_buffer_add(ep_line_buffer *line, const char *bytes, size_t count, ep_line_take take,
                        void *context) {
  if (!line->text) line->text = malloc(EP_LIMIT_EVENT_BYTES + 1);
  if (!line->text) return false;
  while (count > 0) {
    if (line->bytes == 0 && *bytes == ' ') { /* a heartbeat */
      bytes++;
      count--;
      continue;
    }
    const char *end = memchr(bytes, '\n', count);
    size_t part = end ? (size_t)(end - bytes) : count;
    if (part > EP_LIMIT_EVENT_BYTES - line->bytes) return false;
    memcpy(line->text + line->bytes, bytes, part);
    line->bytes += part;
    bytes += part + (end != NULL);
    count -= part + (end != NULL);
    if (!end) return true;
    size_t length = line->bytes;
    line->text[length] = 0;
    line->bytes = 0;
    if (length > 0 && !take(context, line->text, length)) return false;
  }
  return true;
}

void ep_line_buffer_deinit(ep_line_buffer *line) {
  free(line->text);
  *line = (ep_line_buffer){0};
}
