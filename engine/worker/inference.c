#include "engine/worker/inference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/names.h"
#include "engine/checkpoints/checkpoint.h"
#include "engine/data/prepare/prepare.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "engine/plan/plan.h"
#include "engine/weights/stored_model.h"
#include "engine/weights/weights.h"
#include "kernels/backend.h"

/* A trained network, ready to predict. */
typedef struct {
  int64_t features; /* values of a row as a request has it */
  ep_stored_model stored;
  float *state; /* parameters, then buffers */
  ep_backend *backend;
  ep_instance *instance;
} model;

/* Rows of an example: several of a series. */
static int64_t window_rows(const ep_encoding *encoding) {
  return encoding->window.length > 0 ? encoding->window.length : 1;
}

static ep_status model_load(model *m, const char *weights, ep_error *error) {
  const ep_backend_ops *ops = ep_backend_cpu();
  ep_stored_model *stored = &m->stored;
  ep_status status = ep_stored_model_open(weights, stored, error);
  if (status == EP_OK) status = ep_stored_model_plan(stored, true, error);
  if (status != EP_OK) return status;
  const ep_encoding *encoding = stored->scaling.encoding;
  const ep_program *program = &stored->plan->program;
  m->features = encoding ? encoding->columns * window_rows(encoding) : stored->shape.features;
  m->state = malloc((size_t)ep_program_state_floats(program) * sizeof *m->state + 1);
  float *optimizer = calloc((size_t)program->optimizer_floats + 1, sizeof *optimizer);
  if (!m->state || !optimizer) status = ep_fail_memory(error);
  if (status == EP_OK) status = ep_weights_take(&stored->file, stored->plan, m->state, error);
  ep_tensors_close(&stored->file);
  if (status == EP_OK) status = ops->open(0, &m->backend, error);
  if (status == EP_OK) status = ops->compile(m->backend, program, NULL, &m->instance, error);
  if (status == EP_OK) status = ops->import_state(m->instance, m->state, optimizer, error);
  free(optimizer);
  return status;
}

static void model_unload(model *m) {
  const ep_backend_ops *ops = ep_backend_cpu();
  if (m->instance) ops->release(m->instance);
  if (m->backend) ops->close(m->backend);
  free(m->state);
  ep_stored_model_close(&m->stored);
  *m = (model){0};
}

/* Raw rows of a table as the network was trained on them. x: [rows, stride], of which each row
 * begins with an example, [window rows, encoding columns]. scaled: [rows, features, window rows].
 */
static ep_status x_encode(const ep_encoding *encoding, const double *x, int64_t rows,
                          int64_t stride, float *scaled, ep_error *error) {
  int64_t length = window_rows(encoding), features = encoding->features;
  double *row = malloc((size_t)features * sizeof *row);
  if (!row) return ep_fail_memory(error);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t t = 0; t < length; t++) {
      ep_encoding_apply(encoding, x + i * stride + t * encoding->columns, row);
      for (int64_t j = 0; j < features; j++)
        scaled[(i * features + j) * length + t] = (float)row[j];
    }
  free(row);
  return EP_OK;
}

/* x as the network was trained on it: encoded, standardized, normalized or as it is. x: [rows,
 * stride]; scaled: [rows, columns], written. */
static ep_status x_scale(const model *m, const double *x, int64_t rows, int64_t stride,
                         float *scaled, ep_error *error) {
  size_t count = (size_t)ep_shape_count(m->stored.plan->program.stored) * (size_t)rows;
  double *changed = NULL;
  if (m->stored.scaling.encoding)
    return x_encode(m->stored.scaling.encoding, x, rows, stride, scaled, error);
  if (m->stored.scaling.x_mean) {
    ep_scaling_apply_x(&m->stored.scaling, x, rows, scaled);
    return EP_OK;
  }
  if (m->stored.normalization.channels > 0) {
    changed = malloc(count * sizeof *changed);
    if (!changed) return ep_fail_memory(error);
    memcpy(changed, x, count * sizeof *changed);
    ep_normalization_apply(&m->stored.normalization, changed, rows);
    x = changed;
  }
  for (size_t i = 0; i < count; i++) scaled[i] = (float)x[i];
  free(changed);
  return EP_OK;
}

