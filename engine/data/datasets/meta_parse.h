/* meta_parse.h: the text of meta.json, read without a tree of its columns: that of 65,536 takes
 * 50 MB. */
#ifndef EP_ENGINE_DATA_DATASETS_META_PARSE_H
#define EP_ENGINE_DATA_DATASETS_META_PARSE_H

#include <stddef.h>

#include "api/status.h"
#include "engine/data/datasets/dataset.h"

/* path: of the file, for messages. columns: false leaves them out; their counts are read. *out:
 * zeroed; the caller's to deinit, empty after a failure. *reserved_bytes: written; what its columns
 * took of ep_reserve. */
ep_status ep_meta_parse(const char *text, size_t bytes, const char *path, bool columns,
                        ep_dataset_meta *out, int64_t *reserved_bytes, ep_error *error);

#endif
