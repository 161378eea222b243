/* ingest.h: from an uploaded file to the folder of a dataset: unpack, recognise, read, describe. */
#ifndef EP_ENGINE_DATA_FORMATS_INGEST_H
#define EP_ENGINE_DATA_FORMATS_INGEST_H

#include "engine/data/formats/format.h"

/* Reads the open regular file `source` (CSV, JSON, NPY, NPZ, IDX, safetensors, a ZIP or TAR of
 * pictures, gz of any), checks every value and writes the parts and meta.json into the existing,
 * empty folder `folder` (each file fsynced). `max_output_bytes` bounds what may be written. Errors
 * name row and column, both counted from 1 as an editor does: "row 17 has 3 cells, row 1 has 4". On
 * failure what it wrote is the caller's to remove. */
ep_status ep_dataset_ingest(int source, const char *folder, const ep_ingest_options *options,
                            int64_t max_output_bytes, ep_dataset_meta *out, ep_error *error);

/* The same of an upload that is one array, x or y of one split. */
ep_status ep_dataset_ingest_part(int source, const char *folder, ep_split split, ep_role role,
                                 const ep_ingest_options *options, int64_t max_output_bytes,
                                 ep_dataset_meta *out, ep_error *error);

/* sha256: of a file; becomes that of the dataset which is read from it with these options: the same
 * bytes read in another way are another content. */
ep_status ep_dataset_sha256(const ep_ingest_options *options, char sha256[EP_SHA256_HEX_BYTES],
                            ep_error *error);

/* Finds the format of the bytes and reads them. EP_MEDIA_TYPE when none knows them. */
ep_status ep_ingest_bytes(ep_ingest *ingest, ep_error *error);

#endif
