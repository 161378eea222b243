#include "engine/training/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/parallel.h"
#include "engine/training/trainer.h"

const double ep_segment_seconds = 0.05;
enum { SEGMENT_GROWTH_MAX = 16 };
enum { SEARCHED_LEAST = 1 << 18 }; /* values that are worth a thread */

double ep_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double ep_nanoseconds_round(double seconds) {
  return round(seconds * 1e9) / 1e9;
}

void ep_trainer_alive(const ep_trainer *t) {
  if (t->job->sink.alive) t->job->sink.alive(t->job->sink.context);
}

/* Runs `steps` steps from `first_step`; t->loss and t->errors are written. */
static ep_status segment_run(ep_trainer *t, int64_t first_step, int64_t steps, ep_error *error) {
  int64_t lr_count = ep_schedule_is_constant(&t->schedule) ? 1 : steps;
  for (int64_t i = 0; i < lr_count; i++)
    t->lr[i] = (float)ep_schedule_lr(&t->schedule, first_step + i);
  ep_segment segment = {first_step, steps, t->lr, lr_count, t->loss, t->errors};
  t->exported = false;
  return t->job->backend_ops->train_segment(t->instance, &segment, error);
}

static bool epoch_is_reported(const ep_trainer *t, int64_t epoch) {
  const ep_job_spec *spec = t->job->spec;
  return epoch % spec->report_every == 0 || epoch == spec->epochs;
}

/* Steps of the next segment: about segment_seconds of work, but with a validation split no further
 * than the end of the next epoch that is reported, because its weights are looked at then. */
static int64_t segment_length(const ep_trainer *t) {
  int64_t steps = t->segment_steps;
  if (t->data.rows[EP_SPLIT_VALIDATION] > 0) {
    int64_t epoch = t->step / t->steps_per_epoch, every = t->job->spec->report_every;
    int64_t stop = (epoch / every + 1) * every * t->steps_per_epoch;
    if (steps > stop - t->step) steps = stop - t->step;
  }
  return steps < t->steps_total - t->step ? steps : t->steps_total - t->step;
}

static void segment_adapt(ep_trainer *t, int64_t steps, double seconds) {
  double fitting = seconds > 0 ? (double)steps * ep_segment_seconds / seconds : 1e18;
  double most = (double)steps * SEGMENT_GROWTH_MAX;
  if (fitting > most) fitting = most;
  if (fitting > EP_SEGMENT_STEPS_MAX) fitting = EP_SEGMENT_STEPS_MAX;
  t->segment_steps = fitting < 1 ? 1 : (int64_t)fitting;
}

/* What follows from a look at the validation split: the best weights are kept, the schedule may
 * lower the learning rate, and early stopping may end the training. */
static ep_status validation_judge(ep_trainer *t, const ep_progress_record *record,
                                  ep_error *error) {
  bool by_error = t->job->spec->early_stopping_error;
  double metric = by_error ? record->validation_error : record->validation_loss;
  ep_schedule_observe(&t->schedule, record->epoch, record->validation_loss);
  bool best = ep_early_stopping_observe(&t->selection, record->epoch, metric);
  if (!best || !t->selection.state) return EP_OK;
  const ep_program *program = &t->plan->program;
  float *optimizer = program->optimizer_floats ? t->selection.optimizer : NULL;
  return t->job->backend_ops->export_state(t->instance, t->selection.state, optimizer, error);
}

static ep_status epoch_report(ep_trainer *t, int64_t epoch, double loss, double seconds,
                              ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_progress_record record = {.epoch = epoch,
                               .loss = loss,
                               .error = NAN,
                               .validation_loss = NAN,
                               .validation_error = NAN,
                               .lr = ep_schedule_lr(&t->schedule, epoch * t->steps_per_epoch - 1),
                               .elapsed_seconds = ep_nanoseconds_round(seconds)};
  bool classifier = ep_loss_is_classifier(spec->loss);
  double columns = (double)t->plan->program.target_columns;
  if (classifier && isfinite(loss)) /* else the epoch was not counted to its end */
    record.error = (double)t->epoch_errors / ((double)t->data.rows[EP_SPLIT_TRAIN] * columns);
  int64_t validation_rows = t->data.rows[EP_SPLIT_VALIDATION], wrong = 0;
  if (validation_rows > 0 && isfinite(loss)) {
    ep_status status = t->job->backend_ops->evaluate(t->instance, EP_SPLIT_VALIDATION,
                                                     &record.validation_loss, &wrong, error);
    if (status != EP_OK) return status;
    if (classifier) record.validation_error = (double)wrong / ((double)validation_rows * columns);
    status = validation_judge(t, &record, error);
    if (status != EP_OK) return status;
  }
  if (t->job->sink.epoch) t->job->sink.epoch(t->job->sink.context, &record);
  return EP_OK;
}

