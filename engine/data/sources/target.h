/* target.h: which column of a table is to be predicted. */
#ifndef EP_ENGINE_DATA_SOURCES_TARGET_H
#define EP_ENGINE_DATA_SOURCES_TARGET_H

#include "api/spec/spec.h"
#include "engine/data/datasets/dataset.h"

/* The column (from 0) that data->target_by, with the name or the index, says. Errors point at
 * /data/target. */
ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error);
/* The description as the spec's "columns" have it (retype.h), where it is that of a table. Errors
 * point at /data/target and /data/columns/…. */
ep_status ep_data_retype(const ep_data_spec *data, ep_dataset_meta *meta, ep_error *error);

/* The words of the target's classes in the order of the data: those of a category, the names that
 * go with y, else "0" and "1". meta: NULL where the rows are not described; target: the column of a
 * table. *out: the caller's (ep_words_deinit), also on failure. */
ep_status ep_target_classes_find(const ep_dataset_meta *meta, int64_t target, ep_words *out,
                                 ep_error *error);
/* *out: whether data->positive names the first of two such classes. */
ep_status ep_target_swapped_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                                 int64_t target, bool *out, ep_error *error);

#endif
