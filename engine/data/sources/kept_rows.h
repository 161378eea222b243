/* kept_rows.h: rows of a table that are left: those with a target, and with a cell in each column
 * whose "missing" is "drop_row". */
#ifndef EP_ENGINE_DATA_SOURCES_KEPT_ROWS_H
#define EP_ENGINE_DATA_SOURCES_KEPT_ROWS_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* The columns that a row needs a cell in, where cells are missing: the target first, if it is one
 * of them. *out: [*count], owned by the caller. */
ep_status ep_needed_columns_find(const ep_data_spec *data, const ep_part *table, int64_t target,
                                 int64_t **out, int64_t *count, ep_error *error);

/* How many rows of the table of `meta` are left. Reads the table, without mapping it, where more
 * than one column takes rows away. */
ep_status ep_kept_rows_count(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                             int64_t *rows, ep_error *error);

#endif
