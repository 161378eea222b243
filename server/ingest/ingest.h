/* ingest.h: files of others are read in a process of their own: `epochd --ingest`. It has the files
 * open, writes in one folder, and stands behind walls (engine/sandbox/sandbox.h). A file that makes
 * it crash, hang or grow ends that process, and the request gets an error.
 *
 * Thread-safe. */
#ifndef EP_SERVER_INGEST_INGEST_H
#define EP_SERVER_INGEST_INGEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"
#include "engine/data/formats/format.h"
#include "engine/data/sources/path_source.h"

typedef struct {
  const char *program;  /* epochd, lent; NULL = this one */
  int64_t memory_bytes; /* that reading a file may take; 0 = the limit */
  int64_t seconds;      /* the same */
  atomic_bool stopping; /* no file is read any more; what is being read ends with EP_UNAVAILABLE */
} ep_ingest_settings;

typedef struct {
  const ep_path_source *source; /* open files; lent */
  /* Of an upload: how it is read, and where its faults go one by one. NULL: files that a path
   * names. Those that can be mapped are described where they lie, in the format "path"; others are
   * copied first, since they may change.
   */
  const ep_ingest_options *options;
  /* Of pictures to predict: the folder has rows of the options' size then
   * (engine/data/inputs/picture_rows.h). */
  bool predicts;
  bool deep; /* of these: the network was trained on 16 bits a channel */
  int64_t max_output_bytes;
} ep_ingest_task;

/* An ep_exchange_is_abandoned and the like: whether nobody waits any more. */
typedef bool ep_ingest_abandoned(void *context);

/* Reads the files into the empty folder, which holds a content or a description then
 * (engine/data/datasets/dataset.h); what a failure leaves there is the caller's to remove.
 * EP_TOO_LARGE: it takes more time or memory than is allowed. EP_INTERNAL: the process has crashed
 * or was killed. EP_CANCELLED: `abandoned` (NULL = never) returned true. */
ep_status ep_ingest_run(ep_ingest_settings *settings, const ep_ingest_task *task,
                        const char *folder, ep_ingest_abandoned *abandoned, void *context,
                        ep_error *error);

#define EP_INGEST_ARGUMENT "--ingest"

/* The main of the process: takes one request from its standard input, a socket. Returns its exit
 * status. */
int ep_ingest_serve(void);

#endif
