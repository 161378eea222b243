/* csv_rows.h: a walk over the rows of delimited text. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_ROWS_H
#define EP_ENGINE_DATA_FORMATS_CSV_ROWS_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/formats/csv_cell.h"
#include "engine/files/excerpt.h"

/* Reads one row: from the start of its first cell to behind its end. */
typedef ep_status (*ep_csv_row_read)(void *context, ep_csv_text *text, ep_error *error);

/* Reads all rows; there is at least one. Blank lines are no rows; they may stand at the end only.
 */
ep_status ep_csv_rows_read(ep_csv_text *text, ep_csv_row_read read, void *context, ep_error *error);

/* Refuses a row that ended before `column` (from 0), or has more than `columns`. `stop` ended the
 * cell before; line: the row's. */
ep_status ep_csv_row_check(int64_t line, int64_t column, int64_t columns, ep_csv_stop stop,
                           ep_error *error);

/* A cell of a row, without the spaces around it. */
typedef struct {
  const char *text; /* [bytes], lent for the call */
  size_t bytes;
  int64_t line, column; /* of its first byte, from 1; from 0 */
} ep_csv_value;

typedef ep_status (*ep_csv_value_read)(void *context, const ep_csv_value *value, ep_error *error);

/* Reads one row of any cells: each goes to `read`. */
ep_status ep_csv_values_read(ep_csv_text *text, int64_t columns, ep_csv_cell *cell,
                             ep_csv_value_read read, void *context, ep_error *error);

enum { EP_CSV_LABEL_BYTES = EP_EXCERPT_BYTES + 48 };

/* `column 3 ("age")`, or `column 3` without a name. Returns `out`. */
const char *ep_csv_label(const ep_column *column, int64_t index, char out[EP_CSV_LABEL_BYTES]);

#endif
