/* typed_table.h: a table of any cells, into a part: words as their numbers, dates as seconds, what
 * is missing as NaN. */
#ifndef EP_ENGINE_DATA_TABLES_TYPED_TABLE_H
#define EP_ENGINE_DATA_TABLES_TYPED_TABLE_H

#include "engine/data/tables/column_types.h"

/* Writes the table of the training rows into the folder (NULL: checks only) and describes it in
 * meta. column: [rows->columns], as ep_column_types_find filled it in; taken, also on failure.
 * draft: as it left it; where it has all rows, they are not read again. budget_bytes: lowered by
 * what was written. Refuses infinite numbers. Cells that are not of their column's type are
 * missing, and are listed in meta. */
ep_status ep_typed_table_write(ep_table_rows *rows, ep_column *column, const ep_column_cells *cells,
                               ep_draft *draft, const char *folder, int64_t *budget_bytes,
                               ep_dataset_meta *meta, ep_error *error);

/* cells: [columns], on the heap; NULL is allowed. */
void ep_typed_table_cells_free(ep_column_cells *cells, int64_t columns);

/* What a number that is none to train on is refused with: "inf", 1e400. */
ep_status ep_number_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                    ep_error *error);

#endif
