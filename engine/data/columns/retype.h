/* retype.h: the description of a table as a job has it, whose "columns" may set a column's "type":
 * words become numbers or dates, numbers become words. */
#ifndef EP_ENGINE_DATA_COLUMNS_RETYPE_H
#define EP_ENGINE_DATA_COLUMNS_RETYPE_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* Changes the columns whose rule has another type than they have; of the target (-1: none) a rule
 * with its very name counts, or data.task, with which it has to agree. dialect: of the table; NULL:
 * it was no text. Afterwards such a column has the type, `value`, and
 *
 * - as a number or a date: words and their rows as before; value[k] is what word k stands for, NaN
 *   where it cannot be read, and then its cells are missing; a note with the counts. The table's
 *   cells are still the numbers of words: ep_retyped_cell.
 * - as a category: words, without their counts of rows, in ascending order; value[k] is the number
 *   that word k stands for. The table's cells are still these numbers.
 *
 * Columns that split the rows keep their type, as do classes from 0 on. A table that is so already
 * stays as it is. EP_INVALID at /data/columns/<name>/type, or /data/task: it cannot be done. */
ep_status ep_columns_retype(const ep_data_spec *data, const ep_dialect *dialect, ep_part *table,
                            int64_t target, ep_error *error);

/* What a cell of the table is as the type says: of a category the number of the word, -1 for none.
 */
double ep_retyped_cell(const ep_column *column, double cell);
/* Whether that is another number than the table's. */
static inline bool ep_column_is_retyped(const ep_column *column) {
  return column->value && column->words.count > 0;
}

#endif
