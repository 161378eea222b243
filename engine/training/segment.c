#include "engine/training/segment.h"

enum { SEGMENT_GROWTH_MAX = 16 };

int64_t ep_segment_steps(const ep_trainer *t) {
  int64_t steps = t->segment_steps;
  if (t->data.rows[EP_SPLIT_VALIDATION] > 0) {
    int64_t epoch = t->step / t->steps_per_epoch, every = t->job->spec->report_every;
    int64_t next = epoch == 0 && !t->job->last_alone ? 1 : (epoch / every + 1) * every;
    int64_t stop = next * t->steps_per_epoch;
    if (steps > stop - t->step) steps = stop - t->step;
  }
  if (t->layers.due > 0) {
    int64_t stop = t->layers.due * t->steps_per_epoch;
    if (steps > stop - t->step) steps = stop - t->step;
  }
  int64_t most = t->job->segment_steps_most;
  if (most > 0 && steps > most) steps = most;
  return steps < t->steps_total - t->step ? steps : t->steps_total - t->step;
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
