#include "engine/worker/exports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/sources/row_source.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "engine/metrics/metrics.h"
#include "engine/weights/c/export.h"
#include "engine/weights/c/layers.h"
#include "engine/weights/stored_model.h"
#include "engine/weights/weights.h"
#include "engine/worker/paths.h"
#include "kernels/backend.h"

enum { ROWS_AT_ONCE = 4096 };

/* A job on its way into a header. */
typedef struct {
  char weights[EP_PATH_BYTES], file[EP_PATH_BYTES];
  ep_stored_model stored;
  ep_training_paths paths;
  float *state, *rounded; /* [state floats]; rounded: what the int8 stand for, NULL without them */
  double *example, *expected;
  ep_c_measured measured;
} export;

static ep_status model_read(export *e, bool quantize, ep_error *error) {
  ep_stored_model *stored = &e->stored;
  ep_status status = ep_stored_model_open(e->weights, stored, error);
  if (status == EP_OK) status = ep_stored_model_spec_load(stored, error);
  if (status != EP_OK) return status;
  stored->spec->executor[0] = 0; /* which may be another device's */
  status = ep_stored_model_plan(stored, false, error);
  if (status != EP_OK) return status;
  size_t floats = (size_t)ep_program_state_floats(&stored->plan->program) + 1;
  e->state = malloc(floats * sizeof *e->state);
  if (quantize) e->rounded = malloc(floats * sizeof *e->rounded);
  if (!e->state || (quantize && !e->rounded)) return ep_fail_memory(error);
  status = ep_weights_take(&stored->file, stored->plan, e->state, error);
  if (status != EP_OK || !quantize) return status;
  memcpy(e->rounded, e->state, (floats - 1) * sizeof *e->state);
  ep_c_dequantize_state(&stored->plan->program, e->rounded);
  return EP_OK;
}

static const char *dataset_of(const export *e) {
  return e->paths.dataset[0] ? e->paths.dataset : NULL;
}

/* Raw cells of a row, of a window those of all its rows. */
static int64_t rows_of_example(const export *e) {
  const ep_encoding *encoding = e->stored.scaling.encoding;
  return encoding && encoding->window.length > 0 ? encoding->window.length : 1;
}

static int64_t cells_of_row(const export *e) {
  const ep_encoding *encoding = e->stored.scaling.encoding;
  return encoding ? encoding->columns : ep_shape_count(e->stored.plan->program.stored);
}

/* The first row of a test set of the data's own, or else of all. False: it cannot be read, because
 * the data are gone, say. Then the example stays all zeros, which is as good a test. */
static bool example_read(export *e) {
  ep_row_source sets[EP_SPLIT_COUNT];
  if (ep_row_source_open(&e->stored.spec->data, dataset_of(e), sets, NULL) != EP_OK) return false;
  int64_t rows = rows_of_example(e), cells = cells_of_row(e);
  const ep_row_source *set =
      &sets[sets[EP_SPLIT_TEST].rows >= rows ? EP_SPLIT_TEST : EP_SPLIT_TRAIN];
  double *y = malloc((size_t)(set->targets + 1) * sizeof *y);
  bool fits = y && set->features == cells && set->rows >= rows;
  for (int64_t i = 0; i < rows && fits; i++) ep_row_source_read(set, i, e->example + i * cells, y);
  free(y);
  ep_row_source_close(sets);
  return fits;
}

/* What predict says of the example with these weights. */
static ep_status example_predict(export *e, ep_predictor *predictor, const char *weights,
                                 ep_error *error) {
  int64_t outputs;
  return ep_predictor_answer(predictor, weights, false, "", e->example, 1,
                             rows_of_example(e) * cells_of_row(e), 1, &e->expected, &outputs,
                             error);
}

