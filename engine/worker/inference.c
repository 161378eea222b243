#include "engine/worker/inference.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare.h"
#include "engine/plan.h"
#include "engine/weights.h"
#include "kernels/backend.h"

/* A trained network, ready to answer. */
typedef struct {
  ep_job_spec *spec;
  ep_plan *plan;
  ep_scaling scaling;
  float *parameters;
  ep_backend *backend;
  ep_instance *instance;
} model;

/* A plan needs rows to train on; for answering, one row of the shape that the weights tell will do.
 */
static ep_status plan_for_answers(model *m, int64_t features, ep_error *error) {
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail(error, EP_NO_MEMORY, "no memory for the plan");
  int64_t outputs = 0;
  for (int i = 0; i < m->spec->layers_count; i++)
    if (m->spec->layers[i].type == EP_LAYER_LINEAR) outputs = m->spec->layers[i].out_features;
  bool classes = ep_loss_takes_classes(m->spec->loss);
  ep_data_shape shape = {.train_rows = 1,
                         .features = features,
                         .target_columns = classes ? 1 : outputs,
                         .classes = outputs,
                         .target_max = 1};
  ep_status status = ep_plan_create(m->spec, &shape, &m->plan, problem);
  if (status != EP_OK) ep_fail(error, EP_INTERNAL, "the stored model: %s", problem->detail);
  free(problem);
  return status == EP_OK ? EP_OK : EP_INTERNAL;
}

static ep_status spec_load(model *m, const char *weights, ep_error *error) {
  char *text = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail(error, EP_NO_MEMORY, "no memory for the spec");
  ep_status status = ep_weights_read_spec(weights, &text, error);
  if (status == EP_OK && ep_job_spec_parse(text, strlen(text), &m->spec, problem) != EP_OK)
    status = ep_fail(error, EP_INTERNAL, "the stored spec: %s", problem->detail);
  free(text);
  free(problem);
  return status;
}

static ep_status model_load(model *m, const char *weights, int64_t columns, ep_error *error) {
  const ep_backend_ops *ops = ep_backend_cpu();
  int64_t features = 0;
  ep_status status = spec_load(m, weights, error);
  if (status == EP_OK) status = ep_weights_read_features(weights, &features, error);
  if (status != EP_OK) return status;
  if (columns != features)
    return ep_fail_at(error, EP_INVALID, "/x/0", "the model takes %lld values a row, not %lld",
                      (long long)features, (long long)columns);
  status = plan_for_answers(m, features, error);
  if (status != EP_OK) return status;
  m->parameters = malloc((size_t)m->plan->parameters * sizeof *m->parameters);
  float *optimizer = calloc((size_t)m->plan->program.optimizer_floats + 1, sizeof *optimizer);
  if (!m->parameters || !optimizer)
    status = ep_fail(error, EP_NO_MEMORY, "no memory for the weights");
  if (status == EP_OK)
    status = ep_weights_read(weights, m->plan, m->parameters, &m->scaling, error);
  if (status == EP_OK) status = ops->open(0, &m->backend, error);
  if (status == EP_OK)
    status = ops->compile(m->backend, &m->plan->program, NULL, &m->instance, error);
  if (status == EP_OK) status = ops->import_state(m->instance, m->parameters, optimizer, error);
  free(optimizer);
  return status;
}

static void model_unload(model *m) {
  const ep_backend_ops *ops = ep_backend_cpu();
  if (m->instance) ops->release(m->instance);
  if (m->backend) ops->close(m->backend);
  free(m->parameters);
  ep_scaling_deinit(&m->scaling);
  ep_plan_destroy(m->plan);
  ep_job_spec_destroy(m->spec);
}

/* Scales x, runs the network, undoes the scaling of its output. output: [rows, outputs], written.
 */
static ep_status model_answer(model *m, const double *x, int64_t rows, double *output,
                              ep_error *error) {
  size_t inputs = (size_t)m->plan->program.in_features * (size_t)rows;
  size_t outputs = (size_t)m->plan->program.out_features * (size_t)rows;
  float *scaled = malloc((inputs + outputs) * sizeof *scaled);
  if (!scaled) return ep_fail(error, EP_NO_MEMORY, "no memory for %lld rows", (long long)rows);
  if (m->scaling.x_mean)
    ep_scaling_apply_x(&m->scaling, x, rows, scaled);
  else
    for (size_t i = 0; i < inputs; i++) scaled[i] = (float)x[i];
  ep_status status = ep_backend_cpu()->predict(m->instance, scaled, rows, scaled + inputs, error);
  if (status == EP_OK && m->scaling.y_mean)
    ep_scaling_undo_y(&m->scaling, scaled + inputs, rows, output);
  else
    for (size_t i = 0; i < outputs; i++) output[i] = scaled[inputs + i];
  free(scaled);
  return status;
}

/* The answer goes through one frame and is JSON in memory: as many numbers out as may come in. */
static ep_status answer_allocate(int64_t rows, int64_t columns, double **output, ep_error *error) {
  int64_t bytes;
  if (__builtin_mul_overflow(rows, columns, &bytes) ||
      __builtin_mul_overflow(bytes, (int64_t)sizeof **output, &bytes) ||
      bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail_at(error, EP_TOO_LARGE, "/x",
                      "%lld rows of %lld outputs are over the limit of %d numbers: send fewer rows",
                      (long long)rows, (long long)columns,
                      EP_LIMIT_PREDICT_BYTES / (int)sizeof **output);
  *output = malloc((size_t)bytes);
  return *output ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for %lld rows", (long long)rows);
}

ep_status ep_infer(const char *job_folder, const double *x, int64_t rows, int64_t columns,
                   double **output, int64_t *output_columns, ep_error *error) {
  char weights[PATH_MAX];
  model m = {0};
  *output = NULL;
  snprintf(weights, sizeof weights, "%s/weights.safetensors", job_folder);
  ep_status status = model_load(&m, weights, columns, error);
  if (status == EP_OK) {
    *output_columns = m.plan->program.out_features;
    status = answer_allocate(rows, *output_columns, output, error);
  }
  if (status == EP_OK) status = model_answer(&m, x, rows, *output, error);
  if (status != EP_OK) {
    free(*output);
    *output = NULL;
  }
  model_unload(&m);
  return status;
}
