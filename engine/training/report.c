#include "engine/training/report.h"

#include <math.h>
#include <stdlib.h>

#include "engine/training/layers.h"
#include "engine/training/results.h"
#include "kernels/random.h"

static bool epoch_is_reported(const ep_trainer *t, int64_t epoch) {
  const ep_job_spec *spec = t->job->spec;
  bool first = epoch == 1 && !t->job->last_alone;
  return first || epoch % spec->report_every == 0 || epoch == spec->epochs;
}

/* A metric of which less is better: the negative, where it is more. */
static double least_value(const ep_progress_record *record, ep_metric metric) {
  double value = ep_progress_validation(record, metric);
  return ep_metric_is_maximized(metric) ? -value : value;
}

/* The metrics that the spec names or decides by, beside loss and error: a bit for each. */
static int64_t metrics_wanted(const ep_job_spec *spec) {
  int64_t wanted = INT64_C(1) << spec->early_stopping_metric | INT64_C(1) << spec->schedule.metric;
  for (int metric = 0; metric < EP_METRIC_COUNT; metric++)
    wanted |= (int64_t)spec->validation_metrics[metric] << metric;
  return wanted & ~(INT64_C(1) << EP_METRIC_LOSS | INT64_C(1) << EP_METRIC_ERROR);
}

/* Those metrics, by a prediction of the validation split. */
static ep_status metrics_find(ep_trainer *t, ep_progress_record *record, ep_error *error) {
  ep_split_metrics metrics;
  float *outputs = NULL;
  record->metrics_given = metrics_wanted(t->job->spec);
  if (record->metrics_given == 0) return EP_OK;
  ep_split_metrics_clear(&metrics);
  ep_status status = ep_trainer_measure(t, EP_SPLIT_VALIDATION, &metrics, &outputs, error);
  for (int metric = 0; status == EP_OK && metric < EP_METRIC_COUNT; metric++)
    if (record->metrics_given >> metric & 1)
      record->metrics[metric] = ep_metric_value(&metrics, metric);
  free(metrics.confusion);
  free(outputs);
  return status;
}

/* After an evaluation of the validation split the best weights are kept, the schedule may lower the
 * learning rate, and early stopping may end the training. */
static ep_status validation_judge(ep_trainer *t, const ep_progress_record *record,
                                  ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_schedule_observe(&t->schedule, record->epoch, least_value(record, spec->schedule.metric));
  bool best = ep_early_stopping_observe(&t->early_stopping, record->epoch,
                                        least_value(record, spec->early_stopping_metric));
  if (!best || !t->early_stopping.state) return EP_OK;
  const ep_program *program = &t->plan->program;
  float *optimizer = program->optimizer_floats ? t->early_stopping.optimizer : NULL;
  return t->job->backend_ops->export_state(t->instance, t->early_stopping.state, optimizer, error);
}

/* Of every epoch, whether it is reported or not. */
static void course_follow(ep_loss_course *course, int64_t epoch, double loss) {
  if (course->first == 0) course->first = loss;
  if (course->lowest_epoch > 0 && loss >= course->lowest) return;
  course->lowest = loss;
  course->lowest_epoch = epoch;
}

/* Marks the first report in which the loss is seen to explode. Noise about a small loss, below the
 * first one, is no explosion. */
static void explosion_find(ep_loss_course *course, ep_progress_record *record) {
  double loss = record->loss;
  course->rises = course->reported != 0 && loss > course->reported ? course->rises + 1 : 0;
  course->reported = loss;
  bool far = course->lowest > 0 && loss > EP_EXPLOSION_FACTOR * course->lowest;
  if (course->exploded.lowest_loss != 0 || course->rises < EP_EXPLOSION_RISES || !far ||
      loss <= course->first)
    return;
  record->lowest_loss = course->lowest;
  course->exploded = *record;
}

