/* wal.h: whether the store's write-ahead log is whole. SQLite takes what is after a damaged frame
 * for the rest of an older log, and drops it without a word. For this folder's files alone.
 *
 * Format: https://www.sqlite.org/fileformat2.html#walformat */
#ifndef EP_SERVER_STORE_WAL_H
#define EP_SERVER_STORE_WAL_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* Frames of the log that SQLite will not read although they belong to it: a disk has damaged one,
 * or the power failed while they were written. 0 of a log that is whole, or empty.
 * bytes: [size]. */
int64_t ep_store_wal_lost(const uint8_t *bytes, size_t size);

/* Looks at the log beside the store at `path`, before SQLite does. If frames are lost, logs how
 * many and keeps a copy of the log beside it, with ".damaged" added. */
void ep_store_wal_check(const char *path);

/* Syncs that log and its name in `folder`, if it is there: of a daemon that was killed the last
 * commits may be written and not synced, and whoever opens the store shows them. */
ep_status ep_store_wal_sync(const char *path, const char *folder, ep_error *error);

#endif
