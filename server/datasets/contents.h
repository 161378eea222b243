/* contents.h: DATA/datasets/<sha256>: data and weights by the SHA-256 of their bytes. A content
 * goes when no name means it and nobody has it pinned.
 *
 * Thread-safe. */
#ifndef EP_SERVER_DATASETS_CONTENTS_H
#define EP_SERVER_DATASETS_CONTENTS_H

#include "api/json/problem.h"
#include "api/names.h"
#include "engine/data/datasets/dataset.h"
#include "server/datasets/pins.h"
#include "server/ingest/ingest.h"
#include "server/store/store.h"

typedef struct {
  const char *data_dir;      /* lent, absolute */
  ep_store *store;           /* lent */
  int64_t max_path_bytes;    /* of a file that a path names and that must be copied */
  ep_ingest_settings ingest; /* how files of others are read */
  ep_pins pins;              /* contents by SHA-256, and jobs that ended, by id */
} ep_contents;

/* data_dir, store, max_path_bytes and ingest are filled in by the caller, before the first use. */
void ep_contents_init(ep_contents *contents);
void ep_contents_deinit(ep_contents *contents);

/* Pins the content that a dataset's name means and writes its SHA-256. A name that means nothing,
 * or is hidden from `by`, goes into *problem, at `pointer`. */
ep_status ep_contents_pin(ep_contents *contents, const ep_viewer *by, const char *name,
                          const char *pointer, char sha256[EP_SHA256_HEX_BYTES],
                          ep_problem *problem);

/* Moves an ingested folder to DATA/datasets/<sha256>, or removes it when that content is there and
 * undamaged; a damaged one is replaced. EP_CONFLICT: the same bytes are there, read in another way.
 * The caller has the content pinned. */
ep_status ep_contents_place(ep_contents *contents, const char *ingested,
                            const ep_dataset_meta *meta, ep_error *error);

/* How many bytes a file of `file_bytes` may take as a content: "1," is 2 bytes as CSV and 8 as a
 * float64, and a gz of such a table is less. */
int64_t ep_contents_limit(int64_t file_bytes);

/* Removes a content that has no name and no pin; none while a name's row is damaged, because it may
 * mean this content. */
void ep_contents_collect(ep_contents *contents, const char *sha256);

/* A content that no name means has a file EP_UNNAMED_FILE in its folder, so that a start removes it
 * once nothing needs it. It is on disk before the row of its last name goes, and removed after the
 * first name's is on disk: a content without it that no row knows is not removed but kept in
 * DATA/lost+found. */
#define EP_UNNAMED_FILE "unnamed"
bool ep_contents_marked(const ep_contents *contents, const char *sha256);
ep_status ep_contents_mark(const ep_contents *contents, const char *sha256, ep_error *error);
void ep_contents_unmark(const ep_contents *contents, const char *sha256);

/* Looks at an entry of DATA/datasets at the daemon's start, when all jobs have their pins. strange:
 * jobs were found that no row knows and may need it, so it is not removed. */
void ep_contents_look(ep_contents *contents, const char *name, bool strange);

#endif
