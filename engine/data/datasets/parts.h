/* parts.h: datasets put together of uploads of x and y. Completing one is in dataset.h. */
#ifndef EP_ENGINE_DATA_DATASETS_PARTS_H
#define EP_ENGINE_DATA_DATASETS_PARTS_H

#include "engine/data/datasets/dataset.h"

/* Writes the meta.json of a folder that holds these parts; format, bytes and sha256 of *meta are
 * found, the last of the parts' names and hashes. */
ep_status ep_dataset_parts_write(const char *folder, ep_dataset_meta *meta, ep_error *error);

/* Whether x and y that come apart can be trained on: EP_INVALID at /data/dataset when training data
 * is missing, x has no y or the other way round, their rows differ, or the columns of two sets. */
ep_status ep_dataset_pairs_check(const ep_dataset_meta *meta, ep_error *error);

#endif