/* With the weights that the int8 stand for, as a file that predict takes. */
static ep_status rounded_predict(export *e, ep_predictor *predictor, ep_error *error) {
  char path[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  int64_t bytes;
  if (snprintf(path, sizeof path, "%s.safetensors", e->file) >= (int)sizeof path)
    return ep_fail(error, EP_TOO_LARGE, "the path of %s is too long", e->file);
  ep_status status = ep_weights_write(path, e->stored.plan, e->rounded, &e->stored.scaling,
                                      e->stored.spec_text, sha256, &bytes, error);
  return status == EP_OK ? example_predict(e, predictor, path, error) : status;
}

static ep_status example_find(export *e, ep_predictor *predictor, ep_error *error) {
  e->example = calloc((size_t)(rows_of_example(e) * cells_of_row(e)), sizeof *e->example);
  if (!e->example) return ep_fail_memory(error);
  example_read(e);
  return e->rounded ? rounded_predict(e, predictor, error)
                    : example_predict(e, predictor, e->weights, error);
}

/* Outputs of the network for a split. outputs: [rows, out_features], written. */
static ep_status split_predict(ep_instance *instance, const ep_program *program,
                               const ep_prepared *data, ep_split split, float *outputs,
                               ep_error *error) {
  size_t value_bytes = program->x_type == EP_X_UINT8 ? 1 : sizeof(float);
  size_t row_bytes = (size_t)ep_shape_count(program->stored) * value_bytes;
  ep_status status = EP_OK;
  for (int64_t row = 0; row < data->rows[split] && status == EP_OK; row += ROWS_AT_ONCE) {
    int64_t left = data->rows[split] - row, count = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;
    status = ep_backend_cpu()->predict(instance,
                                       (const uint8_t *)data->x[split] + (size_t)row * row_bytes,
                                       count, outputs + row * program->out_features, error);
  }
  return status;
}

/* The accuracy or RMSE of the network with these weights. */
static ep_status state_measure(const export *e, const float *state, const ep_prepared *data,
                               ep_split split, double *out, ep_error *error) {
  const ep_backend_ops *ops = ep_backend_cpu();
  const ep_program *program = &e->stored.plan->program;
  ep_backend *backend = NULL;
  ep_instance *instance = NULL;
  ep_split_metrics metrics = {0};
  float *optimizer = calloc((size_t)program->optimizer_floats + 1, sizeof *optimizer);
  float *outputs =
      malloc((size_t)data->rows[split] * (size_t)program->out_features * sizeof *outputs);
  ep_status status = optimizer && outputs ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) status = ops->open(0, &backend, error);
  if (status == EP_OK) status = ops->compile(backend, program, NULL, &instance, error);
  if (status == EP_OK) status = ops->import_state(instance, state, optimizer, error);
  if (status == EP_OK) status = split_predict(instance, program, data, split, outputs, error);
  if (status == EP_OK)
    status = ep_metrics_compute(data, split, program->loss, outputs, program->out_features,
                                &metrics, error);
  *out = e->measured.accuracy ? metrics.accuracy : metrics.rmse;
  free(metrics.confusion);
  if (instance) ops->release(instance);
  if (backend) ops->close(backend);
  free(outputs);
  free(optimizer);
  return status;
}

/* On the test rows, or, where these are none or have no targets, on the training rows. */
static ep_status cost_measure(export *e, ep_error *error) {
  ep_prepared data;
  ep_status status =
      ep_prepare(&e->stored.spec->data, e->stored.spec->loss, dataset_of(e), &data, error);
  if (status != EP_OK) return status;
  bool test = data.rows[EP_SPLIT_TEST] > 0 && ep_prepared_targets(&data, EP_SPLIT_TEST);
  ep_split split = test ? EP_SPLIT_TEST : EP_SPLIT_TRAIN;
  e->measured = (ep_c_measured){.split = test ? "test" : "training",
                                .rows = data.rows[split],
                                .accuracy = ep_loss_is_classifier(e->stored.spec->loss)};
  if (e->stored.plan->program.x_type == EP_X_FLOAT32) status = ep_prepared_widen(&data, error);
  if (status == EP_OK)
    status = state_measure(e, e->state, &data, split, &e->measured.before, error);
  if (status == EP_OK)
    status = state_measure(e, e->rounded, &data, split, &e->measured.after, error);
  ep_prepared_deinit(&data);
  return status;
}

static ep_status header_write(const export *e, const char *job, ep_error *error) {
  const ep_c_model model = {.plan = e->stored.plan,
                            .spec = e->stored.spec,
                            .state = e->state,
                            .scaling = &e->stored.scaling,
                            .normalization = &e->stored.normalization,
                            .names = e->stored.scaling.encoding ? NULL : e->stored.encoding,
                            .job = job,
                            .bytes = e->stored.shape.x_type == EP_X_UINT8,
                            .quantized = e->rounded != NULL,
                            .measured = e->measured,
                            .example = e->example,
                            .expected = e->expected};
  return ep_weights_to_c(&model, e->file, error);
}

static void export_deinit(export *e) {
  free(e->expected);
  free(e->example);
  free(e->rounded);
  free(e->state);
  ep_stored_model_close(&e->stored);
}

ep_status ep_export_write(const char *data_dir, const ep_command *command, ep_predictor *predictor,
                          ep_error *error) {
  export e = {0};
  ep_status status =
      ep_path_join(e.weights, error, data_dir, "jobs", command->job, EP_WEIGHTS_FILE, NULL);
  if (status == EP_OK) status = ep_path_join(e.file, error, data_dir, command->file, NULL);
  if (status == EP_OK) status = ep_verified_sha256_at(e.weights, command->weights_sha256, error);
  if (status == EP_OK) status = model_read(&e, command->quantize, error);
  if (status == EP_OK)
    status = ep_training_paths_find(data_dir, command->job, e.stored.spec, &e.paths, error);
  if (status == EP_OK) status = ep_c_size_check(e.stored.plan, error);
  if (status == EP_OK) status = example_find(&e, predictor, error);
  if (status == EP_OK && e.rounded) status = cost_measure(&e, error);
  if (status == EP_OK) status = header_write(&e, command->job, error);
  export_deinit(&e);
  return status;
}
