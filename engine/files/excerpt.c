#include "engine/files/excerpt.h"

#include <stdint.h>
#include <string.h>

#include "api/json/utf8.h"

enum { SHOWN_BYTES = 40, SHOWN_PATH_BYTES = 180 };

/* At most `most` bytes of the text, and "…" where there are more. */
static void show(char *out, size_t most, const char *text, size_t bytes) {
  size_t used = 0, i = 0;
  while (i < bytes) {
    size_t length = ep_utf8_character(text + i, bytes - i);
    bool shown = length > 1 || (length == 1 && (uint8_t)text[i] >= 0x20 && text[i] != 0x7F);
    if (length == 0) length = 1;
    if (used + length > most) break;
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
}

const char *ep_excerpt(char out[EP_EXCERPT_BYTES], const char *text, size_t bytes) {
  show(out, SHOWN_BYTES, text, bytes);
  return out;
}

const char *ep_excerpt_path(char out[EP_EXCERPT_PATH_BYTES], const char *path, size_t bytes) {
  size_t skipped = bytes > SHOWN_PATH_BYTES ? bytes - SHOWN_PATH_BYTES : 0;
  while (skipped > 0 && skipped < bytes && ((uint8_t)path[skipped] & 0xC0) == 0x80) skipped++;
  if (skipped > 0) memcpy(out, "…", 3);
  show(out + (skipped > 0 ? 3 : 0), SHOWN_PATH_BYTES, path + skipped, bytes - skipped);
  return out;
}
