/* verified.h: which files were read whole, and are what was written. A file that is served or
 * trained on often is not hashed each time.
 *
 * A file is known by device, inode, size and times, and for EP_LIMIT_VERIFIED_SECONDS: a bit that
 * changes on the disk changes none of these, and shows only once the system has dropped the file
 * from memory and reads it again. Thread-safe. */
#ifndef EP_ENGINE_FILES_VERIFIED_H
#define EP_ENGINE_FILES_VERIFIED_H

#include <stdbool.h>
#include <sys/stat.h>

#include "api/hash/sha256.h"
#include "api/names.h"
#include "api/status.h"
#include "engine/files/mapping.h"

/* Whether this very file was found to have this hash or checksum a short time ago. */
bool ep_verified_find(const struct stat *file, const char *hash);
/* Remembers that it was. What was remembered first is forgotten. */
void ep_verified_add(const struct stat *file, const char *hash);

/* The SHA-256 of an open file; path: for messages. */
ep_status ep_file_sha256(int file, const char *path, char sha256[EP_SHA256_HEX_BYTES],
                         ep_error *error);

/* Holds a result of a job, an open file, against its SHA-256, unless it was a short time ago. path:
 * for messages. EP_DAMAGED, with the file's name and what can be done: it is another. */
ep_status ep_verified_sha256(int file, const char *path, const char *sha256, ep_error *error);
/* The same of a file that is opened for it. EP_NOT_FOUND without one. */
ep_status ep_verified_sha256_at(const char *path, const char *sha256, ep_error *error);

/* The end of a path below the data folder: "jobs/ID/NAME", "datasets/SHA256/NAME". */
const char *ep_stored_name(const char *path);

/* Both are the same file, unchanged. */
bool ep_file_is_same(const struct stat *a, const struct stat *b);

#endif
