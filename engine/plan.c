#include "engine/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

/* Rows of one evaluate or predict: about a million activations, so that they stay in the caches of
 * a CPU and fill a GPU. */
enum { PREDICT_VALUES = 1 << 20, PREDICT_ROWS_MIN = 64, PREDICT_ROWS_MAX = 4096 };

static int64_t add_saturated(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Both at least 0. */
static int64_t multiply_saturated(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static const char *layer_pointer(int layer, const char *field, char text[64]) {
  snprintf(text, 64, "/model/layers/%d%s%s", layer, field ? "/" : "", field ? field : "");
  return text;
}

/* Where the width of the output is decided: the last linear layer's out_features. */
static const char *output_pointer(const ep_job_spec *spec, char text[64]) {
  for (int i = spec->layers_count - 1; i >= 0; i--)
    if (spec->layers[i].type == EP_LAYER_LINEAR) return layer_pointer(i, "out_features", text);
  snprintf(text, 64, "/model/layers");
  return text;
}

static void in_features_check(const ep_layer_spec *layer, int index, int64_t width,
                              ep_problem *problem) {
  char pointer[64];
  if (layer->in_features == 0 || layer->in_features == width) return;
  layer_pointer(index, "in_features", pointer);
  if (index == 0)
    ep_problem_add(problem, EP_INVALID, pointer,
                   "layer 0 expects %lld inputs, the data has %lld columns",
                   (long long)layer->in_features, (long long)width);
  else
    ep_problem_add(problem, EP_INVALID, pointer,
                   "layer %d expects %lld inputs, layer %d yields %lld", index,
                   (long long)layer->in_features, index - 1, (long long)width);
}

/* One op a layer: shapes from front to back, parameters one after the other. */
static void ops_lower(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  int64_t width = plan->shape.features, offset = 0;
  for (int i = 0; i < spec->layers_count; i++) {
    const ep_layer_spec *layer = &spec->layers[i];
    ep_op *op = &plan->ops[i];
    *op = (ep_op){.type = layer->type,
                  .in_features = width,
                  .out_features = width,
                  .weight = -1,
                  .bias = -1,
                  .negative_slope = (float)layer->negative_slope};
    if (layer->type != EP_LAYER_LINEAR) continue;
    in_features_check(layer, i, width, problem);
    op->out_features = width = layer->out_features;
    op->weight = offset;
    offset = add_saturated(offset, multiply_saturated(op->in_features, op->out_features));
    if (!layer->bias) continue;
    op->bias = offset;
    offset = add_saturated(offset, op->out_features);
  }
  plan->parameters = offset;
  if (offset == INT64_MAX)
    ep_problem_add(problem, EP_INVALID, "/model/layers",
                   "the model has over 2^63 parameters: the limit is %lld", EP_LIMIT_PARAMETERS);
  else if (offset > EP_LIMIT_PARAMETERS)
    ep_problem_add(problem, EP_INVALID, "/model/layers",
                   "the model has %lld parameters: the limit is %lld", (long long)offset,
                   EP_LIMIT_PARAMETERS);
}

/* Are there rows and columns at all, and not too many? */
static void shape_check(const ep_data_shape *shape, ep_problem *problem) {
  if (shape->features < 1 || shape->features > EP_LIMIT_FEATURES)
    ep_problem_add(problem, EP_INVALID, "/data", "x has %lld columns: 1 to %d can be used",
                   (long long)shape->features, EP_LIMIT_FEATURES);
  if (shape->target_columns < 1 || shape->target_columns > EP_LIMIT_FEATURES)
    ep_problem_add(problem, EP_INVALID, "/data", "y has %lld columns: 1 to %d can be used",
                   (long long)shape->target_columns, EP_LIMIT_FEATURES);
  if (shape->train_rows < 1)
    ep_problem_add(problem, EP_INVALID, "/data", "no rows are left to train on");
  const int64_t rows[] = {shape->train_rows, shape->validation_rows, shape->test_rows};
  for (int i = 0; i < 3; i++)
    if (rows[i] < 0 || rows[i] > EP_LIMIT_ROWS)
      ep_problem_add(problem, EP_INVALID, "/data", "%lld rows: the limit is %lld",
                     (long long)rows[i], EP_LIMIT_ROWS);
}

static void classes_check(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  const ep_data_shape *shape = &plan->shape;
  const char *loss = ep_loss_type_name(spec->loss);
  int64_t outputs = plan->ops[spec->layers_count - 1].out_features;
  char pointer[64];
  if (shape->target_columns != 1)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s takes one class a row, the target has %lld "
                   "columns",
                   loss, (long long)shape->target_columns);
  else if (shape->classes < 1)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s takes classes 0, 1, 2, …: the targets are not all whole numbers from 0 on",
                   loss);
  else if (shape->classes > outputs)
    ep_problem_add(problem, EP_INVALID, output_pointer(spec, pointer),
                   "the targets go up to class %lld, the last layer yields %lld columns: it must "
                   "yield at least %lld",
                   (long long)shape->classes - 1, (long long)outputs, (long long)shape->classes);
  else if (outputs > EP_LIMIT_CLASSES)
    ep_problem_add(problem, EP_INVALID, output_pointer(spec, pointer),
                   "%lld classes: the limit is %d", (long long)outputs, EP_LIMIT_CLASSES);
}

