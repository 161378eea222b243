#include "clients/epochctl/terminal/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"

/* The code point of the character at `text`, which ends in 0. Returns its bytes; 0 where there is
 * no character. */
static size_t character_decode(const char *text, uint32_t *out) {
  const unsigned char *byte = (const unsigned char *)text;
  size_t count = ep_utf8_character(text, strnlen(text, 4));
  if (count == 0) return 0;
  *out = count == 1 ? byte[0] : byte[0] & (0x7fu >> count);
  for (size_t i = 1; i < count; i++) *out = *out << 6 | (byte[i] & 0x3fu);
  return count;
}

typedef struct {
  uint32_t first, last;
} range;

static bool range_contains(const range *ranges, size_t count, uint32_t value) {
  for (size_t i = 0; i < count; i++)
    if (value >= ranges[i].first && value <= ranges[i].last) return true;
  return false;
}
#define WITHIN(ranges, value) range_contains(ranges, sizeof ranges / sizeof ranges[0], value)

/* Controls of C0 and C1, line and paragraph separators, and changes of the writing direction. */
static const range HARMFUL[] = {{0, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c},
                                {0x200e, 0x200f}, {0x2028, 0x202e},  {0x2066, 0x2069},
                                {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
/* Combining marks, joiners, variation selectors. */
static const range NARROW[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                               {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200d},
                               {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};
/* East Asian Wide and Fullwidth of Unicode's annex 11: the blocks that are wide as a whole. */
static const range WIDE[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

static int columns_count(uint32_t value) {
  if (WITHIN(NARROW, value)) return 0;
  return WITHIN(WIDE, value) ? 2 : 1;
}

/* Bytes of the longest start of `text` within `limit` columns; *width: its columns. */
static size_t start_measure(const char *text, int limit, int *width) {
  size_t bytes = 0;
  *width = 0;
  while (text[bytes]) {
    uint32_t value = 0;
    size_t count = character_decode(text + bytes, &value);
    int more = count ? columns_count(value) : 1;
    if (*width + more > limit) break;
    *width += more;
    bytes += count ? count : 1;
  }
  return bytes;
}

int ep_text_width(const char *text) {
  int width;
  start_measure(text, INT32_MAX - 2, &width);
  return width;
}

size_t ep_text_fit(const char *text, int width) {
  int taken;
  return start_measure(text, width, &taken);
}

void ep_text_escape(ep_writer *out, const char *text) {
  while (*text) {
    uint32_t value = (unsigned char)*text;
    char escaped[16];
    size_t count = character_decode(text, &value);
    if (count > 0 && !WITHIN(HARMFUL, value)) {
      ep_writer_bytes(out, text, count);
      text += count;
      continue;
    }
    int bytes = snprintf(escaped, sizeof escaped, value > 0xff ? "\\u%04x" : "\\x%02x", value);
    ep_writer_bytes(out, escaped, (size_t)bytes);
    text += count ? count : 1;
  }
}

void ep_text_copy(char *out, size_t out_bytes, const char *text) {
  ep_writer writer;
  size_t used = 0;
  ep_writer_init(&writer, (strlen(text) + 1) * 8);
  ep_text_escape(&writer, text);
  char *escaped = ep_writer_take(&writer);
  while (escaped && escaped[used]) { /* it is UTF-8 throughout */
    size_t count = ep_utf8_character(escaped + used, strnlen(escaped + used, 4));
    if (used + count >= out_bytes) break;
    used += count;
  }
  if (escaped) memcpy(out, escaped, used);
  out[used] = 0;
  free(escaped);
}
