/* format.h: the formats that a dataset may come in. A format is one file and one row in the table
 * of ingest.c. It sees bytes and writes parts (part_writer.h). */
#ifndef EP_ENGINE_DATA_FORMATS_FORMAT_H
#define EP_ENGINE_DATA_FORMATS_FORMAT_H

#include "engine/data/datasets/dataset.h"

typedef struct {
  const uint8_t *bytes; /* [size], the content, not packed; lent */
  size_t size;
  const char *folder; /* where parts go; NULL: the content is checked and nothing written */
  ep_ingest_options options;
  int64_t budget_bytes; /* what may still be written */
  /* What an upload of one array is: train and table unless it came as a part. A format of many
   * arrays takes a part only from a file that has just one. */
  ep_split split;
  ep_role role;
  ep_dataset_meta *meta; /* the parts are described here; owned by the caller, also on failure */
} ep_ingest;

typedef struct {
  const char *name;
  /* Looks at the first bytes only. */
  bool (*recognise)(const uint8_t *bytes, size_t size);
  ep_status (*read)(ep_ingest *ingest, ep_error *error);
} ep_format;

extern const ep_format ep_format_npy, ep_format_idx, ep_format_npz, ep_format_safetensors,
    ep_format_flat_json, ep_format_csv;

/* A new file that has no name, in `folder` (in memory where that is NULL): for what is unpacked.
 * Closing it is the caller's. */
ep_status ep_ingest_temporary(const char *folder, int *file, ep_error *error);

/* Finds the format of the bytes and reads them. EP_MEDIA_TYPE when none knows them. */
ep_status ep_ingest_bytes(ep_ingest *ingest, ep_error *error);

#endif
