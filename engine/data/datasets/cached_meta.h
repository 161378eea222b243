/* cached_meta.h: the descriptions that were read last, held in memory: jobs that come after one
 * another use the same data, and reading what describes images takes longer than a small training.
 */
#ifndef EP_ENGINE_DATA_DATASETS_CACHED_META_H
#define EP_ENGINE_DATA_DATASETS_CACHED_META_H

#include <sys/stat.h>

#include "engine/data/datasets/dataset.h"

/* A copy of what was read of this very file (the same path, the same inode, unchanged since), the
 * caller's to deinit; false when it is not held, or memory is short. Any thread. */
bool ep_cached_meta_find(const char *path, const struct stat *file, ep_dataset_meta *out);

/* Holds a copy, for what was held longest, unless it is too large or memory is short. */
void ep_cached_meta_add(const char *path, const struct stat *file, const ep_dataset_meta *meta);

#endif
