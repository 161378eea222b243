/* durable_file.h: a file that is either there whole or not at all: written under a temporary name,
 * fsynced, renamed, its folder fsynced. Knows the SHA-256 of what was written. */
#ifndef EP_ENGINE_DATA_DURABLE_FILE_H
#define EP_ENGINE_DATA_DURABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct ep_durable_file ep_durable_file;

/* Starts path with ".tmp" added; a leftover of that name is overwritten. One writer a path. */
ep_status ep_durable_file_create(const char *path, ep_durable_file **out, ep_error *error);
ep_status ep_durable_file_write(ep_durable_file *file, const void *bytes, size_t count,
                                ep_error *error);
/* Puts it in place and destroys the handle, whatever the outcome; on failure nothing is left.
 * sha256: [65] hex, bytes: the size; both may be NULL. */
ep_status ep_durable_file_commit(ep_durable_file *file, char sha256[65], int64_t *bytes,
                                 ep_error *error);
/* Gives it up: the temporary file is removed. NULL is allowed. */
void ep_durable_file_abandon(ep_durable_file *file);

/* write(2) until all is written. */
ep_status ep_file_write_all(int file, const void *bytes, size_t count, ep_error *error);
/* Makes the names in a folder durable. */
ep_status ep_durable_folder_sync(const char *folder, ep_error *error);

#endif
