#include "clients/epochctl/terminal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/json/utf8.h"

enum { WIDTH_UNKNOWN = 80, WIDTH_MAX = 1000 };

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* As setlocale would choose, without setlocale: the numbers that are written keep their point. */
static bool is_utf8(void) {
  const char *locale = variable("LC_ALL");
  if (!locale) locale = variable("LC_CTYPE");
  if (!locale) locale = variable("LANG");
  return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

ep_terminal ep_terminal_find(void) {
  const char *kind = variable("TERM");
  bool able = isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
  return (ep_terminal){.live = able, .colour = able && !variable("NO_COLOR"), .unicode = is_utf8()};
}

int ep_terminal_width(const ep_terminal *terminal) {
  struct winsize size;
  const char *columns = variable("COLUMNS");
  long width = columns ? strtol(columns, NULL, 10) : 0;
  if (terminal->live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    width = size.ws_col;
  if (width <= 0) width = terminal->live ? WIDTH_UNKNOWN : 0;
  return (int)(width > WIDTH_MAX ? WIDTH_MAX : width);
}

const char *ep_terminal_colour(const ep_terminal *terminal, ep_colour colour) {
  static const char *const SEQUENCES[EP_COLOUR_COUNT] = {
      [EP_COLOUR_PLAIN] = "\x1b[0m",  [EP_COLOUR_BOLD] = "\x1b[1m",
      [EP_COLOUR_DIM] = "\x1b[2m",    [EP_COLOUR_RED] = "\x1b[31m",
      [EP_COLOUR_GREEN] = "\x1b[32m", [EP_COLOUR_YELLOW] = "\x1b[33m",
      [EP_COLOUR_BLUE] = "\x1b[34m"};
  return terminal->colour ? SEQUENCES[colour] : "";
}

/* The code point of the character at `text`, which ends in 0, and its bytes; 0 where there is none.
 */
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

static bool within(const range *ranges, size_t count, uint32_t value) {
  for (size_t i = 0; i < count; i++)
    if (value >= ranges[i].first && value <= ranges[i].last) return true;
  return false;
}
#define WITHIN(ranges, value) within(ranges, sizeof ranges / sizeof ranges[0], value)

/* Controls of C0 and C1, line and paragraph separators, and what turns the direction. */
static const range HARMFUL[] = {{0, 0x1f},        {0x7f, 0x9f},      {0x61c, 0x61c},
                                {0x200e, 0x200f}, {0x2028, 0x202e},  {0x2066, 0x2069},
                                {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
/* Combining marks, joiners, variation selectors. */
static const range NARROW[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                               {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200d},
                               {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};
/* East Asian Wide and Fullwidth of Unicode's annex 11, in the blocks that are so throughout. */
static const range WIDE[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};

static int columns(uint32_t value) {
  if (WITHIN(NARROW, value)) return 0;
  return WITHIN(WIDE, value) ? 2 : 1;
}

static size_t measure(const char *text, int limit, int *width) {
  size_t bytes = 0;
  *width = 0;
  while (text[bytes]) {
    uint32_t value = 0;
    size_t count = character_decode(text + bytes, &value);
    int more = count ? columns(value) : 1;
    if (*width + more > limit) break;
    *width += more;
    bytes += count ? count : 1;
  }
  return bytes;
}

int ep_text_width(const char *text) {
  int width;
  measure(text, INT32_MAX - 2, &width);
  return width;
}

size_t ep_text_fit(const char *text, int width) {
  int taken;
  return measure(text, width, &taken);
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
  while (escaped && escaped[used]) {
    uint32_t value = 0;
    size_t count = character_decode(escaped + used, &value);
    if (count == 0) count = 1;
    if (used + count >= out_bytes) break;
    used += count;
  }
  if (escaped) memcpy(out, escaped, used);
  out[used] = 0;
  free(escaped);
}
