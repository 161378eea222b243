/* format.h: the formats that a dataset may come in. A format is one file and one row in the table
 * of ingest.c. It sees bytes and writes parts (part_writer.h). */
#ifndef EP_ENGINE_DATA_FORMATS_FORMAT_H
#define EP_ENGINE_DATA_FORMATS_FORMAT_H

#include "api/json/problem.h"
#include "engine/data/datasets/dataset.h"
#include "engine/files/excerpt.h"
#include "engine/files/mapping.h"

/* How to read a CSV, JSON or pictures; zeros mean: find out. */
typedef struct {
  int height, width; /* of pictures; 0: the commonest, as pictures.c says */
  int channels;      /* of pictures: 1 or 3; 0: 1 if all are grey */
  const char *table; /* of a JSON object of several: the name of one; NULL or "": it is one; lent */
  const char *sha256; /* of the file, lent; NULL: nobody has hashed it */
  bool skip_broken;   /* pictures that cannot be read are left out */
  ep_problem *faults; /* gets the faults of a refused file one by one, where the format finds
                         several; lent, NULL: nobody looks at them */
  ep_dialect dialect; /* of a text: keys that are set are obeyed, others found */
} ep_ingest_options;

typedef struct {
  const uint8_t *bytes; /* [size], the content, not packed; lent */
  size_t size;
  bool mapped;        /* the bytes are a mapping's, of which what was read may be dropped */
  const char *folder; /* where parts go; NULL: the content is checked and nothing written */
  ep_ingest_options options;
  int64_t budget_bytes; /* what may still be written */
  /* What an upload of one array is: train and table unless it came as a part. A format of many
   * arrays takes a part only from a file that has just one. */
  ep_split split;
  ep_role role;
  /* What a format unpacked, to be read next, and its name if other files lie beside it. ingest.c
   * closes it. */
  ep_mapping inside;
  char inside_name[EP_EXCERPT_PATH_BYTES];
  ep_dataset_meta *meta; /* the parts are described here; owned by the caller, also on failure */
} ep_ingest;

typedef struct {
  const char *name;
  /* Looks at the first bytes only; of a ZIP at its directory too. */
  bool (*recognise)(const uint8_t *bytes, size_t size);
  ep_status (*read)(ep_ingest *ingest, ep_error *error);
} ep_format;

extern const ep_format ep_format_npy, ep_format_idx, ep_format_npz, ep_format_pictures,
    ep_format_safetensors, ep_format_json, ep_format_csv;

#endif
