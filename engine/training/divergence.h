/* divergence.h: what happens when a loss, or the weights at the end, are not finite. */
#ifndef EP_ENGINE_TRAINING_DIVERGENCE_H
#define EP_ENGINE_TRAINING_DIVERGENCE_H

#include "engine/training/trainer.h"

/* Restores the last finite weights of the segment from first_step: those before its step `bad`,
 * whose loss was not finite, or earlier ones, found by bisection, where a saturated network hid it.
 */
ep_status ep_divergence_restore(ep_trainer *trainer, int64_t first_step, int64_t bad,
                                ep_error *error);

/* EP_DIVERGED with the epoch and what to try. loss: the first that was not finite, at
 * trainer->step; steps_total where the weights alone show it. */
ep_status ep_divergence_fail(const ep_trainer *trainer, double loss, ep_error *error);

#endif
