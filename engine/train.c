#include "engine/train.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/data/dataset.h"
#include "engine/metrics.h"
#include "engine/predictions.h"
#include "engine/weights.h"

/* The host comes back for progress and to see a cancel about this often. */
static const double segment_seconds = 0.05;
/* The first segment is sized as if the device did this many operations a second: a low guess. */
static const double first_guess_operations_per_second = 1e9;
enum { SEGMENT_STEPS_MAX = 1 << 16, SEGMENT_GROWTH_MAX = 16 };
/* … and takes at most so many steps, because what a step costs beside its operations (10 us of
 * launches on a GPU) is not known before. */
enum { FIRST_SEGMENT_STEPS_MAX = 1024 };

typedef struct {
  const ep_training *job;
  ep_prepared data;
  ep_plan *plan;
  ep_instance *instance;
  int64_t steps_per_epoch, steps_total;
  int64_t step;          /* steps done */
  int64_t segment_steps; /* of the next segment */
  float *loss;           /* [SEGMENT_STEPS_MAX or steps_total] of the present segment */
  int32_t *errors;       /* the same */
  double epoch_loss;     /* sum of the present epoch's batch losses */
  int64_t epoch_errors;  /* misclassified targets of the present epoch */
  double seconds;        /* in train_segment so far */
} trainer;

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds to the nanosecond: what the clock knows, and no more digits than that. */
static double nanoseconds_round(double seconds) {
  return round(seconds * 1e9) / 1e9;
}

/* Constant so far: a schedule would go here. */
static float learning_rate(const trainer *t) {
  return (float)t->job->spec->optimizer.lr;
}

/* Runs `steps` steps from `first_step`; t->loss and t->errors are written. */
static ep_status segment_run(trainer *t, int64_t first_step, int64_t steps, ep_error *error) {
  float lr = learning_rate(t);
  ep_segment segment = {first_step, steps, &lr, 1, t->loss, t->errors};
  return t->job->backend_ops->train_segment(t->instance, &segment, error);
}

static bool epoch_is_reported(const trainer *t, int64_t epoch) {
  const ep_job_spec *spec = t->job->spec;
  return epoch % spec->report_every == 0 || epoch == spec->epochs;
}

/* Steps of the next segment: about segment_seconds of work, but with a validation split no further
 * than the end of the next epoch that is reported, because its weights are looked at then. */
static int64_t segment_length(const trainer *t) {
  int64_t steps = t->segment_steps;
  if (t->data.rows[EP_SPLIT_VALIDATION] > 0) {
    int64_t epoch = t->step / t->steps_per_epoch, every = t->job->spec->report_every;
    int64_t stop = (epoch / every + 1) * every * t->steps_per_epoch;
    if (steps > stop - t->step) steps = stop - t->step;
  }
  return steps < t->steps_total - t->step ? steps : t->steps_total - t->step;
}

static void segment_adapt(trainer *t, int64_t steps, double seconds) {
  double fitting = seconds > 0 ? (double)steps * segment_seconds / seconds : 1e18;
  double most = (double)steps * SEGMENT_GROWTH_MAX;
  if (fitting > most) fitting = most;
  if (fitting > SEGMENT_STEPS_MAX) fitting = SEGMENT_STEPS_MAX;
  t->segment_steps = fitting < 1 ? 1 : (int64_t)fitting;
}

static ep_status epoch_report(trainer *t, int64_t epoch, double loss, double seconds,
                              ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_progress_record record = {.epoch = epoch,
                               .loss = loss,
                               .error = NAN,
                               .validation_loss = NAN,
                               .validation_error = NAN,
                               .lr = spec->optimizer.lr,
                               .elapsed_seconds = nanoseconds_round(seconds)};
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
  }
  if (t->job->sink.epoch) t->job->sink.epoch(t->job->sink.context, &record);
  return EP_OK;
}

/* Adds the first `steps` losses of the segment that just ran to their epochs, and reports the
 * epochs that end among them. `seconds`: what the whole segment of `segment` steps took. */
