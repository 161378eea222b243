/* cached_meta.h: the descriptions that were read last, in memory: jobs that come after one another
 * use the same data, and reading what describes images takes longer than a small training. Who
 * finds one shares its columns.
 *
 * Thread-safe. */
#ifndef EP_ENGINE_DATA_DATASETS_CACHED_META_H
#define EP_ENGINE_DATA_DATASETS_CACHED_META_H

#include <sys/stat.h>

#include "engine/data/datasets/dataset.h"

/* What was read of this very file (the same path, the same inode, unchanged since), the caller's to
 * deinit; its columns are shared. False when it is not cached, or memory is short. */
bool ep_cached_meta_find(const char *path, const struct stat *file, ep_dataset_meta *out);

/* Caches it, for those that were used longest ago; its columns become shared. False: it is too
 * large, or memory is short. */
bool ep_cached_meta_add(const char *path, const struct stat *file, ep_dataset_meta *meta);

/* The most that all of them may take (EP_LIMIT_CACHED_META_BYTES_MIN until it is called). */
void ep_cached_metas_bound(int64_t bytes);
/* What they take. */
int64_t ep_cached_metas_bytes(void);
/* Forgets those larger than EP_LIMIT_SMALL_CACHED_BYTES that nobody used for so many seconds. */
void ep_cached_metas_expire(int64_t seconds);

#endif