/* Losses that compare column by column. */
static void columns_check(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  const ep_data_shape *shape = &plan->shape;
  const ep_op *last = &plan->ops[spec->layers_count - 1];
  char pointer[64];
  if (last->out_features != shape->target_columns)
    ep_problem_add(problem, EP_INVALID, output_pointer(spec, pointer),
                   "the last layer yields %lld columns, the target has %lld",
                   (long long)last->out_features, (long long)shape->target_columns);
  if (!ep_loss_is_classifier(spec->loss)) return;
  if (!(shape->target_min >= 0 && shape->target_max <= 1))
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "%s takes targets from 0 to 1, these go from %g to %g",
                   ep_loss_type_name(spec->loss), shape->target_min, shape->target_max);
  /* Outside 0 … 1 the logarithm is not a number, so this could only fail, later. */
  if (spec->loss == EP_LOSS_BCE && last->type != EP_LAYER_SIGMOID && last->type != EP_LAYER_SOFTMAX)
    ep_problem_add(problem, EP_INVALID, "/loss",
                   "bce takes probabilities: end with a sigmoid layer, or use bce_with_logits");
}

static void loss_check(const ep_job_spec *spec, const ep_plan *plan, ep_problem *problem) {
  if (ep_loss_takes_classes(spec->loss))
    classes_check(spec, plan, problem);
  else
    columns_check(spec, plan, problem);
  if (ep_loss_is_classifier(spec->loss) && spec->data.standardize_y)
    ep_problem_add(problem, EP_INVALID, "/data/standardize",
                   "y cannot be standardized for %s: it holds classes",
                   ep_loss_type_name(spec->loss));
}

static void steps_check(const ep_job_spec *spec, const ep_program *program, ep_problem *problem) {
  int64_t per_epoch = ep_program_steps_per_epoch(program);
  int64_t steps = multiply_saturated(per_epoch, spec->epochs);
  if (steps > EP_LIMIT_STEPS)
    ep_problem_add(problem, EP_INVALID, "/epochs",
                   "%lld epochs of %lld steps are more steps than the limit of %lld",
                   (long long)spec->epochs, (long long)per_epoch, EP_LIMIT_STEPS);
}

/* Values that one row leaves behind on its way: the output of every layer. */
static int64_t row_values(const ep_plan *plan) {
  int64_t values = 0;
  for (int i = 0; i < plan->program.ops_count; i++)
    values = add_saturated(values, plan->ops[i].out_features);
  return values;
}

static int64_t predict_rows(const ep_plan *plan) {
  int64_t values = row_values(plan), rows = PREDICT_VALUES / (values > 0 ? values : 1);
  if (rows < PREDICT_ROWS_MIN) return PREDICT_ROWS_MIN;
  return rows > PREDICT_ROWS_MAX ? PREDICT_ROWS_MAX : rows;
}

/* Forward 2 a multiply-add and 1 for each bias and activation; backward the same again for the
 * weights' gradient and, but for the first linear layer, for the input's. */
static int64_t operations_count(const ep_plan *plan) {
  int64_t per_row = 0;
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    if (op->type == EP_LAYER_LINEAR) {
      int64_t product =
          multiply_saturated(2, multiply_saturated(op->in_features, op->out_features));
      per_row = add_saturated(per_row, multiply_saturated(first ? 2 : 3, product));
      first = false;
      if (op->bias < 0) continue;
    }
    per_row = add_saturated(per_row, multiply_saturated(2, op->out_features));
  }
  return multiply_saturated(per_row, plan->shape.train_rows);
}

