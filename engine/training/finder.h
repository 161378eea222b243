/* finder.h: "find": "lr": a training of a few steps whose rate grows, instead of the job's. */
#ifndef EP_ENGINE_TRAINING_FINDER_H
#define EP_ENGINE_TRAINING_FINDER_H

#include "engine/training/trainer.h"

/* Trains up to EP_LIMIT_FOUND_STEPS steps, or until the loss explodes, and leaves result->found: no
 * weights, no metrics. EP_CANCELLED, EP_PAUSED (a start begins anew), or an error of the device. */
ep_status ep_finder_run(ep_trainer *trainer, ep_job_result *result, ep_error *error);

#endif
