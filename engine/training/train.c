/* train.c: the training loop, and what comes before and after it. */
#include "engine/training/train.h"
#include "api/wire/explosion.h"
#include "engine/data/prepare/remarks.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "engine/training/checkpointing.h"
#include "engine/training/choice.h"
#include "engine/training/diagnosis.h"
#include "engine/training/divergence.h"
#include "engine/training/finder.h"
#include "engine/training/layers.h"
#include "engine/training/report.h"
#include "engine/training/results.h"
#include "engine/training/segment.h"
#include "engine/training/setup.h"

enum { DISK_RETRY_MS = 1000, DISK_LOOK_MS = 50 };

/* Index of the first value that is NaN or infinite; `count` when there is none. */
static int64_t first_not_finite(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return i;
  return count;
}

/* Reports the epoch in which the loss, or the weights at the end, stopped being finite, and goes
 * back to the last finite weights. finite: steps of the segment whose losses are. Never EP_OK. */
static ep_status diverge(ep_trainer *t, int64_t first_step, int64_t finite, int64_t steps,
                         ep_error *error) {
  double loss = finite < steps ? t->loss[finite] : NAN;
  ep_status status = EP_OK;
  if (finite < steps)
    status = ep_epoch_report(t, t->step / t->steps_per_epoch + 1, loss, t->seconds, error);
  if (status == EP_OK) status = ep_divergence_restore(t, first_step, finite, error);
  return status == EP_OK ? ep_divergence_fail(t, loss, error) : status;
}

static bool time_is_up(const ep_trainer *t) {
  double most = t->job->spec->max_seconds;
  return most > 0 && t->seconds >= most;
}

static bool goes_on(const ep_trainer *t) {
  return t->step < t->steps_total && !t->early_stopping.stops && !time_is_up(t);
}

/* One segment: the device trains, the host reports the epochs that ended. */
static ep_status segment_train(ep_trainer *t, ep_error *error) {
  ep_layers_plan(t);
  int64_t first_step = t->step, steps = ep_segment_steps(t);
  ep_status status = t->job->backend_ops->snapshot(t->instance, error);
  if (status != EP_OK) return status;
  double start = ep_seconds_now();
  status = ep_segment_run(t, first_step, steps, error);
  if (status != EP_OK) return status;
  double seconds = ep_seconds_now() - start;
  ep_trainer_alive(t);

  int64_t finite = first_not_finite(t->loss, steps);
  status = ep_losses_report(t, finite, steps, seconds, error);
  if (t->job->sink.segment) t->job->sink.segment(t->job->sink.context);
  t->seconds += seconds;
  if (status != EP_OK) return status;
  if (finite < steps) return diverge(t, first_step, finite, steps, error);
  ep_segment_adapt(t, steps, seconds);
  if (goes_on(t)) return EP_OK;
  status =
      ep_trainer_export(t, error); /* the last step may have left weights that are not finite */
  return status != EP_OK || t->finite ? status : diverge(t, first_step, finite, steps, error);
}

/* Whether the training is to end now: EP_CANCELLED or EP_PAUSED. */
static ep_status stop_check(const ep_trainer *t, ep_error *error) {
  long long epoch = (long long)(t->step / t->steps_per_epoch);
  if (atomic_load_explicit(t->job->cancel, memory_order_relaxed))
    return ep_fail(error, EP_CANCELLED, "cancelled after epoch %lld", epoch);
  if (!t->job->pause || !atomic_load_explicit(t->job->pause, memory_order_relaxed)) return EP_OK;
  return ep_fail(error, EP_PAUSED, "paused after epoch %lld", epoch);
}

/* A training that is paused leaves a checkpoint. */
static ep_status pause_make(ep_trainer *t, ep_status stop, ep_error *error) {
  if (stop != EP_PAUSED) return stop;
  ep_status status = ep_checkpoint_begin(t, error);
  ep_checkpoint_finish(t);
  return status == EP_OK ? stop : status;
}

/* The training loop: everything that is decided on the host between two segments. At its end a last
 * checkpoint is begun, from which another job can go on. */
