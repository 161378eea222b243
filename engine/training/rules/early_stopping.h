/* early_stopping.h: which epoch was the best by the validation split, its weights, and when to
 * stop. */
#ifndef EP_ENGINE_TRAINING_RULES_EARLY_STOPPING_H
#define EP_ENGINE_TRAINING_RULES_EARLY_STOPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "api/spec/spec.h"

typedef struct {
  const ep_job_spec *spec; /* lent */
  double best;             /* the metric's least value so far */
  int64_t lowest_epoch;    /* which had it; 0 = none yet */
  double kept;             /* the metric of the last epoch that is as good, within the tolerance, */
  int64_t kept_epoch;      /* and that epoch, whose weights are kept; 0 = none yet */
  int64_t best_epoch; /* the same, or where a resumed training began: patience counts from it */
  bool stops;         /* patience has run out */
  float *state;       /* room for the best weights; NULL unless they are kept; owned */
  float *optimizer;   /* room for the optimizer's state, within `state` */
} ep_early_stopping;

/* state_floats, optimizer_floats: of the program. */
ep_status ep_early_stopping_init(ep_early_stopping *early_stopping, const ep_job_spec *spec,
                                 int64_t state_floats, int64_t optimizer_floats, ep_error *error);
void ep_early_stopping_deinit(ep_early_stopping *early_stopping);

/* Tells the metric, of which less is better, after `epoch`; true when it is the best so far, by
 * more than min_delta, or worse by no more than the tolerance. A NaN never is. Sets `stops` once
 * `patience` epochs have passed without such a one. */
bool ep_early_stopping_observe(ep_early_stopping *early_stopping, int64_t epoch, double metric);

#endif
