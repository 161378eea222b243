/* row_lines.h: the rows of a text as they were written, for cells that go behind them. */
#ifndef EP_ENGINE_DATA_INPUTS_ROW_LINES_H
#define EP_ENGINE_DATA_INPUTS_ROW_LINES_H

#include "api/json/writer.h"
#include "engine/data/dialect/dialect.h"

/* A zeroed one has no rows: what is written then is a table of new cells alone, with commas. Lines
 * that are no rows are not here. */
typedef struct ep_row_lines {
  char *text;    /* owned: the header, then all rows, as UTF-8, without the ends of their lines */
  size_t *end;   /* [rows], owned: of each in `text`; it begins where the one before ends */
  size_t header; /* the end of the header; 0: there is none */
  size_t text_bytes, text_capacity;
  int64_t rows, rows_capacity;
  bool objects; /* each row is a JSON object; else it is cells of this dialect: */
  ep_dialect dialect;
  char line_end[3];
} ep_row_lines;

void ep_row_lines_deinit(ep_row_lines *lines); /* a zeroed one is allowed */

/* Copies a line from its first byte to behind its end: the header, before all rows, or a row. What
 * stands from `behind` on, but for the end of the line, is left out; NULL: nothing is. EP_INVALID:
 * it contains a zero byte. */
ep_status ep_row_lines_add(ep_row_lines *lines, const char *start, const char *behind,
                           const char *end, bool header, ep_error *error);

/* Write a row: the cells that it had, then each new one, then the end. `row` -1 is the header;
 * `first`: of the new ones. A cell of an object is a member, "key":value. */
void ep_row_lines_begin(const ep_row_lines *lines, int64_t row, ep_writer *writer);
void ep_row_lines_cell(const ep_row_lines *lines, int64_t row, bool first, const char *text,
                       ep_writer *writer);
void ep_row_lines_end(const ep_row_lines *lines, ep_writer *writer);

#endif
