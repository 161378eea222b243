/* names.h: what the columns of a data set are called, of data that is not encoded. */
#ifndef EP_ENGINE_DATA_PREPARE_NAMES_H
#define EP_ENGINE_DATA_PREPARE_NAMES_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/prepare/scaling.h"

/* The columns of a table without the target, in order, into `names` and `ranges`; empty where one
 * of them has no name. `target`: its name, written then. Owned by `out`, also on failure. */
ep_status ep_column_names_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                               ep_scaling *out, ep_error *error);

#endif
