/* target.h: which column of a table is to be predicted. */
#ifndef EP_ENGINE_DATA_SOURCES_TARGET_H
#define EP_ENGINE_DATA_SOURCES_TARGET_H

#include "api/spec/spec.h"
#include "engine/data/datasets/dataset.h"

/* The column (from 0) that data->target_by, with the name or the index, says. Errors point at
 * /data/target. */
ep_status ep_target_find(const ep_data_spec *data, const ep_part *table, int64_t *column,
                         ep_error *error);

#endif