static ep_status epochs_run(ep_trainer *t, ep_error *error) {
  ep_status status = ep_moments_begin(t, error);
  while (status == EP_OK && goes_on(t)) {
    status = pause_make(t, stop_check(t, error), error);
    if (status == EP_OK) status = segment_train(t, error);
    if (status == EP_OK && goes_on(t)) status = ep_moment_if_due(t, error);
    if (status == EP_OK && goes_on(t)) status = ep_checkpoint_if_due(t, error);
  }
  if (status == EP_OK) status = ep_moments_end(t, error);
  return status == EP_OK ? ep_checkpoint_last_begin(t, error) : status;
}

/* With "keep": "best" the weights of the best epoch take the place of the last ones. */
static ep_status best_restore(ep_trainer *t, ep_error *error) {
  if (!t->early_stopping.state || t->early_stopping.best_epoch == 0) return EP_OK;
  const ep_program *program = &t->plan->program;
  float *optimizer = program->optimizer_floats ? t->early_stopping.optimizer : NULL;
  t->exported = false;
  t->best_restored = true;
  return t->job->backend_ops->import_state(t->instance, t->early_stopping.state, optimizer, error);
}

/* Which epoch these weights are of. */
static ep_kept_epoch kept_note(const ep_trainer *t) {
  const ep_early_stopping *rule = &t->early_stopping;
  if (!rule->state || rule->best_epoch == 0) return (ep_kept_epoch){0};
  double sign = ep_metric_is_maximized(t->job->spec->early_stopping_metric) ? -1 : 1;
  return (ep_kept_epoch){.epoch = rule->kept_epoch,
                         .best_epoch = rule->lowest_epoch,
                         .value = sign * rule->kept,
                         .best = sign * rule->best,
                         .metric = t->job->spec->early_stopping_metric,
                         .tolerance = t->job->spec->early_stopping_tolerance};
}

/* There is no room, or the disk fails: both may pass, and what was trained is worth the wait. */
static bool disk_refused(ep_status status) {
  return status == EP_UNAVAILABLE || status == EP_IO;
}

/* Until the disk is to be tried again (EP_OK), or the training is to end: EP_CANCELLED, or
 * EP_PAUSED. */
static ep_status disk_wait(const ep_trainer *t, double seconds, ep_error *error) {
  const struct timespec look = {.tv_nsec = DISK_LOOK_MS * 1000000L};
  double until = ep_seconds_now() + seconds;
  ep_status status = EP_OK;
  while (status == EP_OK && ep_seconds_now() < until) {
    nanosleep(&look, NULL);
    ep_trainer_alive(t);
    status = stop_check(t, error);
  }
  return status;
}

/* The results, tried again while the disk refuses them, with pauses that are as long as a try.
 * *stop: EP_OK, or how the training is to end before it has them, and `failure` says so. */
static ep_status results_collect(ep_trainer *t, ep_job_result *result, ep_status *stop,
                                 ep_error *failure, ep_error *error) {
  *stop = EP_OK;
  for (;;) {
    double start = ep_seconds_now(), pause = 1e-3 * DISK_RETRY_MS;
    ep_status status = ep_trainer_results(t, result, error);
    if (status == EP_PAUSED) *stop = stop_check(t, failure);
    if (!disk_refused(status)) return status;
    if (t->job->sink.waiting) t->job->sink.waiting(t->job->sink.context, error);
    double took = ep_seconds_now() - start;
    *stop = disk_wait(t, took > pause ? took : pause, failure);
    if (*stop != EP_OK) return status;
  }
}

/* The loop and what it leaves; `failure` says why the status is not EP_OK. A job that was cancelled
 * or diverged has results too. */
