/* data_dir.h: the data folder and what is done to files in it so that a crash cannot hurt them.
 *
 *   DATA/lock                  held by the daemon that runs (flock), with its pid
 *   DATA/epochd.sqlite         the store
 *   DATA/jobs/<id>/            spec.json, events.ndjson, weights.safetensors, predictions.json;
 *                              weights.json, .npz, .onnx once they were asked for
 *   DATA/datasets/<sha256>/    meta.json and one NPY file a part, or weights.safetensors
 *   DATA/calibration/          what work costs on each device: calibrations.h
 *   DATA/tmp/                  emptied at start */
#ifndef EP_SERVER_PROCESS_DATA_DIR_H
#define EP_SERVER_PROCESS_DATA_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "api/status.h"

enum { EP_PATH_BYTES = 4096 };

/* Creates the folder (0700) and those in it, locks it, empties tmp. *lock_fd is the caller's to
 * close, which releases the lock. EP_CONFLICT when another daemon holds it. */
ep_status ep_data_dir_open(const char *data_dir, int *lock_fd, ep_error *error);

/* Creates one folder (0700); one that is there is fine. This and writing a file fail with
 * EP_UNAVAILABLE when the disk is full. */
ep_status ep_data_dir_create(const char *path, ep_error *error);

/* Writes "base/part/part…" (the parts end with NULL) to path: [EP_PATH_BYTES]; EP_TOO_LARGE when it
 * does not fit. */
ep_status ep_data_dir_path(char *path, ep_error *error, const char *base, ...)
    __attribute__((sentinel));

/* Creates an empty folder in DATA/tmp with a name of its own: path: [EP_PATH_BYTES], written. */
ep_status ep_data_dir_temporary(const char *data_dir, char *path, ep_error *error);

/* Removes a folder and all in it; one that is not there is fine. Symbolic links are not followed.
 */
ep_status ep_data_dir_remove(const char *path, ep_error *error);

/* Removes DATA/<kind>/<name> in two steps, by way of DATA/tmp, so that a crash leaves nothing half
 * removed where it can be seen. */
ep_status ep_data_dir_discard(const char *data_dir, const char *kind, const char *name,
                              ep_error *error);

/* Calls `visit` with the name of every entry of a folder but "." and "..". */
ep_status ep_data_dir_list(const char *path, void (*visit)(void *context, const char *name),
                           void *context, ep_error *error);

/* Writes a file in one go; neither atomic nor synced. */
ep_status ep_data_dir_write_file(const char *path, const char *text, size_t bytes, ep_error *error);

bool ep_data_dir_exists(const char *path);

#endif
