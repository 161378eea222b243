/* typed_table.h: a table of any cells, into a part: words as their numbers, dates as seconds, what
 * is missing as NaN. */
#ifndef EP_ENGINE_DATA_TABLES_TYPED_TABLE_H
#define EP_ENGINE_DATA_TABLES_TYPED_TABLE_H

#include "engine/data/tables/column_types.h"

/* Finds the types of the columns (column_types.h), writes the table of the training rows into the
 * folder (NULL: checks only) and describes it in meta. A line of names that is a row like those
 * below it becomes one, where rows->names_give is there. column: [rows->columns], names; lent.
 * budget_bytes: lowered by what was written. notes: on the table. Refuses cells that are not UTF-8,
 * and infinite numbers. Cells that are not of their column's type are missing, and are listed in
 * meta. */
ep_status ep_typed_table_read(ep_table_rows *rows, const ep_column *column, const char *folder,
                              int64_t *budget_bytes, ep_notes *notes, ep_dataset_meta *meta,
                              ep_error *error);

/* What a number that is none to train on is refused with: "inf", 1e400. */
ep_status ep_number_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                    ep_error *error);

#endif
