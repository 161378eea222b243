/* csv_rows.h: a walk over the rows of delimited text. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_ROWS_H
#define EP_ENGINE_DATA_FORMATS_CSV_ROWS_H

#include "engine/data/formats/csv_counts.h"
#include "engine/data/tables/table_rows.h"

/* Reads one row: from the start of its first cell to behind its end. */
typedef ep_status (*ep_csv_row_read)(void *context, ep_csv_text *text, ep_error *error);

/* Reads all rows; there is at least one. Blank lines are no rows; they may stand at the end only.
 */
ep_status ep_csv_rows_read(ep_csv_text *text, ep_csv_row_read read, void *context, ep_error *error);

/* Refuses a row that ended before `column` (from 0), or has more than `columns`. `stop` ended the
 * cell before; line: the row's. */
ep_status ep_csv_row_check(int64_t line, int64_t column, int64_t columns, ep_csv_stop stop,
                           ep_error *error);

/* The same as a table of any cells. */
typedef struct {
  ep_table_rows rows;          /* first */
  ep_csv_text text;            /* the rows */
  ep_csv_cell *cell;           /* working memory, lent */
  const ep_csv_labels *labels; /* what the numbers of the last column stand for, lent */
} ep_csv_table;

ep_csv_table ep_csv_table_of(ep_csv_text text, int64_t columns, const ep_csv_labels *labels,
                             ep_csv_cell *cell);

#endif
