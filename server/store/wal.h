/* wal.h: whether the store's write-ahead log is whole, and on the disk. SQLite takes what is after
 * a damaged frame for the rest of an older log, and drops it without a word. For this folder's
 * files alone.
 *
 * Format: https://www.sqlite.org/fileformat2.html#walformat */
#ifndef EP_SERVER_STORE_WAL_H
#define EP_SERVER_STORE_WAL_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* Committed frames of the log that SQLite will not read: a disk has damaged one, or the power
 * failed while they were written. 0 of a log that is whole, or empty. A frame is committed if the
 * index says so (bytes of the file beside the log; what a process that was killed has left in it is
 * right), or if a commit that is right comes after it. What is behind is a transaction that was not
 * finished. bytes: [size]; index: [index_size], NULL if there is none. */
int64_t ep_store_wal_lost(const uint8_t *bytes, size_t size, const uint8_t *index,
                          size_t index_size);

/* Looks at the log beside the store at `path`, before SQLite does. If frames are lost, logs how
 * many and keeps a copy of the log beside it, with ".damaged" added. */
void ep_store_wal_check(const char *path);

/* Writes the log beside the store at `path` again, byte for byte, and syncs it and its name in
 * `folder`, if it is there. After a sync that failed the system may have forgotten pages that it
 * still shows, and the next sync succeeds without them: commits that were not synced, and with them
 * all that follow, would be lost at a power failure. Of a daemon that was killed the last commits
 * may be written and not synced, and whoever opens the store shows them. No commit is under way. */
ep_status ep_store_wal_secure(const char *path, const char *folder, ep_error *error);

#endif
