/* replay.h: where a job ended that trained for seconds and left no checkpoint. Its training is
 * repeated, which ends with the same bits, and leaves one. */
#ifndef EP_ENGINE_WORKER_REPLAY_H
#define EP_ENGINE_WORKER_REPLAY_H

#include "engine/training/training.h"

/* A job that goes on where another one ended needs a checkpoint of it. Where there is none, that
 * job is trained again, with the device, the cancel and the sign of life of `job`, in a folder
 * below job->job_folder, and its last checkpoint is moved to job->init_weights. */
ep_status ep_replay_make(const ep_training *job, const char *data_dir, ep_error *error);

#endif
