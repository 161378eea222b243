/* folder.h: the data folder of a relay's worker, on the node: made new, and removed at the end. */
#ifndef EP_ENGINE_WORKER_RELAY_FOLDER_H
#define EP_ENGINE_WORKER_RELAY_FOLDER_H

#include "engine/files/path.h"
#include "engine/tunnel/parcel.h"
#include "engine/worker/relay/held.h"

enum {
  EP_FOLDER_FILES = 320
}; /* of a job, that are remembered, moments too: more are sent again */

/* A file of the job as it was sent last. */
typedef struct {
  char name[128];
  int64_t bytes, changed_ns;
} ep_sent_file;

typedef struct {
  char path[EP_PATH_BYTES], shared[EP_PATH_BYTES]; /* shared: "" = there is none */
  char base[EP_PATH_BYTES];                        /* $TMPDIR, or /tmp */
  int root;                                        /* descriptor of `path` */
  char job[EP_ID_BYTES];                           /* "" = none */
  ep_sent_file sent[EP_FOLDER_FILES];
  int sent_count;
} ep_relay_folder;

/* Below $TMPDIR, or /tmp. */
ep_status ep_relay_folder_open(ep_relay_folder *folder, const char *shared, ep_error *error);
void ep_relay_folder_close(ep_relay_folder *folder); /* removes it */

/* A job begins; the files in its folder came from the gateway, which has them, and so did its data
 * sets, which stay on the node (node_datasets.h). */
ep_status ep_relay_folder_begin(ep_relay_folder *folder, const char *job, ep_error *error);
/* There is no job: the folders of jobs are removed. */
ep_status ep_relay_folder_clear(ep_relay_folder *folder, ep_error *error);
/* The connection has ended. Nothing counts as sent, and what came of data sets for a job that has
 * not begun is removed: files may be missing. */
void ep_relay_folder_forget(ep_relay_folder *folder);

/* Whether the worker has this folder, "datasets/<sha256>", or now has it by a link to the shared
 * folder, or to what another relay left on the node. */
bool ep_relay_folder_has(ep_relay_folder *folder, const char *name);

/* Begins to send the next file of the job's folder that has changed since it was sent; *done: there
 * is none. A file of trials is sent from where it was. */
ep_status ep_relay_folder_send(ep_relay_folder *folder, ep_held_files which, ep_channel *channel,
                               ep_outgoing *out, bool *done, ep_error *error);
/* Queues the names of all files of the job's folder. */
ep_status ep_relay_folder_names(ep_relay_folder *folder, ep_channel *channel, ep_error *error);

#endif
