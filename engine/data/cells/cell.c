#include "engine/data/cells/cell.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "api/json/number_scan.h"
#include "engine/data/cells/date.h"

enum { NUMBER_BYTES = 64 }; /* of a number with separators, or with U+2212: longer ones are none */

/* A kind is a row: of numbers their marks, of the others the form of the date. */
static const struct {
  const char *name;
  ep_cell_marks marks;
  ep_date_form date;
} kinds[EP_CELL_KINDS] = {
    [EP_CELL_NUMBER] = {"number", {'.', 0}, 0},
    [EP_CELL_DECIMAL_COMMA] = {"decimal_comma", {',', '.'}, 0},
    [EP_CELL_GROUPED] = {"grouped", {'.', ','}, 0},
    [EP_CELL_SPACED] = {"spaced", {'.', ' '}, 0},
    [EP_CELL_SPACED_COMMA] = {"spaced_comma", {',', ' '}, 0},
    [EP_CELL_APOSTROPHE] = {"apostrophe", {'.', '\''}, 0},
    [EP_CELL_APOSTROPHE_COMMA] = {"apostrophe_comma", {',', '\''}, 0},
    [EP_CELL_ISO_DATE] = {"iso", {0}, EP_DATE_ISO},
    [EP_CELL_DAY_FIRST] = {"day_first", {0}, EP_DATE_DAY_FIRST},
    [EP_CELL_MONTH_FIRST] = {"month_first", {0}, EP_DATE_MONTH_FIRST},
    [EP_CELL_MONTH_NAME] = {"month_name", {0}, EP_DATE_MONTH_NAME},
    [EP_CELL_TIME] = {"time", {0}, EP_DATE_TIME},
    [EP_CELL_DURATION] = {"duration", {0}, EP_DATE_DURATION},
};

const char *ep_cell_kind_name(ep_cell_kind kind) {
  assert(kind < EP_CELL_KINDS);
  return kinds[kind].name;
}

int ep_cell_kind_from_name(const char *name) {
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    if (strcmp(kinds[kind].name, name) == 0) return kind;
  return -1;
}

ep_cell_marks ep_cell_kind_marks(ep_cell_kind kind) {
  assert(ep_cell_kind_is_number(kind));
  return kinds[kind].marks;
}

/* What R, pandas, spreadsheets, databases and statistical offices write where nothing is known, and
 * what is not a word of any other meaning: without "none", "nil", "missing", "unknown". */
static const char *const missing_words[] = {
    "NA",      "N/A",    "n/a",    "N.A.",   "n.a.",   "#N/A",   "#NA",  "<NA>",
    "NaN",     "nan",    "NAN",    "+nan",   "-nan",   "-NaN",   "NaT",  "null",
    "NULL",    "(null)", "(NULL)", "[NULL]", "<null>", "\\N",    "None", "?",
    "-",       "--",     "---",    "\u2013", "\u2014", ".",      "..",   "#DIV/0!",
    "#VALUE!", "#REF!",  "#NAME?", "#NUM!",  "#NULL!", "#ERROR!"};

_Static_assert(sizeof missing_words / sizeof *missing_words <= 64, "a set of them has 64 bits");

const char *ep_cell_missing_word(size_t number) {
  return number < sizeof missing_words / sizeof *missing_words ? missing_words[number] : NULL;
}

int ep_cell_missing_number(const char *text, size_t bytes) {
  enum { WORD_BYTES = 7, WORDS = sizeof missing_words / sizeof *missing_words };
  if (bytes == 0 || bytes > WORD_BYTES) return -1;
  if (!memchr("Nn+-?.#<([\\\xE2", *text, 12)) return -1;           /* as most are */
  if (text[bytes - 1] >= '0' && text[bytes - 1] <= '9') return -1; /* -1.5 */
  for (int i = 0; i < WORDS; i++)
    if (strlen(missing_words[i]) == bytes && memcmp(missing_words[i], text, bytes) == 0) return i;
  return -1;
}

bool ep_cell_is_missing(const char *text, size_t bytes) {
  return bytes == 0 || ep_cell_missing_number(text, bytes) >= 0;
}

static size_t digits_count(const char *at, const char *end) {
  const char *first = at;
  while (at < end && *at >= '0' && *at <= '9') at++;
  return (size_t)(at - first);
}

/* The bytes of the mark between two groups; 0: there is none. */
static size_t thousands_bytes(const char *at, const char *end, char thousands) {
  if (thousands == ' ') return ep_text_space_bytes(at, end);
  if (thousands == '\'' && end - at >= 3 && memcmp(at, "\xE2\x80\x99", 3) == 0) return 3;
  return at < end && *at == thousands;
}

