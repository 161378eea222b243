/* report.h: what an epoch yields: the mean loss of its rows, the validation split, and a record for
 * the sink. */
#ifndef EP_ENGINE_TRAINING_REPORT_H
#define EP_ENGINE_TRAINING_REPORT_H

#include "engine/training/trainer.h"

/* The loss explodes where it has risen in so many reports, from its lowest by such a factor. */
enum { EP_EXPLOSION_RISES = 3, EP_EXPLOSION_FACTOR = 10 };

/* Sets epoch_weight by the steps of the present epoch that are done: after a checkpoint. */
void ep_epoch_weigh(ep_trainer *trainer);

/* Adds the first `steps` losses of the segment that just ran to their epochs, and reports the
 * epochs that end among them. `seconds`: what the whole segment of `segment` steps took. */
ep_status ep_losses_report(ep_trainer *trainer, int64_t steps, int64_t segment, double seconds,
                           ep_error *error);

/* Reports one epoch: evaluates the validation split where `loss` is finite, and acts on it
 * (schedule, best weights, early stopping). seconds: of training until then. */
ep_status ep_epoch_report(ep_trainer *trainer, int64_t epoch, double loss, double seconds,
                          ep_error *error);

#endif
