/* results.h: what a training leaves: weights, metrics, predictions, times. */
#ifndef EP_ENGINE_TRAINING_RESULTS_H
#define EP_ENGINE_TRAINING_RESULTS_H

#include "api/wire/result.h"
#include "engine/training/trainer.h"

/* Writes the weights, then the metrics of every split and the predictions of the test set: where
 * these fail, the weights stay. The files are put in place together: in a job of milliseconds the
 * waits for the disk are most of it. EP_PAUSED, of a trainer that is `pausable`: nothing is put in
 * place. */
ep_status ep_trainer_results(ep_trainer *trainer, ep_job_result *result, ep_error *error);

/* Metrics of a split with the present weights, and the outputs of the network that they came from:
 * [rows, out_features], owned by the caller; NULL for no rows. */
ep_status ep_trainer_measure(ep_trainer *trainer, ep_split split, ep_split_metrics *out,
                             float **outputs, ep_error *error);

#endif