/* Adds the first `steps` losses of the segment that just ran to their epochs, and reports the
 * epochs that end among them. `seconds`: what the whole segment of `segment` steps took. */
static ep_status losses_collect(ep_trainer *t, int64_t steps, int64_t segment, double seconds,
                                ep_error *error) {
  for (int64_t i = 0; i < steps; i++) {
    t->epoch_loss += t->loss[i];
    t->epoch_errors += t->errors[i];
    t->step++;
    if (t->step % t->steps_per_epoch != 0) continue;
    int64_t epoch = t->step / t->steps_per_epoch;
    if (epoch_is_reported(t, epoch)) {
      double elapsed = t->seconds + seconds * (double)(i + 1) / (double)segment;
      double mean = t->epoch_loss / (double)t->steps_per_epoch;
      ep_status status = epoch_report(t, epoch, mean, elapsed, error);
      if (status != EP_OK) return status;
    }
    t->epoch_loss = 0;
    t->epoch_errors = 0;
  }
  return EP_OK;
}

int64_t ep_first_not_finite(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return i;
  return count;
}

/* Many values, looked at by several threads. */
typedef struct {
  const float *values;
  atomic_bool found;
} finite_search;

static void values_search(void *context, int64_t first, int64_t count) {
  enum { BLOCK = 4096 }; /* without a branch: what a compiler makes vectors of */
  finite_search *search = context;
  const uint32_t infinite = UINT32_C(0x7f800000);
  bool found = false;
  for (int64_t block = first; block < first + count && !found; block += BLOCK) {
    int64_t end = block + BLOCK < first + count ? block + BLOCK : first + count;
    for (int64_t i = block; i < end; i++) {
      uint32_t bits;
      memcpy(&bits, &search->values[i], sizeof bits);
      found |= (bits & infinite) == infinite;
    }
  }
  if (found) atomic_store(&search->found, true);
}

static bool all_finite(const float *values, int64_t count) {
  finite_search search = {.values = values};
  ep_parallel_run(count, SEARCHED_LEAST, values_search, &search);
  return !search.found;
}

ep_status ep_trainer_export(ep_trainer *t, ep_error *error) {
  int64_t count = ep_program_state_floats(&t->plan->program);
  if (t->exported) return EP_OK;
  ep_status status = t->job->backend_ops->export_state(t->instance, t->state, t->optimizer, error);
  t->exported = status == EP_OK;
  t->finite = t->exported && all_finite(t->state, count);
  return status;
}

/* The state after `steps` steps of the segment from `first_step`; t->finite is whether its weights
 * are. */
static ep_status segment_replay(ep_trainer *t, int64_t first_step, int64_t steps, ep_error *error) {
  t->exported = false;
  ep_status status = t->job->backend_ops->rollback(t->instance, error);
  if (status == EP_OK && steps > 0) status = segment_run(t, first_step, steps, error);
  return status == EP_OK ? ep_trainer_export(t, error) : status;
}

/* Goes back to the last finite weights of the segment, which are those before its step `bad` (whose
 * loss was not finite) or, should a saturated network have hidden it, some before: found by
 * bisection. */
