/* schedule.h: the learning rate of every step (torch.optim.lr_scheduler's formulas). */
#ifndef EP_ENGINE_TRAINING_RULES_SCHEDULE_H
#define EP_ENGINE_TRAINING_RULES_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/spec/spec.h"

/* Where reduce_on_plateau stands; the other schedules need no memory. */
typedef struct {
  const ep_schedule_spec *spec; /* lent */
  double base_lr;
  int64_t epochs, steps_per_epoch;
  double plateau_lr; /* what the plateaus so far have left of base_lr */
  double best;       /* the metric's best, and the epochs since */
  int64_t best_epoch;
} ep_schedule;

void ep_schedule_init(ep_schedule *schedule, const ep_job_spec *spec, int64_t steps_per_epoch);

/* The learning rate of a step, counted from the start of training. */
double ep_schedule_lr(const ep_schedule *schedule, int64_t step);

/* Whether all steps have the same one. */
bool ep_schedule_is_constant(const ep_schedule *schedule);

/* Tells the metric, of which less is better, after `epoch` (counted from 1): reduce_on_plateau
 * lowers the learning rate when it has not improved for more than `patience` epochs, and then
 * starts to count again. */
void ep_schedule_observe(ep_schedule *schedule, int64_t epoch, double metric);

#endif
