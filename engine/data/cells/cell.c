#include "engine/data/cells/cell.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "api/json/number_scan.h"
#include "engine/data/cells/date.h"

enum { NUMBER_BYTES = 64 }; /* of a number with separators: longer ones are none */

static const char *const kind_names[EP_CELL_KINDS] = {
    "number", "decimal_comma", "grouped",     "spaced",     "spaced_comma",
    "iso",    "day_first",     "month_first", "month_name", "time"};

const char *ep_cell_kind_name(ep_cell_kind kind) {
  assert(kind < EP_CELL_KINDS);
  return kind_names[kind];
}

int ep_cell_kind_from_name(const char *name) {
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    if (strcmp(kind_names[kind], name) == 0) return kind;
  return -1;
}

bool ep_cell_is_missing(const char *text, size_t bytes) {
  static const char *const words[] = {"NA",   "N/A",  "n/a",  "NaN",  "nan", "NAN", "+nan", "-nan",
                                      "-NaN", "null", "NULL", "None", "?",   "-",   ".",    "#N/A"};
  if (bytes == 0) return true;
  if (bytes > 4 || !memchr("Nn+-?.#", *text, 7)) return false; /* as most cells are */
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == bytes && memcmp(words[i], text, bytes) == 0) return true;
  return false;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

const char *ep_cell_trim(const char *text, size_t *bytes) {
  for (; *bytes > 0 && is_blank(*text); --*bytes) text++;
  while (*bytes > 0 && is_blank(text[*bytes - 1])) --*bytes;
  return text;
}

static bool is_infinite(const char *text, size_t bytes) {
  if (bytes > 0 && (*text == '+' || *text == '-')) {
    text++;
    bytes--;
  }
  if (bytes == 0 || (*text | 0x20) != 'i') return false; /* as most cells are not */
  return (bytes == 3 && strncasecmp(text, "inf", 3) == 0) ||
         (bytes == 8 && strncasecmp(text, "infinity", 8) == 0);
}

static bool number_read(const char *text, size_t bytes, double *value) {
  double found;
  if (is_infinite(text, bytes)) {
    *value = *text == '-' ? -INFINITY : INFINITY;
    return true;
  }
  if (ep_number_scan(text, text + bytes, EP_NUMBER_CSV, &found) != text + bytes) return false;
  *value = found;
  return true;
}

static size_t digits_count(const char *at, const char *end) {
  const char *first = at;
  while (at < end && *at >= '0' && *at <= '9') at++;
  return (size_t)(at - first);
}

size_t ep_cell_space_bytes(const char *at, const char *end) {
  size_t left = (size_t)(end - at);
  if (left >= 1 && *at == ' ') return 1;
  if (left >= 2 && memcmp(at, "\xC2\xA0", 2) == 0) return 2;
  return left >= 3 && (memcmp(at, "\xE2\x80\x89", 3) == 0 || memcmp(at, "\xE2\x80\xAF", 3) == 0)
             ? 3
             : 0;
}

static size_t group_bytes(const char *at, const char *end, char group) {
  if (group == ' ') return ep_cell_space_bytes(at, end);
  return at < end && *at == group;
}

/* 1.234.567,89 with these two characters: groups of three digits, or no groups at all. 0.123 has
 * none: nobody writes a thousand so. */
static bool separated_read(const char *text, size_t bytes, char group, char decimal,
                           double *value) {
  char plain[NUMBER_BYTES + 1];
  const char *at = text, *end = text + bytes;
  size_t used = 0;
  if (bytes == 0 || bytes > NUMBER_BYTES) return false;
  if (*at == '-' || *at == '+') plain[used++] = *at++;
  size_t digits = digits_count(at, end);
  bool phone = group == ' ' && *text == '+'; /* +34 612 345 678 */
  bool groups = digits >= 1 && digits <= 3 && *at != '0' && !phone;
  if (digits == 0) return false;
  for (;;) {
    memcpy(plain + used, at, digits);
    used += digits;
    at += digits;
    size_t between = groups ? group_bytes(at, end, group) : 0;
    if (between == 0) break;
    at += between;
    digits = digits_count(at, end);
    if (digits != 3) return false;
  }
  if (at < end && *at == decimal) {
    digits = digits_count(++at, end);
    if (digits == 0) return false;
    plain[used++] = '.';
    memcpy(plain + used, at, digits);
    used += digits;
    at += digits;
  }
  return at == end && number_read(plain, used, value);
}

bool ep_cell_read(ep_cell_kind kind, const char *text, size_t bytes, double *value) {
  switch (kind) {
  case EP_CELL_NUMBER: return number_read(text, bytes, value);
  case EP_CELL_DECIMAL_COMMA: return separated_read(text, bytes, '.', ',', value);
  case EP_CELL_GROUPED:
    return number_read(text, bytes, value) || separated_read(text, bytes, ',', '.', value);
  case EP_CELL_SPACED:
    return number_read(text, bytes, value) || separated_read(text, bytes, ' ', '.', value);
  case EP_CELL_SPACED_COMMA: return separated_read(text, bytes, ' ', ',', value);
  case EP_CELL_ISO_DATE: return ep_date_read(EP_DATE_ISO, text, bytes, value);
  case EP_CELL_DAY_FIRST: return ep_date_read(EP_DATE_DAY_FIRST, text, bytes, value);
  case EP_CELL_MONTH_FIRST: return ep_date_read(EP_DATE_MONTH_FIRST, text, bytes, value);
  case EP_CELL_MONTH_NAME: return ep_date_read(EP_DATE_MONTH_NAME, text, bytes, value);
  case EP_CELL_TIME: return ep_date_read(EP_DATE_TIME, text, bytes, value);
  case EP_CELL_KINDS: break;
  }
  return false;
}
