/* train.h: one training from first weights to metrics, on any backend. */
#ifndef EP_ENGINE_TRAINING_TRAIN_H
#define EP_ENGINE_TRAINING_TRAIN_H

#include "api/wire/result.h"
#include "engine/training/training.h"

/* Runs a training. *result is always filled in: status says how it ended; a diverged or cancelled
 * job has the last finite weights. The caller owns it: ep_job_result_deinit. Returns EP_OK unless
 * the device failed (EP_DEVICE): then the process should end. */
ep_status ep_train(const ep_training *training, ep_job_result *result, ep_error *error);

#endif