static ep_status losses_collect(trainer *t, int64_t steps, int64_t segment, double seconds,
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

static int64_t first_not_finite(const float *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return i;
  return count;
}

static ep_status parameters_finite(trainer *t, bool *finite, ep_error *error) {
  int64_t count = t->plan->program.parameters, state = t->plan->program.optimizer_floats;
  float *values = malloc((size_t)(count + state) * sizeof *values);
  if (!values) return ep_fail(error, EP_NO_MEMORY, "no memory for the weights");
  ep_status status =
      t->job->backend_ops->export_state(t->instance, values, state ? values + count : NULL, error);
  if (status == EP_OK) *finite = first_not_finite(values, count) == count;
  free(values);
  return status;
}

/* The state after `steps` steps of the segment from `first_step`, and whether its weights are
 * finite. */
static ep_status segment_replay(trainer *t, int64_t first_step, int64_t steps, bool *finite,
                                ep_error *error) {
  ep_status status = t->job->backend_ops->rollback(t->instance, error);
  if (status == EP_OK && steps > 0) status = segment_run(t, first_step, steps, error);
  return status == EP_OK ? parameters_finite(t, finite, error) : status;
}

/* Goes back to the last finite weights of the segment, which are those before its step `bad` (whose
 * loss was not finite) or, should a saturated network have hidden it, some before: found by
 * bisection. */
static ep_status last_finite_restore(trainer *t, int64_t first_step, int64_t bad, ep_error *error) {
  int64_t good = 0;
  bool finite = false;
  ep_status status = segment_replay(t, first_step, bad, &finite, error);
  if (status != EP_OK || finite) return status;
  while (bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    status = segment_replay(t, first_step, middle, &finite, error);
    if (status != EP_OK) return status;
    if (finite)
      good = middle;
    else
      bad = middle;
  }
  return segment_replay(t, first_step, good, &finite, error);
}

/* The first step whose loss was not finite is t->step; steps_total when only the weights show it.
 */
static ep_status diverged(trainer *t, double loss, ep_error *error) {
  int64_t epoch = t->step / t->steps_per_epoch + (t->step < t->steps_total);
  return ep_fail_at(error, EP_DIVERGED, "/optimizer/lr",
                    "the loss became %s in epoch %lld: try a learning rate below %g%s",
                    isnan(loss) ? "NaN" : "infinite", (long long)epoch, t->job->spec->optimizer.lr,
                    t->job->spec->data.standardize_x ? "" : ", or standardize x");
}

static void sign_of_life(const trainer *t) {
  if (t->job->sink.alive) t->job->sink.alive(t->job->sink.context);
}

/* One segment and what the host has to do after it. */
static ep_status segment_step(trainer *t, ep_error *error) {
  int64_t first_step = t->step, steps = segment_length(t);
  ep_status status = t->job->backend_ops->snapshot(t->instance, error);
  if (status != EP_OK) return status;
  double start = seconds_now();
  status = segment_run(t, first_step, steps, error);
  if (status != EP_OK) return status;
  double seconds = seconds_now() - start;

  sign_of_life(t);

  int64_t finite = first_not_finite(t->loss, steps);
  double bad_loss = finite < steps ? t->loss[finite] : NAN;
  bool last = first_step + steps == t->steps_total;
  status = losses_collect(t, finite, steps, seconds, error);
  t->seconds += seconds;
  if (status != EP_OK) return status;
  if (finite == steps) {
    segment_adapt(t, steps, seconds);
    bool weights_finite = true;
    if (last) status = parameters_finite(t, &weights_finite, error);
    if (status != EP_OK || weights_finite) return status;
  }
  if (finite < steps)
    status = epoch_report(t, t->step / t->steps_per_epoch + 1, bad_loss, t->seconds, error);
  if (status == EP_OK) status = last_finite_restore(t, first_step, finite, error);
  return status == EP_OK ? diverged(t, bad_loss, error) : status;
}

/* The training loop: everything that is decided on the host between two segments. */
static ep_status epochs_run(trainer *t, ep_error *error) {
  while (t->step < t->steps_total) {
    if (atomic_load_explicit(t->job->cancel, memory_order_relaxed))
      return ep_fail(error, EP_CANCELLED, "cancelled after epoch %lld",
                     (long long)(t->step / t->steps_per_epoch));
    ep_status status = segment_step(t, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

/* Outputs of the network for a split: [rows, out_features], owned by the caller; NULL for no rows.
 */
static ep_status split_predict(trainer *t, ep_split split, float **outputs, ep_error *error) {
  int64_t rows = t->data.rows[split];
  *outputs = NULL;
  if (rows == 0) return EP_OK;
  *outputs = malloc((size_t)rows * (size_t)t->plan->program.out_features * sizeof **outputs);
  if (!*outputs)
    return ep_fail(error, EP_NO_MEMORY, "no memory for %lld predictions", (long long)rows);
  return t->job->backend_ops->predict(t->instance, t->data.x[split], rows, *outputs, error);
}

/* Metrics of a split, and the outputs that they came from (as split_predict). */
static ep_status split_measure(trainer *t, ep_split split, ep_split_metrics *out, float **outputs,
                               ep_error *error) {
  const ep_program *program = &t->plan->program;
  int64_t errors;
  ep_status status = split_predict(t, split, outputs, error);
  if (status == EP_OK)
    status = ep_metrics_compute(&t->data, split, program->loss, *outputs, program->out_features,
                                out, error);
  if (status == EP_OK && out->rows > 0)
    status = t->job->backend_ops->evaluate(t->instance, split, &out->loss, &errors, error);
  return status;
}

static ep_status splits_measure(trainer *t, ep_job_result *result, ep_error *error) {
  ep_split_metrics *metrics[EP_SPLIT_COUNT] = {&result->train, &result->validation, &result->test};
  ep_status status = EP_OK;
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    float *outputs;
    sign_of_life(t);
    double start = seconds_now();
    status = split_measure(t, (ep_split)split, metrics[split], &outputs, error);
    if (split == EP_SPLIT_TEST) result->test_seconds = nanoseconds_round(seconds_now() - start);
    if (status == EP_OK && split == EP_SPLIT_TEST && outputs)
      status = ep_predictions_write(t->job->job_folder, &t->data, t->plan->program.loss, outputs,
                                    t->plan->program.out_features, error);
    free(outputs);
  }
  return status;
}

static ep_status weights_save(trainer *t, ep_job_result *result, ep_error *error) {
  const ep_program *program = &t->plan->program;
  char path[4096];
  size_t floats = (size_t)(program->parameters + program->optimizer_floats);
  float *state = malloc(floats * sizeof *state);
  if (!state) return ep_fail(error, EP_NO_MEMORY, "no memory for the weights");
  float *optimizer = program->optimizer_floats ? state + program->parameters : NULL;
  snprintf(path, sizeof path, "%s/weights.safetensors", t->job->job_folder);
  ep_status status = t->job->backend_ops->export_state(t->instance, state, optimizer, error);
  bool finite =
      status == EP_OK && first_not_finite(state, program->parameters) == program->parameters;
  if (finite)
    status = ep_weights_write(path, t->plan, state, &t->data.scaling, t->job->spec_text,
                              result->weights_sha256, &result->weights_bytes, error);
  result->has_weights = finite && status == EP_OK;
  free(state);
  return status;
}

/* The weights, then the metrics of every split and the test set's predictions: whatever these may
 * run into, what was learned is kept. */
static ep_status results_collect(trainer *t, ep_job_result *result, ep_error *error) {
  double epochs = (double)t->step / (double)t->steps_per_epoch;
  result->epochs_done = t->step / t->steps_per_epoch;
  result->train_seconds = nanoseconds_round(t->seconds);
  if (t->seconds > 0 && t->step > 0) {
    result->epoch_microseconds = 1e6 * t->seconds / epochs;
    result->samples_per_second = epochs * (double)t->data.rows[EP_SPLIT_TRAIN] / t->seconds;
  }
  ep_status status = weights_save(t, result, error);
  return status == EP_OK ? splits_measure(t, result, error) : status;
}

/* The plan of the job, made again from what it stored: the same as at its submission. */
static ep_status plan_make(trainer *t, ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_data_shape shape;
  ep_problem *problem = calloc(1, sizeof *problem);
  const char *folder = t->job->dataset_folder;
  if (!problem) return ep_fail(error, EP_NO_MEMORY, "no memory for the plan");
  ep_status status = folder ? ep_dataset_meta_read(folder, &meta, error) : EP_OK;
  if (status == EP_OK) {
    status = ep_data_shape_find(&t->job->spec->data, folder ? &meta : NULL, &shape, problem);
    if (status == EP_OK) status = ep_plan_create(t->job->spec, &shape, &t->plan, problem);
    if (status != EP_OK)
      ep_fail_at(error, status, problem->errors[0].pointer, "%s", problem->detail);
  }
  ep_dataset_meta_deinit(&meta);
  free(problem);
  return status;
}

/* Bytes that every executor takes: the rows, the state, its snapshot and its gradient. The plan's
 * count also has the activations of a whole batch, which the CPU takes piece by piece. Limits keep
 * the products below 2^60. */
static int64_t least_bytes(const ep_plan *plan) {
  const ep_data_shape *shape = &plan->shape;
  int64_t rows = shape->train_rows + shape->validation_rows + shape->test_rows;
  int64_t state = 3 * plan->parameters + 2 * plan->program.optimizer_floats;
  return (int64_t)sizeof(float) * (rows * (shape->features + shape->target_columns) + state);
}

/* Where there is not even that much memory, asking for it might end in the system's killing
 * someone. */
static ep_status memory_check(const trainer *t, ep_error *error) {
  ep_backend_info info;
  int64_t bytes = least_bytes(t->plan);
  ep_status status = t->job->backend_ops->info(t->job->backend, &info, error);
  if (status != EP_OK || info.memory_bytes <= 0 || bytes <= info.memory_bytes) return status;
  return ep_fail_at(error, EP_NO_MEMORY, "/model",
                    "training takes at least %lld MiB of memory, %s has %lld MiB",
                    (long long)(bytes >> 20), t->job->device, (long long)(info.memory_bytes >> 20));
}

static ep_status buffers_create(trainer *t, ep_error *error) {
  t->steps_per_epoch = ep_program_steps_per_epoch(&t->plan->program);
  t->steps_total = t->steps_per_epoch * t->job->spec->epochs;
  int64_t most = t->steps_total < SEGMENT_STEPS_MAX ? t->steps_total : SEGMENT_STEPS_MAX;
  double step_operations = (double)t->plan->operations / (double)t->steps_per_epoch;
  double guess = first_guess_operations_per_second * segment_seconds / (step_operations + 1);
  if (guess > FIRST_SEGMENT_STEPS_MAX) guess = FIRST_SEGMENT_STEPS_MAX;
  t->segment_steps = guess < 1 ? 1 : (int64_t)guess;
  t->loss = malloc((size_t)most * sizeof *t->loss);
  t->errors = malloc((size_t)most * sizeof *t->errors);
  if (!t->loss || !t->errors) return ep_fail(error, EP_NO_MEMORY, "no memory for the losses");
  return EP_OK;
}

/* First weights and data onto the device. */
static ep_status instance_create(trainer *t, ep_error *error) {
  const ep_backend_ops *ops = t->job->backend_ops;
  const ep_job_spec *spec = t->job->spec;
  const ep_program *program = &t->plan->program;
  size_t floats = (size_t)(program->parameters + program->optimizer_floats);
  float *state = calloc(floats, sizeof *state);
  if (!state) return ep_fail(error, EP_NO_MEMORY, "no memory for %zu parameters", floats);
  ep_plan_initialize(t->plan, spec, state);
  float *optimizer = program->optimizer_floats ? state + program->parameters : NULL;
  const char *executor = spec->executor[0] ? spec->executor : NULL;
  ep_status status = ops->compile(t->job->backend, program, executor, &t->instance, error);
  if (status == EP_OK) status = ops->import_state(t->instance, state, optimizer, error);
  free(state);
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    const void *y =
        t->data.classes[split] ? (const void *)t->data.classes[split] : t->data.y[split];
    if (t->data.rows[split] > 0)
      status = ops->load_data(t->instance, (ep_split)split, t->data.x[split], y,
                              t->data.rows[split], error);
  }
  return status;
}

static ep_status trainer_init(trainer *t, ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_status status = plan_make(t, error);
  if (status == EP_OK) status = memory_check(t, error);
  if (status == EP_OK)
    status = ep_prepare(&spec->data, spec->loss, t->job->dataset_folder, &t->data, error);
  if (status == EP_OK) status = buffers_create(t, error);
  if (status == EP_OK) status = instance_create(t, error);
  return status;
}

static void trainer_deinit(trainer *t) {
  if (t->instance) t->job->backend_ops->release(t->instance);
  free(t->errors);
  free(t->loss);
  ep_plan_destroy(t->plan);
  ep_prepared_deinit(&t->data);
}

ep_status ep_train(const ep_training *training, ep_job_result *result, ep_error *error) {
  trainer t = {.job = training};
  ep_error failure = {0};
  *result = (ep_job_result){0};
  snprintf(result->device, sizeof result->device, "%s", training->device);

  ep_status status = trainer_init(&t, &failure);
  if (status == EP_OK) {
    ep_instance_info info;
    training->backend_ops->instance_info(t.instance, &info);
    snprintf(result->executor, sizeof result->executor, "%s", info.executor);
    result->parameters = t.plan->parameters;
    result->bytes = info.bytes;
    if (training->sink.started)
      training->sink.started(training->sink.context, t.plan, info.executor);
    status = epochs_run(&t, &failure);
    if (status == EP_OK || status == EP_CANCELLED || status == EP_DIVERGED) {
      ep_error late = {0};
      ep_status collected = results_collect(&t, result, &late);
      if (collected != EP_OK && (status == EP_OK || ep_status_class(collected) == EP_CLASS_DEVICE))
        status = collected, failure = late;
    }
  }
  trainer_deinit(&t);

  result->status = status;
  if (status != EP_OK) {
    snprintf(result->message, sizeof result->message, "%s", failure.message);
    snprintf(result->pointer, sizeof result->pointer, "%s", failure.pointer);
  }
  if (ep_status_class(status) != EP_CLASS_DEVICE) return EP_OK;
  if (error) *error = failure;
  return status;
}
