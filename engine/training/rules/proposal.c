#include "engine/training/rules/proposal.h"

#include <math.h>

static const double first_lr = 1e-8, last_lr = 10;
/* Of the running mean: it goes over some ten steps, half a power of ten. */
static const double kept = 0.8;
static const double explosion = 4;
/* Of the rate at which the loss is least: below, steps are too short for what their losses differ
 * by to be more than noise. */
static const double range = 0.01;
/* A fall by less than this part of the first loss is none. */
static const double noise = 1e-4;
enum {
  SLOPE_STEPS = 3,  /* on both sides of a step, from which its slope is taken */
  SETTLED_STEPS = 5 /* before which the running mean is of too few to be a least one */
};

double ep_range_lr(int step) {
  return first_lr * pow(last_lr / first_lr, (double)step / (EP_LIMIT_FOUND_STEPS - 1));
}

/* Of the steps from `first` on that have a finite mean; -1: none. */
static int least_find(const ep_found_lr *found, int first) {
  int least = -1;
  for (int i = first; i < found->count; i++)
    if (isfinite(found->smoothed[i]) && (least < 0 || found->smoothed[i] < found->smoothed[least]))
      least = i;
  return least;
}

bool ep_range_add(ep_found_lr *found, double lr, double loss) {
  int at = found->count;
  if (at == EP_LIMIT_FOUND_STEPS) return false;
  /* the mean without the bias of its beginning: weights kept^i (1 - kept) over 1 - kept^n */
  double mass = 1 - pow(kept, at), sum = at > 0 ? found->smoothed[at - 1] * mass : 0;
  found->lr[at] = lr;
  found->loss[at] = loss;
  found->smoothed[at] = (kept * sum + (1 - kept) * loss) / (1 - pow(kept, at + 1));
  found->count++;
  int least = least_find(found, 0);
  found->exploded =
      !isfinite(loss) || least < 0 ||
      (at >= SETTLED_STEPS && found->smoothed[at] > explosion * found->smoothed[least] &&
       found->smoothed[at] > explosion * found->smoothed[0] / 2);
  return !found->exploded && found->count < EP_LIMIT_FOUND_STEPS;
}

void ep_range_propose(ep_found_lr *found) {
  found->steepest = found->least = found->proposal = NAN;
  int least = least_find(found, SETTLED_STEPS), steepest = -1;
  double slope = -noise * fabs(found->smoothed[0]);
  for (int i = SLOPE_STEPS; i + SLOPE_STEPS < found->count && i <= least; i++) {
    double fall = found->smoothed[i + SLOPE_STEPS] - found->smoothed[i - SLOPE_STEPS];
    if (found->lr[i] >= range * found->lr[least] && fall < slope) slope = fall, steepest = i;
  }
  if (least < 0 || steepest < 0) return; /* it has not fallen */
  found->steepest = found->lr[steepest];
  found->least = found->lr[least];
  found->proposal = fmin(found->steepest, found->least / 10);
}
