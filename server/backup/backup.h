/* backup.h: epochd --backup DIR: a copy of the data folder, while a daemon runs on it or not.
 *
 *   DIR/2026-11-23T07:06:42Z/   a data folder: copy it, and start a daemon on the copy
 *     SHA256SUMS                of every file, for sha256sum -c
 *   DIR/partial/                what a backup that runs has written so far
 *
 * The store is copied at one moment. Files of its jobs and datasets follow: those of ended jobs and
 * of datasets never change; of the others a start needs what a crash would have left. What was
 * deleted while the backup ran is not in it. A file that the newest backup has already, by size and
 * time, is a hard link to it, once its hash was compared; so backups are never written to. Where
 * the second's name is taken, the backup waits for the next one: names are in the order in which
 * backups were made, unless the clock is set back. */
#ifndef EP_SERVER_BACKUP_BACKUP_H
#define EP_SERVER_BACKUP_BACKUP_H

#include <stdint.h>

#include "api/status.h"
#include "engine/files/path.h"

/* Of a backup that was made. */
typedef struct {
  char path[EP_PATH_BYTES];
  int64_t jobs, files, linked, copied_bytes;
} ep_backup_summary;

/* Makes DIR where it is missing. EP_CONFLICT: another backup is being written there. */
ep_status ep_backup_make(const char *data_dir, const char *folder, ep_backup_summary *out,
                         ep_error *error);

#endif
