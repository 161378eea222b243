/* marks.h: the decimal mark of a file, what divides its thousands, and the order of days and
 * months: found by the cells of all columns. */
#ifndef EP_ENGINE_DATA_TABLES_MARKS_H
#define EP_ENGINE_DATA_TABLES_MARKS_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/dialect/notes.h"
#include "engine/data/tables/column_cells.h"

/* Sets the dialect's decimal and thousands, where they are not set: the pair that reads most
 * columns of numbers. A column whose numbers have another pair is words. notes: where a convention
 * decided. EP_INVALID where two pairs explain all cells, read them differently, and no convention
 * settles it. *marks: the pair in ep_marks. */
ep_status ep_marks_find(ep_column *column, const ep_column_cells *cells, int64_t columns,
                        ep_dialect *dialect, ep_notes *notes, int *marks, ep_error *error);

/* Sets the dialect's order of days and months, where it is not set and a column shows it, or all
 * days of a column are below 13 and a convention decides. */
ep_status ep_dates_order_find(ep_column *column, const ep_column_cells *cells, int64_t columns,
                              ep_dialect *dialect, ep_notes *notes, ep_error *error);

/* Whether eight in ten cells are numbers with any pair of marks. */
bool ep_cells_are_numbers(const ep_column_cells *cells);

#endif
