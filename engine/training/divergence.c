#include "engine/training/divergence.h"

#include <math.h>

#include "engine/training/segment.h"

static const double far = 10; /* of values that first weights take in their stride */

/* Exports the state after `steps` steps of the segment from `first_step`; t->finite says whether
 * its weights are. */
static ep_status segment_replay(ep_trainer *t, int64_t first_step, int64_t steps, ep_error *error) {
  t->exported = false;
  ep_status status = t->job->backend_ops->rollback(t->instance, error);
  if (status == EP_OK && steps > 0) status = ep_segment_run(t, first_step, steps, error);
  return status == EP_OK ? ep_trainer_export(t, error) : status;
}

ep_status ep_divergence_restore(ep_trainer *t, int64_t first_step, int64_t bad, ep_error *error) {
  int64_t good = 0;
  ep_status status = segment_replay(t, first_step, bad, error);
  if (status != EP_OK || t->finite) return status;
  while (bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    status = segment_replay(t, first_step, middle, error);
    if (status != EP_OK) return status;
    if (t->finite)
      good = middle;
    else
      bad = middle;
  }
  return segment_replay(t, first_step, good, error);
}

/* What lies far from what first weights expect and is not scaled, as ", or standardize y". */
static const char *unscaled_remedy(const ep_trainer *t) {
  const ep_data_spec *data = &t->job->spec->data;
  const ep_data_shape *shape = &t->plan->shape;
  bool y = !ep_loss_is_classifier(t->job->spec->loss) && !data->standardize_y &&
           fmax(fabs(shape->target_min), fabs(shape->target_max)) > far;
  bool x = !data->standardize_x && !data->normalize && data->scale == 0 &&
           !t->data.scaling.encoding && fmax(fabs(shape->x_min), fabs(shape->x_max)) > far;
  return x && y ? ", or standardize x and y"
         : y    ? ", or standardize y"
         : x    ? ", or standardize x"
                : "";
}

ep_status ep_divergence_fail(const ep_trainer *t, double loss, ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  int64_t epoch = t->step / t->steps_per_epoch + (t->step < t->steps_total);
  int64_t lowest = t->course.lowest_epoch < epoch ? t->course.lowest_epoch : epoch - 1;
  /* of the first step after the lowest epoch; without a whole epoch, of the step that broke */
  double rose = ep_schedule_lr(&t->schedule, lowest > 0 ? lowest * t->steps_per_epoch : t->step);
  bool cycle = spec->schedule.type == EP_SCHEDULE_ONE_CYCLE;
  return ep_fail_at(error, EP_DIVERGED, cycle ? "/schedule/max_lr" : "/optimizer/lr",
                    "the loss became %s in epoch %lld; it began to rise in epoch %lld at a "
                    "learning rate of %g: try %g%s",
                    isnan(loss) ? "NaN" : "infinite", (long long)epoch, (long long)(lowest + 1),
                    rose, rose / 10, unscaled_remedy(t));
}
