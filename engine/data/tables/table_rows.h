/* table_rows.h: the rows of a table of any cells, whatever they are written in. */
#ifndef EP_ENGINE_DATA_TABLES_TABLE_ROWS_H
#define EP_ENGINE_DATA_TABLES_TABLE_ROWS_H

#include "api/status.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/dialect/dialect.h"
#include "engine/files/excerpt.h"

/* A cell of a row, without the spaces around it. */
typedef struct {
  const char *text; /* [bytes], lent for the call */
  size_t bytes;
  int64_t line, column; /* of its first byte, or the number of its record, from 1; from 0 */
  bool number;          /* a number of JSON, which needs no marks to be one */
  bool plain;           /* it was read as a finite number with a decimal point: */
  double value;
} ep_table_cell;

/* Without the spaces and tabs around the text. */
static inline ep_table_cell ep_table_cell_make(const char *text, size_t bytes, int64_t line,
                                               int64_t column) {
  text = ep_cell_trim(text, &bytes);
  return (ep_table_cell){.text = text, .bytes = bytes, .line = line, .column = column};
}

typedef ep_status (*ep_table_cell_read)(void *context, const ep_table_cell *cell, ep_error *error);
typedef ep_status (*ep_table_row_end)(void *context, ep_error *error);

/* The first member of what a format reads rows from. */
typedef struct ep_table_rows ep_table_rows;
struct ep_table_rows {
  int64_t columns;
  const char *row_start, *row_end; /* during `end`: the row as it is written, with the end of its
                                      line; NULL: of columns of cells */
  ep_dialect *dialect; /* how the text is written: marks of numbers and the order of dates are found
                          by all rows, where they are not set; lent */
  /* Reads all rows from the first one on; there is at least one. Each row gives one cell of each
   * column, in any order, to `read`; then `end` is called, where there is one. */
  ep_status (*walk)(ep_table_rows *rows, ep_table_cell_read read, ep_table_row_end end,
                    void *context, ep_error *error);
  /* From the next walk on, the line that names the columns is the first row. NULL: it is none. */
  void (*names_give)(ep_table_rows *rows);
};

#endif
