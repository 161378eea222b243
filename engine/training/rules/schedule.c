#include "engine/training/rules/schedule.h"

#include <math.h>

void ep_schedule_init(ep_schedule *schedule, const ep_job_spec *spec, int64_t steps_per_epoch) {
  *schedule = (ep_schedule){.spec = &spec->schedule,
                            .base_lr = spec->optimizer.lr,
                            .epochs = spec->epochs,
                            .steps_per_epoch = steps_per_epoch,
                            .plateau_lr = spec->optimizer.lr,
                            .best = INFINITY};
}

/* From `start` to `end` along half a cosine, as `part` goes from 0 to 1. */
static double cosine_between(double start, double end, double part) {
  return end + (start - end) * 0.5 * (1 + cos(3.14159265358979323846 * part));
}

static double multi_step_lr(const ep_schedule *schedule, int64_t epoch) {
  int passed = 0;
  while (passed < schedule->spec->milestones_count && schedule->spec->milestones[passed] <= epoch)
    passed++;
  return schedule->base_lr * pow(schedule->spec->gamma, passed);
}

/* L. Smith and N. Topin, "Super-Convergence", 2017; momentum is left alone. */
static double one_cycle_lr(const ep_schedule *schedule, int64_t step) {
  const ep_schedule_spec *spec = schedule->spec;
  double last = (double)(schedule->epochs * schedule->steps_per_epoch) - 1;
  double peak = spec->pct_start * (last + 1) - 1; /* the step of the greatest lr */
  double first_lr = spec->max_lr / spec->div_factor;
  if ((double)step <= peak)
    return peak > 0 ? cosine_between(first_lr, spec->max_lr, (double)step / peak) : spec->max_lr;
  double part = last > peak ? ((double)step - peak) / (last - peak) : 1;
  return cosine_between(spec->max_lr, first_lr / spec->final_div_factor, part);
}

static double epoch_lr(const ep_schedule *schedule, int64_t epoch) {
  const ep_schedule_spec *spec = schedule->spec;
  switch (spec->type) {
  case EP_SCHEDULE_STEP:
    return schedule->base_lr * pow(spec->gamma, (double)(epoch / spec->step_size));
  case EP_SCHEDULE_MULTI_STEP: return multi_step_lr(schedule, epoch);
  case EP_SCHEDULE_EXPONENTIAL: return schedule->base_lr * pow(spec->gamma, (double)epoch);
  case EP_SCHEDULE_COSINE:
    return cosine_between(schedule->base_lr, spec->eta_min, (double)epoch / (double)spec->t_max);
  case EP_SCHEDULE_PLATEAU: return schedule->plateau_lr;
  default: return schedule->base_lr;
  }
}

double ep_schedule_lr(const ep_schedule *schedule, int64_t step) {
  const ep_schedule_spec *spec = schedule->spec;
  if (spec->type == EP_SCHEDULE_ONE_CYCLE) return one_cycle_lr(schedule, step);
  double lr = epoch_lr(schedule, step / schedule->steps_per_epoch);
  int64_t warmup_steps = spec->warmup_epochs * schedule->steps_per_epoch;
  if (step >= warmup_steps) return lr;
  double part = (double)(step + 1) / (double)warmup_steps;
  return lr * (spec->warmup_factor + (1 - spec->warmup_factor) * part);
}

bool ep_schedule_is_constant(const ep_schedule *schedule) {
  return schedule->spec->type == EP_SCHEDULE_CONSTANT && schedule->spec->warmup_epochs == 0;
}

void ep_schedule_observe(ep_schedule *schedule, int64_t epoch, double metric) {
  const ep_schedule_spec *spec = schedule->spec;
  if (spec->type != EP_SCHEDULE_PLATEAU) return;
  double part = schedule->best < 0 ? -spec->threshold : spec->threshold;
  if (metric < schedule->best * (1 - part)) {
    schedule->best = metric;
    schedule->best_epoch = epoch;
  }
  if (epoch - schedule->best_epoch <= spec->patience) return;
  double lower = fmax(schedule->plateau_lr * spec->factor, spec->min_lr);
  if (schedule->plateau_lr - lower > 1e-8) schedule->plateau_lr = lower; /* torch's own eps */
  schedule->best_epoch = epoch;
}
