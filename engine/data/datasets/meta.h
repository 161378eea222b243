/* meta.h: meta.json, the description of a dataset in its folder. */
#ifndef EP_ENGINE_DATA_DATASETS_META_H
#define EP_ENGINE_DATA_DATASETS_META_H

#include "api/status.h"
#include "engine/data/datasets/dataset.h"

/* Writes folder/meta.json, durably. */
ep_status ep_dataset_meta_write(const char *folder, const ep_dataset_meta *meta, ep_error *error);

/* Reads folder/meta.json. *out is the caller's: ep_dataset_meta_deinit. */
ep_status ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error);

/* The same without the descriptions of columns, whose counts are there. *text_bytes: of the file,
 * all of which is read; after a failure too. */
ep_status ep_dataset_summary_read(const char *folder, ep_dataset_meta *out, int64_t *text_bytes,
                                  ep_error *error);

/* The response to GET /v1/datasets/{name}:
 * {"object":"dataset","name":…,"format":…,"sha256":…,"bytes":…,
 * "rows":…,"parts":{"train":{"table":{"rows":…,"columns":…,"dtype":…}}},"columns":[{"name","type","missing","distinct","min","max","categories"}…]}
 * Owned by the caller (free); NULL when memory is short. */
char *ep_dataset_meta_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                             int64_t created_us, bool private);
/* An item of GET /v1/datasets: the same without "columns" and "target_columns"; `meta` needs none.
 */
char *ep_dataset_summary_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                                int64_t created_us, bool private);

#endif
