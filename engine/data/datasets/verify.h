/* verify.h: whether a stored dataset is what was written. */
#ifndef EP_ENGINE_DATA_DATASETS_VERIFY_H
#define EP_ENGINE_DATA_DATASETS_VERIFY_H

#include <stdatomic.h>

#include "engine/data/datasets/dataset.h"

/* Reads all parts of the folder, or its weights, and holds them against the checksums of meta.json;
 * a part that was read a short time ago is not read again (engine/files/verified.h). Calls `alive`
 * every second at least; NULL is allowed. EP_DAMAGED, with the name of the part; EP_CANCELLED once
 * *cancel is set, which may be NULL. */
ep_status ep_dataset_verify(const char *folder, void (*alive)(void *context), void *context,
                            const atomic_bool *cancel, ep_error *error);

#endif
