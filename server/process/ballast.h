/* ballast.h: DATA/ballast, a file of zeros that keeps room on the disk for deletes. On a full disk
 * the store cannot commit even a delete, and a folder cannot be moved. The ballast is cut for that
 * step, and filled again with what the step has freed.
 *
 * Thread-safe: one step at a time has the room of the ballast. */
#ifndef EP_SERVER_PROCESS_BALLAST_H
#define EP_SERVER_PROCESS_BALLAST_H

#include "api/status.h"

/* Lets the file grow to EP_LIMIT_BALLAST_BYTES, or as far as the disk has room. */
void ep_ballast_fill(const char *data_dir);
/* Cuts it to nothing: a daemon starts with all the room there is, and fills it afterwards. */
void ep_ballast_cut(const char *data_dir);

/* Something that frees room. Is called twice where the disk was full the first time. */
typedef ep_status ep_ballast_step(void *context, ep_error *error);

/* Calls the step; where the disk is full, once more with the ballast cut. */
ep_status ep_ballast_run(const char *data_dir, ep_ballast_step *step, void *context,
                         ep_error *error);

#endif
