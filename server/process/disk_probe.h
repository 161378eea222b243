/* disk_probe.h: whether the data folder takes what is written, and has room. A thread writes and
 * syncs a small file in DATA/tmp when it is asked: a disk that hangs holds up no other thread. */
#ifndef EP_SERVER_PROCESS_DISK_PROBE_H
#define EP_SERVER_PROCESS_DISK_PROBE_H

#include "api/status.h"

/* Writes and syncs the file in this thread. EP_UNAVAILABLE: why the folder is not ready. */
ep_status ep_disk_probe_write(const char *data_dir, ep_error *error);

typedef struct ep_disk_probe ep_disk_probe;

/* error: NULL, or why the folder is not ready. full: NULL, or why a folder that is ready has no
 * room for new work (engine/files/free_space.h). */
typedef void ep_disk_probe_done(void *context, const ep_error *error, const ep_error *full);

/* Part of the caller's own struct; it must live until `done` is called. */
typedef struct ep_disk_probe_request {
  ep_disk_probe_done *done;
  void *context;
  struct ep_disk_probe_request *next; /* the probe's */
} ep_disk_probe_request;

/* data_dir: lent. */
ep_status ep_disk_probe_create(const char *data_dir, ep_disk_probe **out, ep_error *error);
/* Waits for a check that runs; requests that wait fail. NULL is allowed. */
void ep_disk_probe_destroy(ep_disk_probe *probe);

/* Calls `done` once, with a check that was made a second ago at most: from this thread or the
 * probe's. Where a check takes longer than some seconds, with EP_UNAVAILABLE at once. Thread-safe.
 */
void ep_disk_probe_ask(ep_disk_probe *probe, ep_disk_probe_request *request);

#endif