static ep_status instance_train(ep_trainer *t, ep_job_result *result, ep_error *failure) {
  ep_status status = epochs_run(t, failure);
  if (status != EP_OK && status != EP_CANCELLED && status != EP_DIVERGED) return status;
  ep_error late = {0};
  ep_status collected = best_restore(t, &late);
  result->kept = kept_note(t);
  if (collected == EP_OK && status == EP_CANCELLED)
    collected = ep_trainer_results(t, result, &late);
  else if (collected == EP_OK) {
    ep_status stop;
    t->pausable = status == EP_OK;
    collected = results_collect(t, result, &stop, failure, &late);
    if (stop != EP_OK) status = t->pausable ? pause_make(t, stop, failure) : stop;
    if (status == EP_CANCELLED && collected == EP_PAUSED) {
      t->pausable = false;
      collected = ep_trainer_results(t, result, &late);
    }
  }
  if (collected == EP_OK && status == EP_OK && t->job->job_folder) ep_diagnosis_make(t, result);
  ep_checkpoint_finish(t);
  if (collected == EP_OK) ep_checkpoints_settle(t, result);
  bool fatal = ep_status_class(collected) == EP_CLASS_DEVICE;
  if (collected == EP_OK || (status != EP_OK && !fatal)) return status;
  *failure = late;
  return collected;
}

/* Means of a step, of those that this instance has run. */
static void ranks_note(const ep_trainer *t, const ep_instance_info *info, ep_rank_results *out) {
  if (t->steps_run == 0) return;
  double microseconds = 1e6 / (double)t->steps_run;
  int stages = ep_program_stages(&t->plan->program);
  for (int i = 0; i < info->ranks; i++) {
    const ep_rank_info *rank = &info->rank[i];
    double all = rank->compute_seconds + rank->communication_seconds + rank->idle_seconds;
    out->rank[i] =
        (ep_rank_result){.data = i / stages,
                         .model = i % stages,
                         .node = (int)rank->node,
                         .bytes = rank->bytes,
                         .compute_microseconds = rank->compute_seconds * microseconds,
                         .communication_microseconds = rank->communication_seconds * microseconds,
                         .idle_share = all > 0 ? rank->idle_seconds / all : 0};
  }
  out->count = info->ranks;
}

/* The event of that epoch had the warning. */
static void explosion_note(const ep_trainer *t, ep_job_result *result) {
  char sentence[EP_MESSAGE_BYTES];
  if (t->course.exploded.lowest_loss == 0) return;
  ep_explosion_format(&t->course.exploded, sentence);
  ep_result_line_add(result->remarks, sentence);
}

static ep_status job_train(ep_trainer *t, ep_job_result *result, ep_error *failure) {
  const ep_training *job = t->job;
  ep_instance_info info;
  ep_status status = ep_trainer_init(t, failure);
  if (status == EP_OK) status = ep_choice_make(t, failure);
  if (status != EP_OK) return status;
  job->backend_ops->instance_info(t->instance, &info);
  snprintf(result->executor, sizeof result->executor, "%s", info.executor);
  result->parameters = t->plan->parameters;
  result->tried = t->tried;
  char remarks[EP_MESSAGE_BYTES];
  ep_data_remarks(job->spec, &t->plan->shape, &t->data, remarks, sizeof remarks);
  ep_train_start start = {t->plan, info.executor, t->step / t->steps_per_epoch, t->resumed.note,
                          remarks};
  if (job->sink.started) job->sink.started(job->sink.context, &start);
  ep_result_line_add(result->remarks, remarks);
  bool finds = job->spec->find[0] != 0;
  status = finds ? ep_finder_run(t, result, failure) : instance_train(t, result, failure);
  explosion_note(t, result);
  ep_checkpoint_finish(t);
  result->epochs_done = t->step / t->steps_per_epoch;
  if (status == EP_OK && t->step < t->steps_total && !finds)
    snprintf(result->stopped, sizeof result->stopped, "%s",
             t->early_stopping.stops ? "early_stopping" : "max_seconds");
  job->backend_ops->instance_info(t->instance, &info);
  result->bytes = info.bytes; /* with those of segments and snapshots */
  ranks_note(t, &info, &result->ranks);
  return status;
}

ep_status ep_train(const ep_training *training, ep_job_result *result, ep_error *error) {
  ep_trainer t = {.job = training};
  ep_error failure = {0};
  *result = (ep_job_result){0};
  snprintf(result->device, sizeof result->device, "%s", training->device);
  ep_status status = result->status = job_train(&t, result, &failure);
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
