#include "api/json/utf8.h"

#include <stdint.h>

size_t ep_utf8_character(const char *text, size_t bytes) {
  const uint8_t *at = (const uint8_t *)text;
  if (bytes == 0) return 0;
  if (at[0] < 0x80) return 1;
  size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
  if (at[0] < 0xC2 || at[0] > 0xF4 || length > bytes) return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  if (at[0] == 0xE0 && at[1] < 0xA0) return 0; /* overlong */
  if (at[0] == 0xED && at[1] > 0x9F) return 0; /* surrogates */
  if (at[0] == 0xF0 && at[1] < 0x90) return 0; /* overlong */
  if (at[0] == 0xF4 && at[1] > 0x8F) return 0; /* beyond U+10FFFF */
  return length;
}

bool ep_utf8_valid(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes;) {
    size_t length = ep_utf8_character(text + i, bytes - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}
