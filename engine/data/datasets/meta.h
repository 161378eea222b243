/* meta.h: a dataset's description on disk, meta.json. Reading it is in dataset.h. */
#ifndef EP_ENGINE_DATA_DATASETS_META_H
#define EP_ENGINE_DATA_DATASETS_META_H

#include "engine/data/datasets/dataset.h"

/* Writes folder/meta.json, durably. */
ep_status ep_dataset_meta_write(const char *folder, const ep_dataset_meta *meta, ep_error *error);

#endif
