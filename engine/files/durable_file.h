/* durable_file.h: a file that is either there whole or not at all: written under a temporary name,
 * fsynced, renamed, its folder fsynced. Knows the SHA-256 of what was written. */
#ifndef EP_ENGINE_FILES_DURABLE_FILE_H
#define EP_ENGINE_FILES_DURABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "api/cancellation.h"
#include "api/names.h"
#include "api/status.h"

typedef struct ep_durable_file ep_durable_file;

#define EP_TEMPORARY_SUFFIX ".tmp"
/* Starts path with that suffix; a leftover of that name is overwritten. One writer a path. */
ep_status ep_durable_file_create(const char *path, ep_durable_file **out, ep_error *error);
ep_status ep_durable_file_write(ep_durable_file *file, const void *bytes, size_t count,
                                ep_error *error);
/* Later writes, and the commit, fail with EP_CANCELLED once `stop` requests the end. */
void ep_durable_file_heed(ep_durable_file *file, const ep_cancellation *stop);
/* Waits until the disk has what was written so far. */
ep_status ep_durable_file_sync(ep_durable_file *file, ep_error *error);
/* Puts it in place and destroys the handle, whatever the outcome; on failure nothing is left.
 * sha256: [EP_SHA256_HEX_BYTES] hex, bytes: the size; both may be NULL. */
ep_status ep_durable_file_commit(ep_durable_file *file, char sha256[EP_SHA256_HEX_BYTES],
                                 int64_t *bytes, ep_error *error);
/* Gives it up: the temporary file is removed. NULL is allowed. */
void ep_durable_file_abandon(ep_durable_file *file);

/* Files of one folder that are put in place together, with one wait for the disk: they get their
 * names, then their contents and the names are synced side by side. So a crash of the machine
 * before the commit has returned may leave names whose contents are torn: a group is for files that
 * nobody looks at until something that is written afterwards says that they are there, as a job's
 * row does. Starts as {0}. */
enum { EP_DURABLE_GROUP_MOST = 4 };
typedef struct {
  ep_durable_file *file[EP_DURABLE_GROUP_MOST]; /* owned */
  int count;
} ep_durable_group;

/* Takes ownership of a file whose last byte was written, also on failure. sha256 and bytes as in
 * ep_durable_file_commit. The group has room. */
ep_status ep_durable_group_take(ep_durable_group *group, ep_durable_file *file,
                                char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error);
/* Moves all files of `from`, which is empty afterwards, behind those of `to`, which has room. */
void ep_durable_group_move(ep_durable_group *from, ep_durable_group *to);
/* Puts all in place; the group is empty afterwards, whatever the outcome. On failure nothing is
 * left. */
ep_status ep_durable_group_commit(ep_durable_group *group, ep_error *error);
void ep_durable_group_abandon(ep_durable_group *group);

/* write(2) until all is written. EP_UNAVAILABLE: the disk is full, or would be left with less than
 * its reserve (free_space.h). */
ep_status ep_file_write_all(int file, const void *bytes, size_t count, ep_error *error);
/* Writes a file, open for both, again as it is read, so that the next sync writes every page: a
 * sync that failed makes the system forget pages that it still shows. Nobody else writes meanwhile.
 */
ep_status ep_file_rewrite(int file, ep_error *error);
/* Makes the names in a folder durable. */
ep_status ep_durable_folder_sync(const char *folder, ep_error *error);

#endif