/* Digits with marks between groups of three, without a sign. */
static bool grouped_read(ep_cell_marks marks, const char *at, const char *end, double *value) {
  char plain[NUMBER_BYTES];
  size_t used = 0, digits = digits_count(at, end), between;
  if (end - at > NUMBER_BYTES || digits < 1 || digits > 3 || *at == '0') return false;
  for (;;) {
    memcpy(plain + used, at, digits);
    used += digits;
    at += digits;
    between = thousands_bytes(at, end, marks.thousands);
    if (between == 0) break;
    at += between;
    digits = digits_count(at, end);
    if (digits != 3) return false;
  }
  if (at < end && *at == marks.decimal) {
    digits = digits_count(at + 1, end);
    if (digits == 0) return false;
    plain[used++] = '.';
    memcpy(plain + used, at + 1, digits);
    used += digits;
    at += digits + 1;
  }
  return at == end && ep_number_scan(plain, plain + used, EP_NUMBER_CSV, value);
}

static bool is_infinity(const char *at, size_t bytes) {
  return (bytes == 3 && strncasecmp(at, "inf", 3) == 0) ||
         (bytes == 8 && strncasecmp(at, "infinity", 8) == 0);
}

/* (1.5), as accountants write -1.5. */
static bool bracketed_read(char decimal, char thousands, const char *text, size_t bytes,
                           double *value) {
  if (bytes < 3 || *text != '(' || text[bytes - 1] != ')' || text[1] < '0' || text[1] > '9' ||
      !ep_cell_number_read(decimal, thousands, text + 1, bytes - 2, value))
    return false;
  *value = -*value;
  return true;
}

/* With U+2212 for a minus, of the number or of its exponent: −2.97E−08. */
static bool minus_read(char decimal, char thousands, const char *text, size_t bytes,
                       double *value) {
  static const char minus[] = "\u2212";
  char plain[NUMBER_BYTES];
  size_t used = 0;
  bool found = false;
  if (bytes > sizeof plain || !memchr(text, minus[0], bytes)) return false;
  for (const char *at = text, *end = text + bytes; at < end; used++) {
    bool is_minus = (size_t)(end - at) >= strlen(minus) && memcmp(at, minus, strlen(minus)) == 0;
    plain[used] = is_minus ? '-' : *at;
    at += is_minus ? strlen(minus) : 1;
    found = found || is_minus;
  }
  return found && ep_cell_number_read(decimal, thousands, plain, used, value);
}

bool ep_cell_number_read(char decimal, char thousands, const char *text, size_t bytes,
                         double *value) {
  const char *at = text, *end = text + bytes;
  ep_number_grammar grammar = decimal == ',' ? EP_NUMBER_CSV_COMMA : EP_NUMBER_CSV;
  double found;
  if (at < end && isalpha((unsigned char)*at) && (*at | 0x20) != 'i') return false;
  if (ep_number_scan(at, end, grammar, &found) == end) { /* as most cells are */
    *value = found;
    return true;
  }
  if (at < end && *at == '(') return bracketed_read(decimal, thousands, text, bytes, value);
  at += at < end && (*at == '-' || *at == '+');
  if (at == end || *at == '-' || *at == '+') return false;
  if (is_infinity(at, (size_t)(end - at)))
    found = INFINITY;
  else if (thousands == 0 || (thousands == ' ' && *text == '+') ||
           !grouped_read((ep_cell_marks){decimal, thousands}, at, end, &found))
    return minus_read(decimal, thousands, text, bytes, value);
  *value = *text == '-' ? -found : found;
  return true;
}

bool ep_cell_may_be_grouped(const char *text, size_t bytes, char thousands) {
  const char *end = text + bytes, *at = text + (bytes > 0 && (*text == '-' || *text == '+'));
  size_t digits = digits_count(at, end);
  if (digits == 0) return thousands != 0; /* in brackets, or with U+2212 */
  return digits <= 3 && thousands != 0 && thousands_bytes(at + digits, end, thousands) > 0;
}

bool ep_cell_read(ep_cell_kind kind, const char *text, size_t bytes, double *value) {
  assert(kind < EP_CELL_KINDS);
  if (!ep_cell_kind_is_number(kind)) return ep_date_read(kinds[kind].date, text, bytes, value);
  ep_cell_marks marks = kinds[kind].marks;
  return ep_cell_number_read(marks.decimal, marks.thousands, text, bytes, value);
}
