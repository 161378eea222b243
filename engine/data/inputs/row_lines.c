#include "engine/data/inputs/row_lines.h"

#include <stdlib.h>
#include <string.h>

void ep_row_lines_deinit(ep_row_lines *lines) {
  free(lines->text);
  free(lines->end);
  *lines = (ep_row_lines){0};
}

static ep_status room_make(ep_row_lines *lines, size_t bytes, ep_error *error) {
  if (lines->text_bytes + bytes > lines->text_capacity) {
    size_t capacity = 2 * (lines->text_bytes + bytes) + 256;
    char *text = realloc(lines->text, capacity);
    if (!text) return ep_fail_memory(error);
    lines->text = text;
    lines->text_capacity = capacity;
  }
  if (lines->rows == lines->rows_capacity) {
    int64_t capacity = 2 * lines->rows_capacity + 64;
    size_t *end = realloc(lines->end, (size_t)capacity * sizeof *end);
    if (!end) return ep_fail_memory(error);
    lines->end = end;
    lines->rows_capacity = capacity;
  }
  return EP_OK;
}

ep_status ep_row_lines_add(ep_row_lines *lines, const char *start, const char *behind,
                           const char *end, bool header, ep_error *error) {
  const char *text_end = end;
  if (text_end > start && text_end[-1] == '\n') text_end--;
  if (text_end > start && text_end[-1] == '\r') text_end--;
  if (!behind || behind > text_end) behind = text_end;
  size_t bytes = (size_t)(behind - start), line_end = (size_t)(end - text_end);
  if (memchr(start, 0, bytes)) /* what comes back is a text */
    return ep_fail(error, EP_INVALID, "a line contains a zero byte");
  ep_status status = room_make(lines, bytes, error);
  if (status != EP_OK) return status;
  if (!lines->line_end[0] && line_end > 0) memcpy(lines->line_end, text_end, line_end);
  memcpy(lines->text + lines->text_bytes, start, bytes);
  lines->text_bytes += bytes;
  if (header)
    lines->header = lines->text_bytes;
  else
    lines->end[lines->rows++] = lines->text_bytes;
  return EP_OK;
}

/* *bytes: of the row; 0 where there are no lines. A loan. */
static const char *row_find(const ep_row_lines *lines, int64_t row, size_t *bytes) {
  *bytes = row < 0 ? lines->header : 0;
  if (row < 0 || row >= lines->rows) return lines->text;
  size_t from = row == 0 ? lines->header : lines->end[row - 1];
  *bytes = lines->end[row] - from;
  return lines->text + from;
}

void ep_row_lines_begin(const ep_row_lines *lines, int64_t row, ep_writer *writer) {
  size_t bytes;
  const char *text = row_find(lines, row, &bytes);
  if (lines->objects) { /* without the brace at its end */
    while (bytes > 0 && text[bytes - 1] != '}') bytes--;
    if (bytes > 0) bytes--;
  }
  if (bytes > 0) ep_writer_bytes(writer, text, bytes);
}

static char delimiter_of(const ep_row_lines *lines) {
  return lines->dialect.delimiter ? lines->dialect.delimiter : ',';
}

/* Whether the row has something that a new cell is to be parted from: another cell, if only an
 * empty one, or another member of its object. */
static bool is_parted(const ep_row_lines *lines, int64_t row, bool first) {
  size_t bytes;
  if (!first) return true;
  if (!lines->objects) return row < 0 ? lines->header > 0 : row < lines->rows;
  const char *text = row_find(lines, row, &bytes);
  while (bytes > 0 && (text[bytes - 1] == '}' || strchr(" \t\r\n", text[bytes - 1]))) bytes--;
  return bytes > 0 && text[bytes - 1] != '{';
}

/* quote: 0: none, and then one within a cell is a character. */
static bool needs_quotes(const char *text, char delimiter, char quote) {
  if (!*text) return delimiter == EP_DELIMITER_SPACE;
  for (; *text; text++)
    if (*text == delimiter || (quote && (*text == quote || *text == '"')) || *text == '\n' ||
        *text == '\r' || (delimiter == EP_DELIMITER_SPACE && *text == '\t'))
      return true;
  return false;
}

void ep_row_lines_cell(const ep_row_lines *lines, int64_t row, bool first, const char *text,
                       ep_writer *writer) {
  char delimiter = delimiter_of(lines), quote = lines->dialect.quote ? lines->dialect.quote : '"';
  if (is_parted(lines, row, first)) ep_writer_bytes(writer, lines->objects ? "," : &delimiter, 1);
  bool plain = lines->rows > 0 && lines->dialect.quote == 0;
  if (lines->objects || !needs_quotes(text, delimiter, plain ? 0 : quote)) {
    ep_writer_bytes(writer, text, strlen(text));
    return;
  }
  ep_writer_bytes(writer, &quote, 1);
  for (; *text; text++) {
    if (*text == quote) ep_writer_bytes(writer, lines->dialect.escapes ? "\\" : &quote, 1);
    ep_writer_bytes(writer, text, 1);
  }
  ep_writer_bytes(writer, &quote, 1);
}

void ep_row_lines_end(const ep_row_lines *lines, ep_writer *writer) {
  if (lines->objects) ep_writer_bytes(writer, "}", 1);
  if (lines->line_end[0])
    ep_writer_bytes(writer, lines->line_end, strlen(lines->line_end));
  else
    ep_writer_bytes(writer, "\n", 1);
}