/* Scales x, [rows, stride], runs the network, undoes the scaling of its output. output: [rows,
 * outputs], written. */
static ep_status model_answer(model *m, const double *x, int64_t rows, int64_t stride,
                              double *output, ep_error *error) {
  size_t inputs = (size_t)ep_shape_count(m->stored.plan->program.stored) * (size_t)rows;
  size_t outputs = (size_t)m->stored.plan->program.out_features * (size_t)rows;
  float *scaled = malloc((inputs + outputs) * sizeof *scaled);
  if (!scaled) return ep_fail_memory(error);
  ep_status status = x_scale(m, x, rows, stride, scaled, error);
  if (status == EP_OK)
    status = ep_backend_cpu()->predict(m->instance, scaled, rows, scaled + inputs, error);
  if (status == EP_OK && m->stored.scaling.y_mean)
    ep_scaling_undo_y(&m->stored.scaling, scaled + inputs, rows, output);
  else if (status == EP_OK)
    for (size_t i = 0; i < outputs; i++) output[i] = scaled[inputs + i];
  free(scaled);
  return status;
}

/* What is predicted of a row of the series becomes its target, where it has none. series: of that
 * row on; values: [1], its prediction. */
static void target_fill(const model *m, double *row, const double *value) {
  double *cell = row + m->stored.scaling.encoding->window.target;
  bool number =
      m->stored.plan->program.out_features == 1 && !ep_loss_is_classifier(m->stored.spec->loss);
  if (number && isnan(*cell)) *cell = *value;
}

/* One after another, since an example may have the prediction of the one before. x: [rows,
 * columns]; output: [rows, windows, outputs], written. */
static ep_status windows_answer(model *m, const double *x, int64_t rows, int64_t columns,
                                int64_t windows, double *output, ep_error *error) {
  const ep_encoding *encoding = m->stored.scaling.encoding;
  int64_t outputs = m->stored.plan->program.out_features;
  int64_t ahead = window_rows(encoding) - 1 + encoding->window.horizon;
  size_t cells = (size_t)rows * (size_t)columns;
  double *series = malloc((cells + (size_t)(rows * outputs)) * sizeof *series);
  if (!series) return ep_fail_memory(error);
  double *values = series + cells;
  ep_status status = EP_OK;
  memcpy(series, x, cells * sizeof *series);
  for (int64_t k = 0; k < windows && status == EP_OK; k++) {
    int64_t next = (k + ahead) * encoding->columns; /* the row that is predicted */
    status = model_answer(m, series + k * encoding->columns, rows, columns, values, error);
    for (int64_t i = 0; i < rows && status == EP_OK; i++) {
      memcpy(output + (i * windows + k) * outputs, values + i * outputs,
             (size_t)outputs * sizeof *output);
      if (next < columns) target_fill(m, series + i * columns + next, values + i * outputs);
    }
  }
  free(series);
  return status;
}

/* The answer goes through one frame and is JSON in memory: as many numbers out as may come in. */
static ep_status answer_allocate(int64_t rows, int64_t columns, double **output, ep_error *error) {
  int64_t bytes;
  if (__builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)sizeof **output, &bytes) ||
      bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail_at(
        error, EP_TOO_LARGE, "/x",
        "%lld rows of %lld outputs exceed the limit of %d numbers: predict fewer rows",
        (long long)rows, (long long)columns, EP_LIMIT_PREDICT_BYTES / (int)sizeof **output);
  *output = malloc((size_t)bytes);
  return *output ? EP_OK : ep_fail_memory(error);
}

