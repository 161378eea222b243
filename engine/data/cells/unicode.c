#include "engine/data/cells/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Code points below U+0300 neither decompose in NFC nor combine; they begin with a lesser byte. */
enum { FIRST_COMBINING_BYTE = 0xCC };

static bool is_space(utf8proc_int32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  if (code == 0x85) return true;
  utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

/* The bytes of the white space that begins at `at`; 0: there is none. */
static size_t space_bytes(const utf8proc_uint8_t *at, size_t bytes) {
  utf8proc_int32_t code;
  utf8proc_ssize_t length = utf8proc_iterate(at, (utf8proc_ssize_t)bytes, &code);
  return length > 0 && is_space(code) ? (size_t)length : 0;
}

/* The bytes of the last character, where it is white space. */
static size_t last_space_bytes(const utf8proc_uint8_t *text, size_t bytes) {
  size_t length = 1;
  while (length < bytes && length < 4 && (text[bytes - length] & 0xC0) == 0x80) length++;
  return space_bytes(text + bytes - length, length) == length ? length : 0;
}

void ep_text_trim(const char **text, size_t *bytes) {
  size_t length;
  while (*bytes > 0 && (length = space_bytes((const utf8proc_uint8_t *)*text, *bytes)) > 0) {
    *text += length;
    *bytes -= length;
  }
  while (*bytes > 0 && (length = last_space_bytes((const utf8proc_uint8_t *)*text, *bytes)) > 0)
    *bytes -= length;
}

bool ep_text_nfc(const char **text, size_t *bytes, char **owned) {
  *owned = NULL;
  ep_text_trim(text, bytes);
  size_t plain = 0;
  while (plain < *bytes && (unsigned char)(*text)[plain] < FIRST_COMBINING_BYTE) plain++;
  if (plain == *bytes) return true;
  utf8proc_uint8_t *composed = NULL;
  utf8proc_ssize_t count = utf8proc_map((const utf8proc_uint8_t *)*text, (utf8proc_ssize_t)*bytes,
                                        &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (count < 0) return count != UTF8PROC_ERROR_NOMEM;
  if ((size_t)count == *bytes && memcmp(*text, composed, *bytes) == 0) {
    free(composed);
    return true;
  }
  *text = *owned = (char *)composed;
  *bytes = (size_t)count;
  return true;
}

bool ep_text_equals(const char *one, const char *other) {
  const char *text[] = {one, other};
  size_t bytes[] = {strlen(one), strlen(other)};
  char *owned[] = {NULL, NULL};
  if (bytes[0] == bytes[1] && memcmp(one, other, bytes[0]) == 0) return true;
  if (bytes[0] == 0 || bytes[1] == 0) return false; /* a name of spaces is one */
  for (int i = 0; i < 2; i++) ep_text_nfc(&text[i], &bytes[i], &owned[i]);
  bool equal = bytes[0] == bytes[1] && memcmp(text[0], text[1], bytes[0]) == 0;
  for (int i = 0; i < 2; i++) free(owned[i]);
  return equal;
}

size_t ep_text_space_bytes(const char *at, const char *end) {
  size_t left = (size_t)(end - at);
  if (left >= 1 && *at == ' ') return 1;
  if (left >= 2 && memcmp(at, "\xC2\xA0", 2) == 0) return 2;
  return left >= 3 && (memcmp(at, "\xE2\x80\x89", 3) == 0 || memcmp(at, "\xE2\x80\xAF", 3) == 0)
             ? 3
             : 0;
}
