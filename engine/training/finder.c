#include "engine/training/finder.h"

#include "engine/training/rules/proposal.h"
#include "engine/training/segment.h"

static ep_status stop_look(const ep_trainer *t, ep_error *error) {
  if (atomic_load_explicit(t->job->cancel, memory_order_relaxed))
    return ep_fail(error, EP_CANCELLED, "cancelled before the rate was found");
  if (t->job->pause && atomic_load_explicit(t->job->pause, memory_order_relaxed))
    return ep_fail(error, EP_PAUSED, "paused before the rate was found");
  return EP_OK;
}

ep_status ep_finder_run(ep_trainer *t, ep_job_result *result, ep_error *error) {
  ep_found_lr *found = &result->found;
  bool goes_on = true;
  ep_status status = EP_OK;
  while (goes_on && (status = stop_look(t, error)) == EP_OK) {
    int64_t left = EP_LIMIT_FOUND_STEPS - found->count, most = t->job->segment_steps_most;
    int64_t first = found->count, steps = t->segment_steps < left ? t->segment_steps : left;
    if (most > 0 && steps > most) steps = most;
    for (int64_t i = 0; i < steps; i++) t->lr[i] = (float)ep_range_lr((int)(first + i));
    ep_segment segment = {first, steps, t->lr, steps, t->loss, t->errors};
    double start = ep_seconds_now();
    status = t->job->backend_ops->train_segment(t->instance, &segment, error);
    double seconds = ep_seconds_now() - start;
    if (status != EP_OK) return status;
    t->seconds += seconds;
    ep_trainer_alive(t);
    for (int64_t i = 0; i < steps && goes_on; i++)
      goes_on = ep_range_add(found, (double)t->lr[i], (double)t->loss[i]);
    ep_segment_adapt(t, steps, seconds);
  }
  ep_range_propose(found);
  result->train_seconds = ep_nanoseconds_round(t->seconds);
  return status;
}
