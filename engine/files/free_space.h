/* free_space.h: the reserve: bytes on a disk that new work leaves free, so that accepted work
 * (rows, logs, checkpoints, weights) can be stored. New work is what epochd writes for a client:
 * uploads, what they unpack to, copies of files that a path names, exported formats, submissions.
 *
 * One reserve for the process, set before its threads start. Where none is set (a worker) nothing
 * is checked. Thread-safe. */
#ifndef EP_ENGINE_FILES_FREE_SPACE_H
#define EP_ENGINE_FILES_FREE_SPACE_H

#include <stdint.h>

#include "api/status.h"

/* bytes: 0 or more; -1: none. */
void ep_free_space_reserve(int64_t bytes);
int64_t ep_free_space_reserved(void); /* -1: none is set */

/* Whether so many bytes can be written beside the reserve. file: an open file, or a folder.
 * EP_UNAVAILABLE: they cannot. */
ep_status ep_free_space_check(int file, int64_t bytes, ep_error *error);
/* The same of the disk that a folder lies on. */
ep_status ep_free_space_check_folder(const char *folder, int64_t bytes, ep_error *error);

#endif
