/* moments.h: the networks of a time-lapse: the weights after every so many epochs, a file each. */
#ifndef EP_ENGINE_TRAINING_MOMENTS_H
#define EP_ENGINE_TRAINING_MOMENTS_H

#include "engine/training/trainer.h"

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