ep_status ep_epoch_report(ep_trainer *t, int64_t epoch, double loss, double seconds,
                          ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_progress_record record = {.epoch = epoch,
                               .loss = loss,
                               .error = NAN,
                               .validation_loss = NAN,
                               .validation_error = NAN,
                               .lr = ep_schedule_lr(&t->schedule, epoch * t->steps_per_epoch - 1),
                               .elapsed_seconds = ep_nanoseconds_round(seconds)};
  if (isfinite(loss)) explosion_find(&t->course, &record);
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
    status = metrics_find(t, &record, error);
    if (status == EP_OK) status = validation_judge(t, &record, error);
    if (status != EP_OK) return status;
  }
  if (epoch == t->layers.due && isfinite(loss)) {
    ep_status status = ep_layers_report(t, epoch, seconds, error);
    if (status != EP_OK) return status;
  }
  if (t->job->sink.report) t->job->sink.report(t->job->sink.context, &record, 1);
  return EP_OK;
}

/* What the batch of a step counts in the mean over its epoch's rows: its rows, or the weights of
 * their classes, by batch_size. */
static double batch_weight(const ep_trainer *t, int64_t step) {
  const ep_program *program = &t->plan->program;
  int64_t batch = step % t->steps_per_epoch, rows = ep_program_batch_rows(program, batch);
  if (!program->class_weights) return (double)rows / (double)program->batch_size;
  const int32_t *classes = ep_prepared_targets(&t->data, EP_SPLIT_TRAIN);
  const bool shuffles = ep_program_shuffles(program);
  ep_permutation order;
  double sum = 0;
  if (shuffles)
    order =
        ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)(step / t->steps_per_epoch),
                            (uint64_t)program->train_rows);
  for (int64_t i = 0; i < rows; i++) {
    int64_t row = batch * program->batch_size + i;
    sum +=
        program->class_weights[classes[shuffles ? ep_permutation_at(&order, (uint32_t)row) : row]];
  }
  return sum / (double)program->batch_size;
}

void ep_epoch_weigh(ep_trainer *t) {
  t->epoch_weight = 0;
  for (int64_t step = t->step - t->step % t->steps_per_epoch; step < t->step; step++)
    t->epoch_weight += batch_weight(t, step);
}

/* How far the present epoch is, with the mean loss of its rows so far. */
static void batch_report(const ep_trainer *t, int64_t batch, double seconds) {
  ep_progress_record record = {.kind = EP_PROGRESS_BATCH,
                               .epoch = t->step / t->steps_per_epoch + 1,
                               .batch = batch,
                               .batches = t->steps_per_epoch,
                               .loss = t->epoch_loss / t->epoch_weight,
                               .error = NAN,
                               .validation_loss = NAN,
                               .validation_error = NAN,
                               .lr = ep_schedule_lr(&t->schedule, t->step - 1),
                               .elapsed_seconds = ep_nanoseconds_round(seconds)};
  if (t->job->sink.report) t->job->sink.report(t->job->sink.context, &record, 1);
}

ep_status ep_losses_report(ep_trainer *t, int64_t steps, int64_t segment, double seconds,
                           ep_error *error) {
  for (int64_t i = 0; i < steps; i++) {
    double weight = batch_weight(t, t->step);
    t->epoch_loss += weight * t->loss[i];
    t->epoch_weight += weight;
    t->epoch_errors += t->errors[i];
    t->step++;
    double elapsed = t->seconds + seconds * (double)(i + 1) / (double)segment;
    int64_t batch = t->step % t->steps_per_epoch, between = t->job->spec->report_batches;
    if (batch != 0 && between > 0 && batch % between == 0) batch_report(t, batch, elapsed);
    if (batch != 0) continue;
    int64_t epoch = t->step / t->steps_per_epoch;
    double mean = t->epoch_loss / t->epoch_weight;
    course_follow(&t->course, epoch, mean);
    if (epoch_is_reported(t, epoch)) {
      ep_status status = ep_epoch_report(t, epoch, mean, elapsed, error);
      if (status != EP_OK) return status;
    }
    t->last_epoch_loss = mean;
    t->epoch_loss = 0;
    t->epoch_weight = 0;
    t->epoch_errors = 0;
  }
  return EP_OK;
}