struct ep_predictor {
  model model;              /* as long as `path` is one */
  char path[EP_PATH_BYTES]; /* its weights; "" = there is no model */
  struct stat file;         /* and what the file was */
};

ep_status ep_predictor_create(ep_predictor **out, ep_error *error) {
  *out = calloc(1, sizeof **out);
  return *out ? EP_OK : ep_fail_memory(error);
}

static void model_forget(ep_predictor *predictor) {
  model_unload(&predictor->model);
  predictor->path[0] = 0;
}

void ep_predictor_destroy(ep_predictor *predictor) {
  if (!predictor) return;
  model_forget(predictor);
  free(predictor);
}

/* The model of the weights at `path`: the one that is held, or read anew. Weights are written once,
 * and replaced as a whole: another file is another inode or time. */
static ep_status model_hold(ep_predictor *predictor, const char *path, bool checkpoint,
                            const char *sha256, ep_error *error) {
  struct stat file = {0};
  bool there = stat(path, &file) == 0;
  if (there && strcmp(predictor->path, path) == 0 && ep_file_is_same(&predictor->file, &file))
    return EP_OK;
  model_forget(predictor);
  ep_status status = checkpoint  ? ep_checkpoint_check(path, error)
                     : sha256[0] ? ep_verified_sha256_at(path, sha256, error)
                                 : EP_OK;
  if (status == EP_OK) status = model_load(&predictor->model, path, error);
  if (status != EP_OK) {
    model_forget(predictor);
    return status;
  }
  snprintf(predictor->path, sizeof predictor->path, "%s", path);
  predictor->file = file;
  return EP_OK;
}

ep_status ep_predictor_hold(ep_predictor *predictor, const char *weights, bool checkpoint,
                            const char *sha256, int64_t *joins, ep_error *error) {
  ep_instance_info info;
  const model *m = &predictor->model;
  *joins = 0;
  ep_status status = model_hold(predictor, weights, checkpoint, sha256, error);
  if (status != EP_OK) return status;
  ep_backend_cpu()->instance_info(m->instance, &info);
  if (info.rows_apart &&
      !(m->stored.scaling.encoding && m->stored.scaling.encoding->window.length > 0))
    *joins =
        EP_LIMIT_PREDICT_BYTES / (int64_t)sizeof(double) / m->stored.plan->program.out_features;
  return EP_OK;
}

ep_status ep_predictor_answer(ep_predictor *predictor, const char *weights, bool checkpoint,
                              const char *sha256, const double *x, int64_t rows, int64_t columns,
                              int64_t windows, double **output, int64_t *output_columns,
                              ep_error *error) {
  model *m = &predictor->model;
  *output = NULL;
  ep_status status = model_hold(predictor, weights, checkpoint, sha256, error);
  if (status != EP_OK) return status;
  bool series = m->stored.scaling.encoding && m->stored.scaling.encoding->window.length > 0;
  int64_t features =
      m->features + (series ? (windows - 1) * m->stored.scaling.encoding->columns : 0);
  if (columns != features || (windows != 1 && !series))
    return ep_fail_at(error, EP_INVALID, "/x/0", "the model expects %lld values per row, not %lld",
                      (long long)features, (long long)columns);
  *output_columns = windows * m->stored.plan->program.out_features;
  int64_t bytes = ep_program_state_floats(&m->stored.plan->program) * (int64_t)sizeof *m->state;
  status = answer_allocate(rows, *output_columns, output, error);
  if (status == EP_OK)
    status = series ? windows_answer(m, x, rows, columns, windows, *output, error)
                    : model_answer(m, x, rows, columns, *output, error);
  if (status != EP_OK) {
    free(*output);
    *output = NULL;
  }
  /* A device's error may stay with its instance; a large network does not wait in memory. */
  if (status != EP_OK || bytes > EP_LIMIT_HELD_MODEL_BYTES) model_forget(predictor);
  return status;
}
