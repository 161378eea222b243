/* proposal.h: a learning rate from the losses of a training whose rate grows (L. Smith, "Cyclical
 * Learning Rates for Training Neural Networks", 2015, section 3.3: the LR range test). */
#ifndef EP_ENGINE_TRAINING_RULES_PROPOSAL_H
#define EP_ENGINE_TRAINING_RULES_PROPOSAL_H

#include "api/rates/found.h"

/* The rate of a step, from 0: from 1e-8 up to 10, as many steps in each power of ten. */
double ep_range_lr(int step);

/* Adds the loss of the next step. False: the losses have exploded (one is not finite, or the
 * smoothed one is over four times the least and twice the first), or there are all steps. */
bool ep_range_add(ep_found_lr *found, double lr, double loss);

/* Sets steepest, least and proposal, once all steps are there: where the smoothed loss falls
 * fastest, from a hundredth of the rate of the least one on; that rate; and the smaller of the one
 * and a tenth of the other. NaN where it falls nowhere. */
void ep_range_propose(ep_found_lr *found);

#endif
