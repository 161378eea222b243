#include "engine/data/dialect/csv_cell.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#include "api/json/number_scan.h"

static inline bool is_space(const ep_csv_text *text, char c) {
  return c == ' ' || (c == '\t' && text->delimiter != '\t');
}

static inline const char *spaces_skip(const ep_csv_text *text, const char *at) {
  while (at < text->end && is_space(text, *at)) at++;
  return at;
}

/* Bytes of the line end at `at`: 0 when there is none. */
static inline size_t line_end(const ep_csv_text *text, const char *at) {
  if (*at == '\n') return 1;
  if (*at != '\r') return 0;
  if (at + 1 == text->end) return 1;
  return at[1] == '\n' ? 2 : text->cr;
}

static inline bool is_white(const ep_csv_text *text) {
  return text->delimiter == EP_DELIMITER_SPACE;
}

/* Where the first cell of the line begins. */
static inline const char *line_begin(const ep_csv_text *text, const char *at) {
  if (!text->framed) return at;
  const char *first = spaces_skip(text, at);
  return first < text->end && *first == text->delimiter ? first + 1 : at;
}

static __attribute__((noinline)) bool other_stop_take(ep_csv_text *text, const char *at,
                                                      ep_csv_stop *stop) {
  if (is_white(text) && at < text->end && is_space(text, *at)) {
    const char *first = at;
    at = spaces_skip(text, at);
    if (at < text->end && line_end(text, at) == 0) {
      if (at - first < text->gap) return false;
      text->at = at;
      *stop = EP_CSV_DELIMITER;
      return true;
    }
  }
  if (text->framed && at < text->end && *at == text->delimiter) {
    const char *behind = spaces_skip(text, at + 1);
    if (behind == text->end || line_end(text, behind) > 0) at = behind;
  }
  if (at == text->end) {
    text->at = at;
    *stop = EP_CSV_END;
    return true;
  }
  if (*at == text->delimiter) {
    text->at = at + 1;
    *stop = EP_CSV_DELIMITER;
    return true;
  }
  size_t bytes = line_end(text, at);
  if (bytes == 0) return false;
  text->at = line_begin(text, at + bytes);
  text->line++;
  *stop = EP_CSV_LINE;
  return true;
}

/* Takes what ends a cell at `at`; false when the cell goes on. */
static inline bool stop_take(ep_csv_text *text, const char *at, ep_csv_stop *stop) {
  bool delimiter = at < text->end && *at == text->delimiter; /* as of most cells */
  if (!delimiter || is_white(text) || text->framed) return other_stop_take(text, at, stop);
  text->at = at + 1;
  *stop = EP_CSV_DELIMITER;
  return true;
}

/* Eight copies of a byte. */
static inline uint64_t bytes8(char c) {
  return UINT64_C(0x0101010101010101) * (uint8_t)c;
}

/* Marks the first byte that is 0; only bytes behind it may be marked wrongly. */
static inline uint64_t zero_mark(uint64_t bytes) {
  return (bytes - UINT64_C(0x0101010101010101)) & ~bytes & UINT64_C(0x8080808080808080);
}

/* The first byte from `at` on that could end a cell; the end where there is none. */
static inline const char *stop_seek(const ep_csv_text *text, const char *at) {
  const bool white = is_white(text);
  const uint64_t delimiters = bytes8(text->delimiter);
  for (uint64_t bytes; !white && text->end - at >= (ptrdiff_t)sizeof bytes; at += sizeof bytes) {
    memcpy(&bytes, at, sizeof bytes);
    bytes = le64toh(bytes);
    uint64_t found = zero_mark(bytes ^ delimiters) | zero_mark(bytes ^ bytes8('\n')) |
                     zero_mark(bytes ^ bytes8('\r'));
    if (found) return at + __builtin_ctzll(found) / 8;
  }
  while (at < text->end && *at != text->delimiter && *at != '\n' && *at != '\r' &&
         !(white && is_space(text, *at)))
    at++;
  return at;
}

static ep_status too_long(const ep_csv_text *text, int64_t column, ep_error *error) {
  return ep_fail(error, EP_TOO_LARGE, "row %lld, column %lld: a cell of more than %d bytes",
                 (long long)text->line, (long long)column, EP_LIMIT_CSV_FIELD_BYTES);
}

/* Whether a backslash and what it escapes lie at `at`: a quote, or another one. */
static bool is_escape(const ep_csv_text *text, const char *at, const char *end) {
  return text->escapes && *at == '\\' && at + 1 < end && (at[1] == text->quote || at[1] == '\\');
}

/* Where a quoted cell ends, and its lines; false where the quote is not closed, or so late that the
 * cell is too long. *doubled: it has quotes or backslashes that stand for others. */
static bool quote_seek(const ep_csv_text *text, const char **at, int64_t *lines, bool *doubled) {
  enum { BYTES_MOST = 2 * EP_LIMIT_CSV_FIELD_BYTES + 2 };
  const char *from = *at, *end = text->end - from > BYTES_MOST ? from + BYTES_MOST : text->end;
  for (; from < end; from++) {
    bool escape = is_escape(text, from, end);
    if (*from == text->quote && (from + 1 == end || from[1] != text->quote)) break;
    if (escape || *from == text->quote) { /* "" is one " */
      *doubled = true;
      from++;
    }
    *lines += *from == '\n' || (text->cr && *from == '\r');
  }
  *at = from;
  return from < end;
}

