#include "engine/data/dialect/csv_cell.h"

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

/* Takes what ends a cell at `at`; false when the cell goes on. */
static inline bool stop_take(ep_csv_text *text, const char *at, ep_csv_stop *stop) {
  if (is_white(text) && at < text->end && is_space(text, *at)) {
    at = spaces_skip(text, at);
    if (at < text->end && line_end(text, at) == 0) {
      text->at = at;
      *stop = EP_CSV_DELIMITER;
      return true;
    }
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
  text->at = at + bytes;
  text->line++;
  *stop = EP_CSV_LINE;
  return true;
}

/* The first byte from `at` on that could end a cell; the end where there is none. */
static inline const char *stop_seek(const ep_csv_text *text, const char *at) {
  const bool white = is_white(text);
  while (at < text->end && *at != text->delimiter && *at != '\n' && *at != '\r' &&
         !(white && is_space(text, *at)))
    at++;
  return at;
}

static ep_status too_long(const ep_csv_text *text, int64_t column, ep_error *error) {
  return ep_fail(error, EP_TOO_LARGE, "row %lld, column %lld: a cell of more than %d bytes",
                 (long long)text->line, (long long)column, EP_LIMIT_CSV_FIELD_BYTES);
}

/* From behind the opening quote to behind the closing one. */
static ep_status quoted_read(ep_csv_text *text, const char *at, int64_t column, ep_csv_cell *cell,
                             ep_error *error) {
  int64_t lines = 0;
  for (;; at++) {
    if (at == text->end)
      return ep_fail(error, EP_INVALID, "row %lld, column %lld: the quote is never closed",
                     (long long)text->line, (long long)column);
    if (*at == text->quote) {
      if (at + 1 == text->end || at[1] != text->quote) break;
      at++; /* "" is one " */
    } else if (text->escapes && *at == '\\' && at + 1 < text->end &&
               (at[1] == text->quote || at[1] == '\\')) {
      at++; /* \" is one, too */
    }
    if (cell->bytes == EP_LIMIT_CSV_FIELD_BYTES) return too_long(text, column, error);
    lines += *at == '\n' || (text->cr && *at == '\r');
    cell->text[cell->bytes++] = *at;
  }
  bool escaped = at[-1] == '\\' && !text->escapes;
  at = is_white(text) ? at + 1 : spaces_skip(text, at + 1);
  if (!stop_take(text, at, &cell->stop))
    return ep_fail(
        error, EP_INVALID, "row %lld, column %lld: there is text after a closing quote%s",
        (long long)text->line, (long long)column,
        escaped ? " that follows a backslash: ?quote=escaped reads `\\\"` as a quote" : "");
  text->line += lines;
  return EP_OK;
}

ep_status ep_csv_cell_read(ep_csv_text *text, int64_t column, ep_csv_cell *cell, ep_error *error) {
  ep_status status = EP_OK;
  const char *at = spaces_skip(text, text->at);
  cell->bytes = 0;
  if (at < text->end && *at == text->quote && text->quote) {
    status = quoted_read(text, at + 1, column, cell, error);
  } else {
    const char *first = at;
    for (at = stop_seek(text, at); !stop_take(text, at, &cell->stop);
         at = stop_seek(text, at + 1)) {
    }
    if (at - first > EP_LIMIT_CSV_FIELD_BYTES) return too_long(text, column, error);
    cell->bytes = (size_t)(at - first);
    memcpy(cell->text, first, cell->bytes);
    while (cell->bytes > 0 && is_space(text, cell->text[cell->bytes - 1])) cell->bytes--;
  }
  cell->text[cell->bytes] = 0;
  return status;
}

bool ep_csv_number_read(ep_csv_text *text, double *value, ep_csv_stop *stop) {
  const char *at = spaces_skip(text, text->at);
  at = ep_number_scan(at, text->end, EP_NUMBER_CSV, value);
  if (!at || !isfinite(*value)) return false;
  return stop_take(text, is_white(text) ? at : spaces_skip(text, at), stop);
}

bool ep_csv_blank_line_take(ep_csv_text *text) {
  const char *at = spaces_skip(text, text->at);
  size_t bytes = at == text->end ? 0 : line_end(text, at);
  if (at < text->end && bytes == 0) return false;
  text->at = at + bytes;
  text->line += bytes > 0;
  return true;
}

const char *ep_csv_line_end(const ep_csv_text *text, const char *at) {
  while (at < text->end && line_end(text, at) == 0) at++;
  return at;
}

void ep_csv_line_take(ep_csv_text *text) {
  text->at = ep_csv_line_end(text, text->at);
  if (text->at == text->end) return;
  text->at += line_end(text, text->at);
  text->line++;
}
