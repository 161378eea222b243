#include "engine/files/excerpt.h"

#include <stdint.h>
#include <string.h>

#include "api/json/utf8.h"

enum { SHOWN_BYTES = 40 };

const char *ep_excerpt(char out[EP_EXCERPT_BYTES], const char *text, size_t bytes) {
  size_t used = 0, i = 0;
  while (i < bytes) {
    size_t length = ep_utf8_character(text + i, bytes - i);
    bool shown = length > 1 || (length == 1 && (uint8_t)text[i] >= 0x20 && text[i] != 0x7F);
    if (length == 0) length = 1;
    if (used + length > SHOWN_BYTES) break;
    if (shown)
      memcpy(out + used, text + i, length);
    else
      out[used] = '?';
    used += shown ? length : 1;
    i += length;
  }
  if (i < bytes) {
    memcpy(out + used, "…", 3);
    used += 3;
  }
  out[used] = 0;
  return out;
}
