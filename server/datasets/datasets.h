/* datasets.h: names of datasets, and what each means: a content (contents.h).
 *
 * Thread-safe. */
#ifndef EP_SERVER_DATASETS_DATASETS_H
#define EP_SERVER_DATASETS_DATASETS_H

#include <pthread.h>

#include "engine/data/datasets/rows.h"
#include "server/datasets/contents.h"
#include "server/datasets/summaries.h"

typedef struct {
  ep_contents *contents; /* lent */
  /* Held while a name moves from one content to another. Lock order: naming first, then the mutex
   * of the pins or of the store; no function that holds one of these takes naming. */
  pthread_mutex_t naming;
  ep_summaries summaries;
} ep_datasets;

void ep_datasets_init(ep_datasets *datasets, ep_contents *contents);
void ep_datasets_deinit(ep_datasets *datasets);

/* ep_ingest_run, as this daemon is set. */
ep_status ep_datasets_ingest(ep_datasets *datasets, const ep_ingest_task *task, const char *folder,
                             ep_ingest_abandoned *abandoned, void *context, ep_error *error);

/* Who uploads, or deletes. */
typedef struct {
  const char *owner;
  bool admin;            /* may replace and delete others' */
  int64_t quota_bytes;   /* of all the owner's datasets; 0 = none */
  bool private;          /* what is uploaded; a name that is there keeps what it has, */
  bool visibility_given; /* unless the request says */
} ep_uploader;

/* What is to be said of a dataset that was stored, or deleted. */
enum { EP_DATASET_LINES = 2 };
typedef struct {
  char beside[EP_LIMIT_NAME_BYTES + 1]; /* the name that was asked for, is taken, and can be
                                           replaced; "": none */
  char line[EP_DATASET_LINES][EP_MESSAGE_BYTES];
  int count;
} ep_dataset_told;

/* Moves the folder `ingested` (engine/data/datasets/dataset.h) into the contents and names it.
 * *created: false when the name was there and means the new content from here on; its owner stays.
 * EP_FORBIDDEN: it is another owner's; EP_BUSY: beyond the quota. */
ep_status ep_datasets_put(ep_datasets *datasets, const char *name, const ep_uploader *by,
                          const char *ingested, ep_dataset_told *told, bool *created,
                          ep_error *error);
/* The same where no name is to mean something else: one that means other rows, or is another
 * owner's, stays what it is, and `name` becomes NAME-2, NAME-3, …, the first that is free or means
 * these rows. The same file read otherwise takes the place of one that no job has read.
 * EP_CONFLICT: there are too many. */
ep_status ep_datasets_put_beside(ep_datasets *datasets, char name[EP_LIMIT_NAME_BYTES + 1],
                                 const ep_uploader *by, const char *ingested, ep_dataset_told *told,
                                 bool *created, ep_error *error);
/* The same of one part (ep_dataset_ingest_part): the name then means this part and the others that
 * it had. EP_CONFLICT: it means a table or weights. */
ep_status ep_datasets_put_part(ep_datasets *datasets, const char *name, const ep_uploader *by,
                               const char *ingested, ep_dataset_told *told, bool *created,
                               ep_error *error);
enum { EP_DATASET_ETAG_BYTES = EP_SHA256_HEX_BYTES + 32 };
/* The dataset as JSON text, the caller's; etag: its SHA-256, how many jobs read it, and whether it
 * is private. told: NULL: it was not stored just now. */
ep_status ep_datasets_get(ep_datasets *datasets, const char *name, const ep_viewer *viewer,
                          const ep_dataset_told *told, char **text,
                          char etag[EP_DATASET_ETAG_BYTES], ep_error *error);
/* Some of its rows (engine/data/datasets/rows.h) as JSON text, the caller's; etag: its SHA-256. */
ep_status ep_datasets_rows(ep_datasets *datasets, const char *name, const ep_rows_page *page,
                           char **text, char etag[EP_DATASET_ETAG_BYTES], ep_error *error);
/* A page of what the viewer sees as JSON text, the caller's: up to `limit` by name, from the one
 * after `after` (NULL = from the first). Fewer where many columns must be read for them: then there
 * are more. */
ep_status ep_datasets_list(ep_datasets *datasets, const ep_viewer *viewer, const char *after,
                           int64_t limit, char **text, ep_error *error);
/* Who sees it, as by->private says. EP_FORBIDDEN: it is another owner's. */
ep_status ep_datasets_show(ep_datasets *datasets, const char *name, const ep_uploader *by,
                           ep_error *error);
/* EP_CONFLICT: a job that has not ended needs it; EP_FORBIDDEN: it is another owner's. */
ep_status ep_datasets_delete(ep_datasets *datasets, const char *name, const ep_uploader *by,
                             ep_dataset_told *told, ep_error *error);

#endif