/* Without the first of two quotes, and without backslashes before a quote or another backslash.
 * False: it is too long. */
static bool doubled_copy(const ep_csv_text *text, const char *from, const char *end,
                         ep_csv_cell *cell) {
  cell->text = cell->copy;
  for (cell->bytes = 0; from < end; from++) {
    from += *from == text->quote || is_escape(text, from, end);
    if (cell->bytes == EP_LIMIT_CSV_FIELD_BYTES) return false;
    cell->copy[cell->bytes++] = *from;
  }
  return true;
}

/* From behind the opening quote to behind the closing one. */
static __attribute__((noinline)) ep_status quoted_read(ep_csv_text *text, const char *first,
                                                       int64_t column, ep_csv_cell *cell,
                                                       ep_error *error) {
  int64_t lines = 0;
  bool doubled = false;
  const char *at = first;
  bool closed = quote_seek(text, &at, &lines, &doubled);
  cell->text = first;
  cell->bytes = (size_t)(at - first);
  if (doubled ? !doubled_copy(text, first, at, cell) : cell->bytes > EP_LIMIT_CSV_FIELD_BYTES)
    return too_long(text, column, error);
  if (!closed)
    return ep_fail(error, EP_INVALID, "row %lld, column %lld: the quote is never closed",
                   (long long)text->line, (long long)column);
  bool escaped = at[-1] == '\\' && !text->escapes;
  at = is_white(text) ? at + 1 : spaces_skip(text, at + 1);
  if (!stop_take(text, at, &cell->stop))
    return ep_fail(error, EP_INVALID, "row %lld, column %lld: text after a closing quote%s",
                   (long long)text->line, (long long)column,
                   escaped ? " that follows a backslash: ?quote=escaped reads `\\\"` as a quote"
                           : "");
  text->line += lines;
  return EP_OK;
}

/* Takes a number with nothing but spaces around it. */
static inline bool number_take(ep_csv_text *text, const char *at, ep_csv_cell *cell) {
  const char mark = text->delimiter;
  if (at == text->end || *at < '+' || *at > '9' || mark == '+' || mark == '-' || mark == '.')
    return false;
  const char *end = ep_number_scan(at, text->end, EP_NUMBER_CSV, &cell->value);
  if (!end || !isfinite(cell->value)) return false;
  cell->text = at;
  cell->bytes = (size_t)(end - at);
  return stop_take(text, is_white(text) ? end : spaces_skip(text, end), &cell->stop);
}

/* A cell that is not a number, from its first byte that is no space. */
static __attribute__((noinline)) ep_status other_read(ep_csv_text *text, const char *first,
                                                      int64_t column, ep_csv_cell *cell,
                                                      ep_error *error) {
  const char *at = first;
  if (at < text->end && *at == text->quote && text->quote)
    return quoted_read(text, at + 1, column, cell, error);
  for (at = stop_seek(text, at); !stop_take(text, at, &cell->stop); at = stop_seek(text, at + 1)) {
  }
  if (at - first > EP_LIMIT_CSV_FIELD_BYTES) return too_long(text, column, error);
  while (at > first && is_space(text, at[-1])) at--;
  cell->text = first;
  cell->bytes = (size_t)(at - first);
  return EP_OK;
}

ep_status ep_csv_cell_read(ep_csv_text *text, int64_t column, ep_csv_cell *cell, ep_error *error) {
  const char *at = spaces_skip(text, text->at);
  cell->plain = number_take(text, at, cell);
  return cell->plain ? EP_OK : other_read(text, at, column, cell, error);
}

char *ep_csv_cell_string(ep_csv_cell *cell) {
  if (cell->text != cell->copy) memcpy(cell->copy, cell->text, cell->bytes);
  cell->copy[cell->bytes] = 0;
  cell->text = cell->copy;
  return cell->copy;
}

bool ep_csv_is_quoted(const ep_csv_text *text) {
  const char *at = spaces_skip(text, text->at);
  return text->quote && at < text->end && *at == text->quote;
}

bool ep_csv_blank_line_take(ep_csv_text *text) {
  const char *at = spaces_skip(text, text->at);
  size_t bytes = at == text->end ? 0 : line_end(text, at);
  if (at < text->end && bytes == 0) return false;
  text->at = line_begin(text, at + bytes);
  text->line += bytes > 0;
  return true;
}

char ep_csv_first(const ep_csv_text *text) {
  const char *at = spaces_skip(text, text->at);
  return at < text->end ? *at : 0;
}

void ep_csv_line_begin(ep_csv_text *text) {
  text->at = line_begin(text, text->at);
}

const char *ep_csv_line_end(const ep_csv_text *text, const char *at) {
  while (at < text->end && line_end(text, at) == 0) at++;
  return at;
}

void ep_csv_line_take(ep_csv_text *text) {
  text->at = ep_csv_line_end(text, text->at);
  if (text->at == text->end) return;
  text->at = line_begin(text, text->at + line_end(text, text->at));
  text->line++;
}
