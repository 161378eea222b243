/* segment.h: segments of training: what the device does between two decisions of the host. */
#ifndef EP_ENGINE_TRAINING_SEGMENT_H
#define EP_ENGINE_TRAINING_SEGMENT_H

#include "engine/training/trainer.h"

/* The host comes back for progress and to see a cancel about this often. */
#define EP_SEGMENT_SECONDS 0.05
enum { EP_SEGMENT_STEPS_MAX = 1 << 16 };

/* Steps of the next segment: about EP_SEGMENT_SECONDS of work, but with a validation split at most
 * up to the end of the next epoch that is reported, whose weights are evaluated; nor past the end
 * of trainer->layers.due, or a time-lapse's next moment. */
int64_t ep_segment_steps(const ep_trainer *trainer);

/* Trains `steps` steps from first_step; trainer->loss and trainer->errors are written. */
ep_status ep_segment_run(ep_trainer *trainer, int64_t first_step, int64_t steps, ep_error *error);

/* Sets the length of the next segment by what one of `steps` steps took. */
void ep_segment_adapt(ep_trainer *trainer, int64_t steps, double seconds);

#endif
