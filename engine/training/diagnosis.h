/* diagnosis.h: what a training that ended without a fault says of itself: sentences that become
 * warnings, each with what to change. */
#ifndef EP_ENGINE_TRAINING_DIAGNOSIS_H
#define EP_ENGINE_TRAINING_DIAGNOSIS_H

#include "api/wire/result.h"
#include "engine/training/trainer.h"

/* Looks at the outputs [rows, out_features] of a split, by which `constant` of the trainer is set:
 * the last split that has rows is the one that judges. */
void ep_diagnosis_observe(ep_trainer *trainer, ep_split split, const float *outputs);

/* After the results: writes result->warnings. Dead units are looked for by a sample of the training
 * rows, on an instance of the network's first layers each; what cannot be found out is not said. */
void ep_diagnosis_make(ep_trainer *trainer, ep_job_result *result);

#endif
