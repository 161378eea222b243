/* checkpointing.h: when a training writes checkpoints, and how it goes on from one. The state is
 * copied between two segments; a thread writes the copy while the device trains. */
#ifndef EP_ENGINE_TRAINING_CHECKPOINTING_H
#define EP_ENGINE_TRAINING_CHECKPOINTING_H

#include "engine/training/trainer.h"

/* After the weights are made and before they go to the device: takes those of the newest checkpoint
 * that can be used, and sets how far the training is. t->resumed says what was found. */
ep_status ep_checkpoint_resume(ep_trainer *t, ep_error *error);

/* Between two segments: begins a checkpoint if it is time and the training is not too young. What
 * cannot be written is told to the sink, and the training goes on. EP_DEVICE: the device is not
 * sound. */
ep_status ep_checkpoint_if_due(ep_trainer *t, ep_error *error);

/* Begins one now, of whatever age the training is, unless no step was done or the last one is of
 * this step. */
ep_status ep_checkpoint_begin(ep_trainer *t, ep_error *error);

/* After the last step: begins one, unless the training is too young. Of a young one whose best
 * weights replace the last ones, the state is copied, for ep_checkpoint_begin during the results.
 * With folds or repeats, which follow, age does not matter. */
ep_status ep_checkpoint_last_begin(ep_trainer *t, ep_error *error);

/* Waits for the one that is being written. */
void ep_checkpoint_finish(ep_trainer *t);

/* After the last: removes those that an ended job does not keep, and notes what is left of them and
 * of snapshots in result->stored. */
void ep_checkpoints_settle(const ep_trainer *t, ep_job_result *result);

void ep_checkpointing_deinit(ep_trainer *t);

/* Moments: the weights after every so many epochs, a file each, for a time-lapse. */

/* Whether this training stores moments: its spec says so, and it has a folder. */
bool ep_moments_wanted(const ep_trainer *t);

/* Before the first step: removes moments beyond the epoch where the training starts, which come
 * again, and stores the first one, of the first weights. */
ep_status ep_moments_begin(ep_trainer *t, ep_error *error);

/* Between two segments: stores a moment where an epoch has ended that is one. A moment that the
 * disk refuses is left out: a training does not wait for its picture. EP_DEVICE: the device is not
 * sound. */
ep_status ep_moment_if_due(ep_trainer *t, ep_error *error);

/* After the last step: the end is a moment, whichever epoch it is. */
ep_status ep_moments_end(ep_trainer *t, ep_error *error);

#endif
