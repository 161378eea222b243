#include "engine/data/formats/csv_cell.h"

#include <math.h>

#include "api/json/number_scan.h"

static inline bool is_space(const ep_csv_text *text, char c) {
  return c == ' ' || (c == '\t' && text->delimiter != '\t');
}

static inline const char *spaces_skip(const ep_csv_text *text, const char *at) {
  while (at < text->end && is_space(text, *at)) at++;
  return at;
}

/* Bytes of the line end at `at`: 0 when there is none. A CR alone counts at the very end only. */
static inline size_t line_end(const char *at, const char *end) {
  if (*at == '\n') return 1;
  if (*at != '\r') return 0;
  if (at + 1 == end) return 1;
  return at[1] == '\n' ? 2 : 0;
}

/* Takes what ends a cell at `at`; false when the cell goes on. */
static inline bool stop_take(ep_csv_text *text, const char *at, ep_csv_stop *stop) {
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
  size_t bytes = line_end(at, text->end);
  if (bytes == 0) return false;
  text->at = at + bytes;
  text->line++;
  *stop = EP_CSV_LINE;
  return true;
}

char ep_csv_delimiter_find(const char *at, const char *end) {
  static const char delimiters[] = {',', ';', '\t', '|'};
  int64_t counts[sizeof delimiters] = {0};
  bool quoted = false;
  for (; at < end && (quoted || *at != '\n'); at++) {
    if (*at == '"') quoted = !quoted;
    if (quoted) continue;
    for (size_t i = 0; i < sizeof delimiters; i++) counts[i] += *at == delimiters[i];
  }
  size_t most = 0;
  for (size_t i = 1; i < sizeof delimiters; i++)
    if (counts[i] > counts[most]) most = i;
  return delimiters[most];
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
    if (*at == '"') {
      if (at + 1 == text->end || at[1] != '"') break;
      at++; /* "" stands for one " */
    }
    if (cell->bytes == EP_LIMIT_CSV_FIELD_BYTES) return too_long(text, column, error);
    if (*at == '\n') lines++;
    cell->text[cell->bytes++] = *at;
  }
  at = spaces_skip(text, at + 1);
  if (!stop_take(text, at, &cell->stop))
    return ep_fail(error, EP_INVALID, "row %lld, column %lld: there is text after a closing quote",
                   (long long)text->line, (long long)column);
  text->line += lines;
  return EP_OK;
}

ep_status ep_csv_cell_read(ep_csv_text *text, int64_t column, ep_csv_cell *cell, ep_error *error) {
  ep_status status = EP_OK;
  const char *at = spaces_skip(text, text->at);
  cell->bytes = 0;
  if (at < text->end && *at == '"') {
    status = quoted_read(text, at + 1, column, cell, error);
  } else {
    for (; !stop_take(text, at, &cell->stop); at++) {
      if (cell->bytes == EP_LIMIT_CSV_FIELD_BYTES) return too_long(text, column, error);
      cell->text[cell->bytes++] = *at;
    }
    while (cell->bytes > 0 && is_space(text, cell->text[cell->bytes - 1])) cell->bytes--;
  }
  cell->text[cell->bytes] = 0;
  return status;
}

bool ep_csv_number_read(ep_csv_text *text, double *value, ep_csv_stop *stop) {
  const char *at = spaces_skip(text, text->at);
  at = ep_number_scan(at, text->end, EP_NUMBER_CSV, value);
  if (!at || !isfinite(*value)) return false;
  return stop_take(text, spaces_skip(text, at), stop);
}

bool ep_csv_blank_line_take(ep_csv_text *text) {
  const char *at = spaces_skip(text, text->at);
  size_t bytes = at == text->end ? 0 : line_end(at, text->end);
  if (at < text->end && bytes == 0) return false;
  text->at = at + bytes;
  text->line += bytes > 0;
  return true;
}
