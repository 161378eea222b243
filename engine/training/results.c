#include "engine/training/results.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/names.h"
#include "engine/data/columns/encoding_json.h"
#include "engine/files/path.h"
#include "engine/metrics/mean_loss.h"
#include "engine/metrics/metrics.h"
#include "engine/training/diagnosis.h"
#include "engine/training/predictions.h"
#include "engine/training/verdict.h"
#include "engine/weights/weights.h"

/* Rows between two signs of life: seconds at most, on the slowest executor. */
enum { PREDICT_ROWS = 4096 };
enum { THREADED_FLOATS_LEAST = 1 << 18 }; /* a millisecond of writing */

static ep_status pause_check(const ep_trainer *t, ep_error *error) {
  const atomic_bool *pause = t->pausable ? t->job->pause : NULL;
  if (!pause || !atomic_load_explicit(pause, memory_order_relaxed)) return EP_OK;
  return ep_fail(error, EP_PAUSED, "paused while the results were measured");
}

/* Outputs of the network for a split: [rows, out_features], owned by the caller; NULL for no rows.
 */
static ep_status split_predict(ep_trainer *t, ep_split split, float **outputs, ep_error *error) {
  int64_t rows = t->data.rows[split];
  *outputs = NULL;
  if (rows == 0) return EP_OK;
  *outputs = malloc((size_t)rows * (size_t)t->plan->program.out_features * sizeof **outputs);
  if (!*outputs) return ep_fail_memory(error);
  const ep_program *program = &t->plan->program;
  int64_t value_bytes = program->x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
  int64_t row_bytes = ep_shape_count(program->stored) * value_bytes;
  ep_status status = EP_OK;
  for (int64_t row = 0; row < rows && status == EP_OK; row += PREDICT_ROWS) {
    int64_t count = rows - row < PREDICT_ROWS ? rows - row : PREDICT_ROWS;
    ep_trainer_alive(t);
    status = pause_check(t, error);
    if (status != EP_OK) break;
    status = t->job->backend_ops->predict(t->instance,
                                          (const uint8_t *)t->data.x[split] + row * row_bytes,
                                          count, *outputs + row * program->out_features, error);
  }
  return status;
}

ep_status ep_trainer_measure(ep_trainer *t, ep_split split, ep_split_metrics *out, float **outputs,
                             ep_error *error) {
  const ep_program *program = &t->plan->program;
  const void *y = ep_prepared_targets(&t->data, split);
  ep_status status = split_predict(t, split, outputs, error);
  if (status == EP_OK)
    status = ep_metrics_compute(&t->data, split, program->loss, *outputs, program->out_features,
                                out, error);
  if (status == EP_OK && out->rows > 0) out->loss = ep_mean_loss(program, *outputs, y, out->rows);
  return status;
}

/* The words of the classes, where the target is a category. */
static ep_status class_names_find(const ep_trainer *t, ep_job_result *result, ep_error *error) {
  const ep_words *classes = ep_scaling_classes(&t->data.scaling);
  free(result->class_names); /* of a try before */
  result->class_names = NULL;
  if (!classes) return EP_OK;
  result->class_names = ep_classes_format(classes);
  return result->class_names ? EP_OK : ep_fail_memory(error);
}

static ep_status splits_measure(ep_trainer *t, ep_durable_group *files, ep_job_result *result,
                                ep_error *error) {
  ep_split_metrics *metrics[EP_SPLIT_COUNT] = {&result->train, &result->validation, &result->test};
  ep_status status = class_names_find(t, result, error);
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    float *outputs;
    ep_trainer_alive(t);
    free(metrics[split]->confusion); /* of a try before */
    metrics[split]->confusion = NULL;
    double start = ep_seconds_now();
    status = ep_trainer_measure(t, (ep_split)split, metrics[split], &outputs, error);
    if (status == EP_OK) ep_diagnosis_observe(t, (ep_split)split, outputs);
    if (split == EP_SPLIT_TEST)
      result->test_seconds = ep_nanoseconds_round(ep_seconds_now() - start);
    if (status == EP_OK && split == EP_SPLIT_TEST && outputs && t->job->job_folder)
      status =
          ep_predictions_write(files, t->job->job_folder, &t->data, t->plan->program.loss, outputs,
                               t->plan->program.out_features, result->predictions_json_sha256,
                               result->predictions_csv_sha256, error);
    free(outputs);
  }
  if (status == EP_OK && result->test.rows > 0)
    result->baseline =
        t->data.last_value.of[0]
            ? t->data.last_value
            : ep_result_baseline(&result->test, ep_scaling_classes(&t->data.scaling));
  return status;
}

