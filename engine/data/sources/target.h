/* target.h: which column of a table is to be predicted. */
#ifndef EP_ENGINE_DATA_SOURCES_TARGET_H
#define EP_ENGINE_DATA_SOURCES_TARGET_H

#include "api/spec/spec.h"
#include "engine/data/datasets/dataset.h"

/* The column (from 0) that data->target names; else the one it numbers, from 0, or from the end
 * when negative; the last one when there is no target. Errors point at /data/target. */
ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error);
/* The description as the spec's "columns" have it (retype.h), where it is that of a table. Errors
 * point at /data/target and /data/columns/…. */
ep_status ep_data_retype(const ep_data_spec *data, ep_dataset_meta *meta, ep_error *error);

#endif
