/* list.h: the checkpoints of a job and the moments of its time-lapse, by their files' names. A
 * moment is the weights after an epoch, as a weights file. */
#ifndef EP_ENGINE_CHECKPOINTS_LIST_H
#define EP_ENGINE_CHECKPOINTS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"
#include "engine/files/path.h"

/* Steps of the checkpoints in a job's folder, the newest first. *steps is the caller's (free). */
ep_status ep_checkpoints_list(const char *job_folder, int64_t **steps, int64_t *count,
                              ep_error *error);

/* JOB/checkpoint-<step>.safetensors. path: [EP_PATH_BYTES], written. */
ep_status ep_checkpoint_path(const char *job_folder, int64_t step, char *path, ep_error *error);

/* Removes all but the `most` newest. */
ep_status ep_checkpoints_prune(const char *job_folder, int64_t most, ep_error *error);

/* Removes those beyond `step`: a training that starts there writes them anew. -1: all. */
ep_status ep_checkpoints_remove_after(const char *job_folder, int64_t step, ep_error *error);

/* JOB/moment-<epoch>.safetensors. path: [EP_PATH_BYTES], written. */
ep_status ep_moment_path(const char *job_folder, int64_t epoch, char *path, ep_error *error);

/* Epochs of the moments in a job's folder, the oldest first. *epochs is the caller's (free). */
ep_status ep_moments_list(const char *job_folder, int64_t **epochs, int64_t *count,
                          ep_error *error);

/* As ep_checkpoints_remove_after, of moments. */
ep_status ep_moments_remove_after(const char *job_folder, int64_t epoch, ep_error *error);

#endif