/* The weights' way to the disk, beside the measuring of what they can do. */
typedef struct {
  const ep_trainer *trainer;
  ep_job_result *result;  /* its weights alone */
  ep_durable_group files; /* [1], if there is something to save */
  ep_status status;
  ep_error error;
  pthread_t thread;
  bool threaded;
} weights_saving;

static void *weights_write(void *context) {
  weights_saving *saving = context;
  const ep_trainer *t = saving->trainer;
  ep_job_result *result = saving->result;
  char path[EP_PATH_BYTES];
  saving->status = ep_path_join(path, &saving->error, t->job->job_folder, EP_WEIGHTS_FILE, NULL);
  if (saving->status == EP_OK)
    saving->status =
        ep_weights_add(&saving->files, path, t->plan, t->state, &t->data.scaling, t->job->spec_text,
                       result->weights_sha256, &result->weights_bytes, &saving->error);
  result->has_weights = saving->status == EP_OK;
  return NULL;
}

/* Few weights are written at once: a thread costs as much. */
static void weights_begin(ep_trainer *t, ep_job_result *result, weights_saving *saving) {
  *saving = (weights_saving){.trainer = t, .result = result};
  saving->status = ep_trainer_export(t, &saving->error);
  if (saving->status != EP_OK || !t->finite || !t->job->job_folder) return;
  if (ep_program_state_floats(&t->plan->program) >= THREADED_FLOATS_LEAST)
    saving->threaded = pthread_create(&saving->thread, NULL, weights_write, saving) == 0;
  if (!saving->threaded) weights_write(saving);
}

/* The file goes over to `files`. */
static ep_status weights_end(weights_saving *saving, ep_durable_group *files, ep_error *error) {
  if (saving->threaded) pthread_join(saving->thread, NULL);
  ep_durable_group_move(&saving->files, files);
  if (saving->status != EP_OK && error) *error = saving->error;
  return saving->status;
}

ep_status ep_trainer_results(ep_trainer *t, ep_job_result *result, ep_error *error) {
  double epochs = (double)t->step / (double)t->steps_per_epoch;
  result->epochs_done = t->step / t->steps_per_epoch;
  result->train_seconds = ep_nanoseconds_round(t->seconds);
  if (t->seconds > 0 && t->step > 0) {
    result->epoch_microseconds = 1e6 * t->seconds / epochs;
    result->samples_per_second = epochs * (double)t->data.rows[EP_SPLIT_TRAIN] / t->seconds;
  }
  ep_durable_group files = {0};
  weights_saving saving;
  weights_begin(t, result, &saving);
  ep_status measured = EP_OK;
  if (saving.threaded || saving.status == EP_OK)
    measured = splits_measure(t, &files, result, error);
  ep_status status = weights_end(&saving, &files, measured == EP_OK ? error : NULL);
  if (measured != EP_OK) status = measured;
  ep_status placed = status;
  if (status == EP_PAUSED)
    ep_durable_group_abandon(&files);
  else
    placed = ep_durable_group_commit(&files, status == EP_OK ? error : NULL);
  if (placed != EP_OK) {
    result->has_weights = false;
    result->predictions_json_sha256[0] = result->predictions_csv_sha256[0] = 0;
  }
  return status == EP_OK ? placed : status;
}
