/* csv_rows.h: the columns of delimited text, and a walk over its rows. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_ROWS_H
#define EP_ENGINE_DATA_FORMATS_CSV_ROWS_H

#include "engine/data/dialect/layout.h"
#include "engine/data/tables/table_rows.h"

/* The columns of the layout, [layout->columns], with their names where it has a header: the
 * caller's. */
ep_status ep_csv_columns_read(const ep_csv_layout *layout, ep_csv_cell *cell, ep_column **out,
                              ep_error *error);

/* Reads one row: from the start of its first cell to behind its end. */
typedef ep_status (*ep_csv_row_read)(void *context, ep_csv_text *text, ep_error *error);

/* Reads all rows of the layout; there is at least one. Comments and headers that are repeated are
 * no rows, nor are the last lines where none is like a row; notes say so (NULL: nobody reads them).
 * Blank lines may stand before these, and at the end. cell: working memory, which `read` may use.
 */
ep_status ep_csv_rows_read(const ep_csv_layout *layout, ep_csv_cell *cell, ep_csv_row_read read,
                           void *context, ep_notes *notes, ep_error *error);

/* The same as a table of any cells. */
typedef struct {
  ep_table_rows rows;    /* first */
  ep_csv_layout *layout; /* lent */
  ep_csv_cell *cell;     /* working memory, lent */
  ep_notes *notes;       /* of the first walk; NULL: said */
} ep_csv_table;

/* dialect: lent, of the layout or of who asks. */
ep_csv_table ep_csv_table_of(ep_csv_layout *layout, ep_dialect *dialect, ep_csv_cell *cell,
                             ep_notes *notes);

#endif
