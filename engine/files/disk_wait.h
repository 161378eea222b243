/* disk_wait.h: waits for the disk, several at the same time: the disk takes hardly longer for all
 * of them than for one. */
#ifndef EP_ENGINE_FILES_DISK_WAIT_H
#define EP_ENGINE_FILES_DISK_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"

enum { EP_DISK_WAITS_MOST = 8 };

/* For what was written to a file, or for the names in a folder. */
typedef struct {
  int file;         /* open; -1: it is a folder */
  const char *path; /* of the folder; of a file what it is called where it fails; lent */
} ep_disk_wait;

/* Returns when all are on disk, or with the first failure once all are over. A failed wait for
 * a file is not to be repeated before the same was written anew: the system may have forgotten what
 * it could not write.
 * count: 1 to EP_DISK_WAITS_MOST. */
ep_status ep_disk_waits(const ep_disk_wait *waits, int count, ep_error *error);

/* Around a call that may wait for the disk, so that ep_disk_wait_active notices. By any thread. */
void ep_disk_wait_begin(void);
void ep_disk_wait_end(void);

/* Whether a thread of this process waits for the disk, or one has since *seen, which is brought up
 * to date (0 at first). A thread that waits for the disk cannot report that it goes on; another
 * one does, by this. By any thread. */
bool ep_disk_wait_active(uint64_t *seen);

#endif
