/* parts.h: datasets put together of uploads of x and y. */
#ifndef EP_ENGINE_DATA_DATASETS_PARTS_H
#define EP_ENGINE_DATA_DATASETS_PARTS_H

#include "api/status.h"
#include "engine/data/datasets/dataset.h"

/* Completes the folder of a part (as ep_dataset_ingest_part left it) with the other parts of the
 * dataset in the folder `before` (NULL: there is none): their files are linked, not copied. The
 * result is in the format "parts"; its sha256 is that of the parts' hashes. EP_CONFLICT when
 * `before` holds no x and y apart. x and y may differ in rows until a job uses them. */
ep_status ep_dataset_complete(const char *folder, const char *before, ep_error *error);

/* Writes the meta.json of a folder that holds these parts; format, bytes and sha256 of *meta are
 * found, the last of the parts' names and hashes. */
ep_status ep_dataset_parts_write(const char *folder, ep_dataset_meta *meta, ep_error *error);

/* Whether the rows of the split are there to be predicted: test rows that came in one file with the
 * others, without targets. Of parts that were uploaded one by one the targets are still to come. */
bool ep_dataset_is_unlabelled(const ep_dataset_meta *meta, ep_split split);

/* Whether x and y that come apart can be trained on: EP_INVALID at /data/dataset when training data
 * is missing, x has no y or the other way round, their rows differ, or the columns of two sets. */
ep_status ep_dataset_pairs_check(const ep_dataset_meta *meta, ep_error *error);

#endif
