#include "engine/training/segment.h"

#include "engine/training/checkpointing.h"

enum { SEGMENT_GROWTH_MAX = 16 };

/* Steps until the next epoch that is a multiple of `every`. */
static int64_t steps_until(const ep_trainer *t, int64_t every) {
  int64_t epoch = t->step / t->steps_per_epoch;
  return (epoch / every + 1) * every * t->steps_per_epoch - t->step;
}

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t ep_segment_steps(const ep_trainer *t) {
  const ep_job_spec *spec = t->job->spec;
  int64_t steps = t->segment_steps;
  if (t->data.rows[EP_SPLIT_VALIDATION] > 0) {
    bool first = t->step < t->steps_per_epoch && !t->job->last_alone;
    steps = lesser(steps, steps_until(t, first ? 1 : spec->report_every));
  }
  if (t->layers.due > 0) steps = lesser(steps, t->layers.due * t->steps_per_epoch - t->step);
  if (ep_moments_wanted(t)) steps = lesser(steps, steps_until(t, spec->timelapse_every));
  int64_t most = t->job->segment_steps_most;
  if (most > 0 && steps > most) steps = most;
  return lesser(steps, t->steps_total - t->step);
}

ep_status ep_segment_run(ep_trainer *t, int64_t first_step, int64_t steps, ep_error *error) {
  int64_t lr_count = ep_schedule_is_constant(&t->schedule) ? 1 : steps;
  for (int64_t i = 0; i < lr_count; i++)
    t->lr[i] = (float)ep_schedule_lr(&t->schedule, first_step + i);
  ep_segment segment = {first_step, steps, t->lr, lr_count, t->loss, t->errors};
  t->exported = false;
  t->steps_run += steps;
  return t->job->backend_ops->train_segment(t->instance, &segment, error);
}

void ep_segment_adapt(ep_trainer *t, int64_t steps, double seconds) {
  double fitting = seconds > 0 ? (double)steps * EP_SEGMENT_SECONDS / seconds : 1e18;
  double most = (double)steps * SEGMENT_GROWTH_MAX;
  if (fitting > most) fitting = most;
  if (fitting > EP_SEGMENT_STEPS_MAX) fitting = EP_SEGMENT_STEPS_MAX;
  t->segment_steps = fitting < 1 ? 1 : (int64_t)fitting;
}
