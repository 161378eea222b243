/* data_dir.h: the data_dir, and how files in it are written and removed so that a crash cannot hurt
 * them. The names of a job's files are in api/names.h.
 *
 *   DATA/lock                  held by the running daemon (flock), with its pid
 *   DATA/epochd.sqlite         the store
 *   DATA/jobs/<id>/            spec.json, events.ndjson, weights.safetensors, predictions.json,
 *                              predictions.csv; weights.json, .npz, .onnx once requested, each with
 *                              its hash in NAME.sha256; checkpoint-<step>.safetensors;
 *                              init.safetensors, of another job;
 *                              handover.bin, of an attempt that could not reach epochd;
 *                              crashes, where epochd died while the job ran
 *   DATA/datasets/<sha256>/    meta.json and one NPY file a part, or weights.safetensors
 *   DATA/audit.ndjson          who did what, where there are tokens: server/audit/audit.h
 *   DATA/ballast               room for deletes on a full disk: server/process/ballast.h
 *   DATA/calibration/          what work costs on each device: server/workers/calibrations.h
 *   DATA/lost+found/           what a start found and did not know, for a person to look at
 *   DATA/slurm/                certificate and key for workers of Slurm, hashes of their secrets
 *   DATA/tmp/                  emptied at the daemon's start */
#ifndef EP_SERVER_PROCESS_DATA_DIR_H
#define EP_SERVER_PROCESS_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "engine/files/path.h"

/* Creates the data_dir (0700) and the folders in it, locks it, empties tmp. A data_dir or a store
 * that others can open is closed to them, and logged. *lock_fd: the caller's; closing it releases
 * the lock. EP_CONFLICT: another daemon has the lock. */
ep_status ep_data_dir_open(const char *data_dir, int *lock_fd, ep_error *error);

/* Takes the lock alone, of a data_dir that is there, and writes this process's pid into its file.
 */
ep_status ep_data_dir_lock(const char *data_dir, int *lock_fd, ep_error *error);

/* Creates one folder (0700), unless it is there. EP_UNAVAILABLE: the disk is full. */
ep_status ep_data_dir_create(const char *path, ep_error *error);

/* Creates an empty folder in DATA/tmp with a name of its own and writes its path: [EP_PATH_BYTES].
 */
ep_status ep_data_dir_temporary(const char *data_dir, char *path, ep_error *error);

/* Removes a folder with all its files, if it is there. Does not follow symbolic links. */
ep_status ep_data_dir_remove(const char *path, ep_error *error);

/* Removes DATA/<kind>/<name> by way of DATA/tmp: after a crash it is there whole or not at all. On
 * a full disk it takes the room of the ballast. */
ep_status ep_data_dir_discard(const char *data_dir, const char *kind, const char *name,
                              ep_error *error);

/* Moves DATA/<kind>/<name> to DATA/lost+found, under that name with the time added, and logs it.
 * why: "is in no row". */
#define EP_LOST_FOLDER "lost+found"
ep_status ep_data_dir_keep(const char *data_dir, const char *kind, const char *name,
                           const char *why, ep_error *error);

/* Calls `visit` with the name of every entry of a folder but "." and "..". */
ep_status ep_data_dir_list(const char *path, void (*visit)(void *context, const char *name),
                           void *context, ep_error *error);

/* Writes a whole file; neither atomic nor synced. EP_UNAVAILABLE: the disk is full. */
ep_status ep_data_dir_write_file(const char *path, const char *text, size_t bytes, ep_error *error);

/* The sizes of a folder's files, added up. */
ep_status ep_data_dir_measure(const char *path, int64_t *bytes, ep_error *error);

bool ep_data_dir_exists(const char *path);

/* Makes the paths in a message that lie below the data_dir relative to it, so that
 * responses do not reveal its location. */
void ep_data_dir_shorten(const char *data_dir, char *text);

#endif
