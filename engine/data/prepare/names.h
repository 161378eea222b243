/* names.h: what the columns of a data set are called, of data that is not encoded. */
#ifndef EP_ENGINE_DATA_PREPARE_NAMES_H
#define EP_ENGINE_DATA_PREPARE_NAMES_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* The columns of a table without the target, in order; empty where one of them has no name. target:
 * its name, written then. Owned by the caller, also on failure. */
ep_status ep_column_names_find(const ep_data_spec *data, const ep_dataset_meta *meta, ep_words *out,
                               char target[EP_LIMIT_NAME_BYTES + 1], ep_error *error);

#endif
