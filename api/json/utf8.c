#include "api/json/utf8.h"

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

size_t ep_utf8_write(uint32_t code, char *out) {
  static const uint8_t heads[] = {0, 0xC0, 0xE0, 0xF0};
  size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out[0] = (char)(heads[more] | code >> 6 * more);
  for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3F));
  return more + 1;
}

bool ep_utf8_valid(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes;) {
    size_t length = ep_utf8_character(text + i, bytes - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

static uint32_t code_point(const char *text, size_t length) {
  const uint8_t *at = (const uint8_t *)text;
  uint32_t code = length == 1 ? at[0] : at[0] & (0x7FU >> length);
  for (size_t i = 1; i < length; i++) code = code << 6 | (at[i] & 0x3FU);
  return code;
}

/* From first to last, both included. */
static const struct {
  uint32_t first, last;
} HIDDEN[] = {{0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x034F, 0x034F},
              {0x0600, 0x0605},   {0x061C, 0x061C},   {0x06DD, 0x06DD},   {0x070F, 0x070F},
              {0x0890, 0x0891},   {0x08E2, 0x08E2},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
              {0x180E, 0x180E},   {0x200B, 0x200B},   {0x200E, 0x200F},   {0x2028, 0x202E},
              {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
              {0xFFF0, 0xFFFB},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F},
              {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool ep_utf8_shows(const char *text, size_t bytes) {
  for (size_t at = 0, length; at < bytes; at += length) {
    length = ep_utf8_character(text + at, bytes - at);
    if (length == 0) return false;
    const uint32_t code = code_point(text + at, length);
    for (size_t i = 0; i < sizeof HIDDEN / sizeof *HIDDEN; i++)
      if (code >= HIDDEN[i].first && code <= HIDDEN[i].last) return false;
  }
  return true;
}
