/* copy.h: folders of a data folder, copied or linked into a backup. For this folder's files alone.
 */
#ifndef EP_SERVER_BACKUP_COPY_H
#define EP_SERVER_BACKUP_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/status.h"
#include "engine/files/path.h"

typedef struct {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  char previous[EP_PATH_BYTES]; /* the newest backup; "" = none */
  char *sums;                   /* its SHA256SUMS in the order of paths; owned; NULL = none */
  const char *sums_at;          /* how far it was read */
  FILE *manifest;
  int64_t files, linked, copied_bytes;
} ep_backup_copy;

/* Copies the files of from/<kind>/<name> to to/<kind>/<name>, which is created. final: they do not
 * change any more. EP_NOT_FOUND: it has gone; nothing of it is left. Folders come in the order of
 * their paths. */
ep_status ep_backup_copy_folder(ep_backup_copy *copy, const char *kind, const char *name,
                                bool final, ep_error *error);
/* Copies the whole lines of from/<name>, which a daemon may append to; no file is no failure. */
ep_status ep_backup_copy_lines(ep_backup_copy *copy, const char *name, ep_error *error);
/* Writes the manifest's line of a file below `to`. */
ep_status ep_backup_copy_note(ep_backup_copy *copy, const char *path, ep_error *error);

#endif