/* All in float32 (classes are int32). The state counts twice: once for the snapshot. */
static int64_t bytes_count(const ep_plan *plan) {
  const ep_program *program = &plan->program;
  const ep_data_shape *shape = &plan->shape;
  int64_t state = add_saturated(program->parameters, program->optimizer_floats);
  int64_t floats = add_saturated(multiply_saturated(2, state), program->parameters);
  int64_t rows = program->batch_size > program->max_predict_rows ? program->batch_size
                                                                 : program->max_predict_rows;
  int64_t activations = multiply_saturated(rows, row_values(plan));
  floats = add_saturated(floats, multiply_saturated(2, activations));
  int64_t all_rows =
      add_saturated(add_saturated(shape->train_rows, shape->validation_rows), shape->test_rows);
  int64_t columns = add_saturated(shape->features, shape->target_columns);
  floats = add_saturated(floats, multiply_saturated(all_rows, columns));
  return multiply_saturated((int64_t)sizeof(float), floats);
}

static void program_fill(const ep_job_spec *spec, ep_plan *plan) {
  const ep_data_shape *shape = &plan->shape;
  ep_program *program = &plan->program;
  bool full = spec->batch_size == 0 || spec->batch_size > shape->train_rows;
  *program = (ep_program){
      .ops = plan->ops,
      .ops_count = spec->layers_count,
      .in_features = shape->features,
      .out_features = plan->ops[spec->layers_count - 1].out_features,
      .target_columns = shape->target_columns,
      .parameters = plan->parameters,
      .loss = spec->loss,
      .huber_delta = (float)spec->huber_delta,
      .optimizer = {.type = spec->optimizer.type,
                    .momentum = (float)spec->optimizer.momentum,
                    .weight_decay = (float)spec->optimizer.weight_decay,
                    .nesterov = spec->optimizer.nesterov},
      .optimizer_floats = (float)spec->optimizer.momentum != 0 ? plan->parameters : 0,
      .train_rows = shape->train_rows,
      .batch_size = full ? shape->train_rows : spec->batch_size,
      .shuffle = spec->shuffle,
      .seed = spec->seed,
      .precision = spec->precision,
  };
  program->max_predict_rows = predict_rows(plan);
}

static void plan_fill(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  ops_lower(spec, plan, problem);
  loss_check(spec, plan, problem);
  if (spec->optimizer.nesterov && !(spec->optimizer.momentum > 0))
    ep_problem_add(problem, EP_INVALID, "/optimizer/nesterov", "nesterov needs a momentum above 0");
  program_fill(spec, plan);
  steps_check(spec, &plan->program, problem);
  plan->operations = operations_count(plan);
  plan->bytes = bytes_count(plan);
  if (plan->bytes == INT64_MAX && plan->parameters <= EP_LIMIT_PARAMETERS)
    ep_problem_add(problem, EP_INVALID, "", "the job needs over 2^63 bytes of memory");
}

ep_status ep_plan_create(const ep_job_spec *spec, const ep_data_shape *shape, ep_plan **out,
                         ep_problem *problem) {
  *out = NULL;
  /* Faults are collected apart, so that what the caller's problem held before does not count. */
  int faults_before = problem->errors_count;
  ep_status status_before = problem->status;
  shape_check(shape, problem);
  if (problem->errors_count > faults_before) return problem->status;
  if (spec->layers_count < 1 || spec->layers_count > EP_LIMIT_LAYERS)
    return ep_problem_add(problem, EP_INVALID, "/model/layers", "must have 1 to %d layers",
                          EP_LIMIT_LAYERS);
  ep_plan *plan = calloc(1, sizeof *plan);
  if (plan) plan->ops = calloc((size_t)spec->layers_count, sizeof *plan->ops);
  if (!plan || !plan->ops) {
    ep_plan_destroy(plan);
    return ep_problem_set(problem, EP_NO_MEMORY, "not enough memory to plan the job");
  }
  plan->shape = *shape;
  plan_fill(spec, plan, problem);
  if (problem->status != status_before || problem->errors_count > faults_before) {
    ep_plan_destroy(plan);
    return problem->status;
  }
  *out = plan;
  return EP_OK;
}

void ep_plan_destroy(ep_plan *plan) {
  if (!plan) return;
  free(plan->ops);
  free(plan);
}

void ep_plan_layers(const ep_plan *plan, ep_layer_view *rows) {
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    int64_t weights = op->weight < 0 ? 0 : op->in_features * op->out_features;
    rows[i] = (ep_layer_view){.type = ep_layer_type_name(op->type),
                              .in_features = op->in_features,
                              .out_features = op->out_features,
                              .parameters = weights + (op->bias < 0 ? 0 : op->out_features)};
  }
}