static ep_status last_finite_restore(ep_trainer *t, int64_t first_step, int64_t bad,
                                     ep_error *error) {
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

/* The first step whose loss was not finite is t->step; steps_total when only the weights show it.
 */
static ep_status diverged(ep_trainer *t, double loss, ep_error *error) {
  int64_t epoch = t->step / t->steps_per_epoch + (t->step < t->steps_total);
  return ep_fail_at(error, EP_DIVERGED, "/optimizer/lr",
                    "the loss became %s in epoch %lld: try a learning rate below %g%s",
                    isnan(loss) ? "NaN" : "infinite", (long long)epoch, t->job->spec->optimizer.lr,
                    t->job->spec->data.standardize_x ? "" : ", or standardize x");
}

/* One segment and what the host has to do after it. */
static ep_status segment_step(ep_trainer *t, ep_error *error) {
  int64_t first_step = t->step, steps = segment_length(t);
  ep_status status = t->job->backend_ops->snapshot(t->instance, error);
  if (status != EP_OK) return status;
  double start = ep_seconds_now();
  status = segment_run(t, first_step, steps, error);
  if (status != EP_OK) return status;
  double seconds = ep_seconds_now() - start;
  ep_trainer_alive(t);

  int64_t finite = ep_first_not_finite(t->loss, steps);
  double bad_loss = finite < steps ? t->loss[finite] : NAN;
  bool last = first_step + steps == t->steps_total;
  status = losses_collect(t, finite, steps, seconds, error);
  if (t->job->sink.segment) t->job->sink.segment(t->job->sink.context);
  t->seconds += seconds;
  if (status != EP_OK) return status;
  if (finite == steps) {
    segment_adapt(t, steps, seconds);
    if (!last) return EP_OK;
    status = ep_trainer_export(t, error);
    if (status != EP_OK || t->finite) return status;
  }
  if (finite < steps)
    status = epoch_report(t, t->step / t->steps_per_epoch + 1, bad_loss, t->seconds, error);
  if (status == EP_OK) status = last_finite_restore(t, first_step, finite, error);
  return status == EP_OK ? diverged(t, bad_loss, error) : status;
}

/* The training loop: everything that is decided on the host between two segments. */
static ep_status epochs_run(ep_trainer *t, ep_error *error) {
  while (t->step < t->steps_total && !t->selection.stops) {
    if (atomic_load_explicit(t->job->cancel, memory_order_relaxed))
      return ep_fail(error, EP_CANCELLED, "cancelled after epoch %lld",
                     (long long)(t->step / t->steps_per_epoch));
    ep_status status = segment_step(t, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

/* With "keep": "best" the weights of the best epoch take the place of the last ones. */
static ep_status best_restore(ep_trainer *t, ep_error *error) {
  if (!t->selection.state || t->selection.best_epoch == 0) return EP_OK;
  const ep_program *program = &t->plan->program;
  float *optimizer = program->optimizer_floats ? t->selection.optimizer : NULL;
  t->exported = false;
  return t->job->backend_ops->import_state(t->instance, t->selection.state, optimizer, error);
}

ep_status ep_train(const ep_training *training, ep_job_result *result, ep_error *error) {
  ep_trainer t = {.job = training};
  ep_error failure = {0};
  *result = (ep_job_result){0};
  snprintf(result->device, sizeof result->device, "%s", training->device);

  ep_status status = ep_trainer_init(&t, &failure);
  if (status == EP_OK) {
    ep_instance_info info;
    training->backend_ops->instance_info(t.instance, &info);
    snprintf(result->executor, sizeof result->executor, "%s", info.executor);
    result->parameters = t.plan->parameters;
    if (training->sink.started)
      training->sink.started(training->sink.context, t.plan, info.executor);
    status = epochs_run(&t, &failure);
    if (status == EP_OK || status == EP_CANCELLED || status == EP_DIVERGED) {
      ep_error late = {0};
      ep_status collected = best_restore(&t, &late);
      if (collected == EP_OK) collected = ep_trainer_results(&t, result, &late);
      if (collected != EP_OK && (status == EP_OK || ep_status_class(collected) == EP_CLASS_DEVICE))
        status = collected, failure = late;
    }
    training->backend_ops->instance_info(t.instance, &info);
    result->bytes = info.bytes; /* now that segments and snapshots have taken theirs */
  }
  result->status = status;
  if (status != EP_OK) {
    snprintf(result->message, sizeof result->message, "%s", failure.message);
    snprintf(result->pointer, sizeof result->pointer, "%s", failure.pointer);
  }
  bool lost = ep_status_class(status) == EP_CLASS_DEVICE;
  if (!lost && training->sink.done) training->sink.done(training->sink.context);
  ep_trainer_deinit(&t);
  if (lost && error) *error = failure;
  return lost ? status : EP_OK;
}
