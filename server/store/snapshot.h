/* snapshot.h: a copy of the store, and a walk over its jobs: for a backup. */
#ifndef EP_SERVER_STORE_SNAPSHOT_H
#define EP_SERVER_STORE_SNAPSHOT_H

#include "server/store/store.h"

/* Copies the database at `from`, which a daemon may be writing to, into the new file `to`, as it is
 * at one moment. Not synced. */
ep_status ep_store_snapshot(const char *from, const char *to, ep_error *error);

typedef struct {
  char id[EP_ID_BYTES];
  bool ended;
} ep_walked_job;

/* Jobs in the order of their ids, from the one after `after` on. jobs: [limit], of which *count are
 * written. */
ep_status ep_store_jobs_walk(ep_store *store, const char *after, ep_walked_job *jobs, int limit,
                             int *count, ep_error *error);

#endif
