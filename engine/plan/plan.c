#include "engine/plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/responses/validation.h"
#include "engine/plan/parts.h"
#include "kernels/formulas/optimizers.h"
#include "kernels/operators/operator.h"

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

/* What a row is: the spec's shape, else the data's own, else a vector. */
static ep_shape row_shape(const ep_job_spec *spec, const ep_data_shape *shape, int *rank) {
  const int64_t *asked = spec->data.shape;
  ep_shape row = shape->row;
  if (asked[0] > 0)
    row = (ep_shape){asked[0], asked[1], asked[2]};
  else if (row.channels == 0)
    row = (ep_shape){shape->features, 1, 1};
  *rank = asked[0] > 0 || row.height > 1 || row.width > 1 ? 3 : 1;
  return row;
}

static bool row_check(const ep_data_shape *shape, ep_shape row, ep_problem *problem) {
  char text[EP_SHAPE_BYTES];
  int64_t count = ep_multiply_saturated(row.channels, ep_multiply_saturated(row.height, row.width));
  if (count == shape->features) return true;
  ep_problem_add(problem, EP_INVALID, "/data/shape",
                 "%s contains %lld values, the data has %lld per row",
                 ep_shape_format(row, 3, text), (long long)count, (long long)shape->features);
  return false;
}

static ep_optimizer optimizer_make(const ep_job_spec *spec) {
  const ep_optimizer_spec *from = &spec->optimizer;
  return (ep_optimizer){.type = from->type,
                        .momentum = (float)from->momentum,
                        .nesterov = from->nesterov,
                        .beta1 = (float)from->beta1,
                        .beta2 = (float)from->beta2,
                        .alpha = (float)from->alpha,
                        .eps = (float)from->eps,
                        .centered = from->centered,
                        .decay = (float)from->decay,
                        .clip_norm = (float)spec->clip_norm,
                        .clip_value = (float)spec->clip_value};
}

/* What is known before the layers are: what comes in, and the batches. */
static void program_start(const ep_job_spec *spec, ep_plan *plan, ep_shape row) {
  const ep_data_shape *shape = &plan->shape;
  const ep_data_spec *data = &spec->data;
  bool full = spec->batch_size == 0 || spec->batch_size > shape->train_rows;
  ep_shape in = row;
  if (data->augment_crop[0])
    in = (ep_shape){row.channels, data->augment_crop[0], data->augment_crop[1]};
  plan->program = (ep_program){
      .ops = plan->ops,
      .stored = row,
      .in = in,
      .in_features = ep_shape_count(in),
      .target_columns = shape->target_columns,
      .groups = plan->groups,
      .loss = spec->loss,
      .loss_parameter = (float)spec->loss_parameter,
      .label_smoothing = (float)spec->label_smoothing,
      .optimizer = optimizer_make(spec),
      .train_rows = shape->train_rows,
      .batch_size = full ? shape->train_rows : spec->batch_size,
      .x_type = ep_layers_embed(spec->layers, spec->layers_count) ? EP_X_FLOAT32 : shape->x_type,
      .augment = {data->augment_shift, data->augment_flip},
      .shuffle = spec->shuffle,
      .seed = spec->seed,
      .precision = spec->precision,
  };
}

/* And what is known afterwards. */
static void program_finish(ep_plan *plan) {
  ep_program *program = &plan->program;
  program->out_features = plan->ops[program->ops_count - 1].out_features;
  program->parameters = plan->parameters;
  program->optimizer_floats =
      ep_multiply_saturated(ep_optimizer_slots(&program->optimizer), plan->parameters);
  program->max_predict_rows = ep_plan_predict_rows(plan);
}

static void parameters_check(const ep_plan *plan, ep_problem *problem) {
  if (plan->parameters == INT64_MAX)
    ep_problem_add(problem, EP_INVALID, "/model/layers",
                   "the model has over 2^63 parameters: the limit is %lld", EP_LIMIT_PARAMETERS);
  else if (plan->parameters > EP_LIMIT_PARAMETERS)
    ep_problem_add(problem, EP_INVALID, "/model/layers",
                   "the model has %lld parameters: the limit is %lld", (long long)plan->parameters,
                   EP_LIMIT_PARAMETERS);
}

/* Bytes are normalized where they are used: byte * scale + shift, by channel. */
static ep_status scaling_make(const ep_data_spec *data, ep_plan *plan, ep_problem *problem) {
  if (plan->program.x_type != EP_X_UINT8) return EP_OK;
  int64_t channels = plan->program.stored.channels;
  plan->x_scale = malloc((size_t)channels * sizeof *plan->x_scale);
  plan->x_shift = malloc((size_t)channels * sizeof *plan->x_shift);
  if (!plan->x_scale || !plan->x_shift) return ep_problem_fail_memory(problem);
  double scale = data->scale != 0 ? data->scale : data->normalize ? 1.0 / 255 : 1;
  for (int64_t i = 0; i < channels; i++) {
    int64_t figure = data->normalize_channels > 1 ? i : 0;
    double mean = data->normalize_mean ? data->normalize_mean[figure] : 0;
    double deviation = data->normalize_std ? data->normalize_std[figure] : 1;
    plan->x_scale[i] = (float)(scale / deviation);
    plan->x_shift[i] = (float)(-mean / deviation);
    if (!isfinite(plan->x_scale[i] * 255) || !isfinite(plan->x_shift[i]))
      return ep_problem_add(problem, EP_INVALID, "/data/normalize",
                            "produces values outside the range of float32");
  }
  plan->program.x_scale = plan->x_scale;
  plan->program.x_shift = plan->x_shift;
  return EP_OK;
}

static ep_status class_weights_make(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  if (!spec->class_weights && !spec->class_weights_balanced) return EP_OK;
  int64_t classes = plan->program.out_features;
  plan->class_weights = malloc((size_t)classes * sizeof *plan->class_weights);
  if (!plan->class_weights) return ep_problem_fail_memory(problem);
  for (int64_t i = 0; i < classes; i++)
    plan->class_weights[i] = spec->class_weights ? (float)spec->class_weights[i] : 1;
  plan->program.class_weights = plan->class_weights;
  return EP_OK;
}

static void plan_fill(const ep_job_spec *spec, ep_plan *plan, ep_problem *problem) {
  int faults_before = problem->errors_count;
  int rank;
  ep_shape row = row_shape(spec, &plan->shape, &rank);
  if (!row_check(&plan->shape, row, problem)) return;
  program_start(spec, plan, row);
  ep_plan_slices(spec, plan, problem);
  ep_plan_check_data(spec, plan, rank, problem);
  bool whole = ep_plan_lower(spec, plan, &rank, problem);
  if (whole) {
    program_finish(plan);
    ep_plan_ranks(spec, plan, problem);
    parameters_check(plan, problem);
    ep_plan_check_loss(spec, plan, rank, problem);
  }
  ep_plan_check_training(spec, plan, problem);
  if (problem->errors_count > faults_before) return;
  if (class_weights_make(spec, plan, problem) != EP_OK) return;
  if (scaling_make(&spec->data, plan, problem) != EP_OK) return;
  plan->operations = ep_plan_operations(plan);
  plan->bytes = ep_plan_bytes(plan);
  if (plan->bytes == INT64_MAX)
    ep_problem_add(problem, EP_INVALID, "", "the job needs over 2^63 bytes of memory");
}

/* Room for everything that has a size known from the layers' count; NULL when memory is short. */
static ep_plan *plan_allocate(int layers) {
  ep_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NULL;
  plan->ops = calloc((size_t)layers, sizeof *plan->ops);
  plan->groups = calloc(EP_OP_PARAMETERS * (size_t)layers, sizeof *plan->groups);
  plan->names = calloc((size_t)layers, sizeof *plan->names);
  if (plan->ops && plan->groups && plan->names) return plan;
  ep_plan_destroy(plan);
  return NULL;
}

ep_status ep_plan_create(const ep_job_spec *spec, const ep_data_shape *shape, ep_plan **out,
                         ep_problem *problem) {
  *out = NULL;
  /* Faults are collected apart, so that what the caller's problem held before does not count. */
  int faults_before = problem->errors_count;
  ep_status status_before = problem->status;
  shape_check(shape, problem);
  if (problem->errors_count > faults_before) return problem->status;
  int parts = 0, layers = ep_layers_total(spec->layers, spec->layers_count);
  for (int i = 0; i < spec->layers_count; i++) parts += 2 * spec->layers[i].places_count;
  if (layers < 1 || layers > EP_LIMIT_LAYERS)
    return ep_problem_add(problem, EP_INVALID, "/model/layers", "must have 1 to %d layers",
                          EP_LIMIT_LAYERS);
  ep_plan *plan = plan_allocate(2 * layers + parts + 2);
  if (!plan) return ep_problem_fail_memory(problem);
  plan->shape = *shape;
  if (shape->one_hot && ep_loss_takes_classes(spec->loss)) {
    plan->shape.classes = shape->target_columns;
    plan->shape.target_columns = 1;
  }
  plan_fill(spec, plan, problem);
  if (problem->status != status_before || problem->errors_count > faults_before) {
    ep_plan_destroy(plan);
    return problem->status;
  }
  *out = plan;
  return EP_OK;
}

ep_status ep_plan_balance(ep_plan *plan, const ep_job_spec *spec, const int32_t *classes,
                          int64_t rows, ep_error *error) {
  const int64_t count = plan->program.out_features;
  if (!spec->class_weights_balanced || !classes) return EP_OK;
  int64_t *rows_of = calloc((size_t)count, sizeof *rows_of), there = 0;
  if (!rows_of) return ep_fail_memory(error);
  for (int64_t i = 0; i < rows; i++)
    if (classes[i] >= 0 && classes[i] < count) rows_of[classes[i]]++; /* others are refused later */
  for (int64_t i = 0; i < count; i++) there += rows_of[i] > 0;
  for (int64_t i = 0; i < count; i++)
    plan->class_weights[i] =
        rows_of[i] > 0 ? (float)((double)rows / ((double)there * (double)rows_of[i])) : 1;
  free(rows_of);
  return EP_OK;
}

void ep_plan_destroy(ep_plan *plan) {
  if (!plan) return;
  free(plan->ops);
  free(plan->groups);
  free(plan->names);
  free(plan->class_weights);
  free(plan->x_scale);
  free(plan->x_shift);
  free(plan);
}

/* What a layer reads, by the name that is shown: what it names itself, or the layer before it. */
static void inputs_put(const ep_job_spec *spec, int layer, ep_layer_view *out) {
  const ep_layer_spec *of = &spec->layers[layer];
  char number[EP_LIMIT_LAYER_NAME_BYTES + 1];
  out->inputs = of->inputs > 0 ? of->inputs : 1;
  memcpy(out->input, of->input, sizeof of->input);
  if (of->inputs == 0 && layer == 0) memcpy(out->input[0], "x", 2);
  if (of->inputs == 0 && layer > 0) ep_layer_title(spec, layer - 1, out->input[0]);
  for (int before = 0; before < layer; before++) {
    snprintf(number, sizeof number, "%d", before);
    for (int k = 0; k < of->inputs; k++)
      if (strcmp(of->input[k], number) == 0) ep_layer_title(spec, before, out->input[k]);
  }
}

static ep_shape_view shape_view(ep_shape shape, int rank) {
  ep_shape_view view = {.sides = rank, .side = {shape.channels, shape.height, shape.width}};
  if (rank == 2) view.side[1] = shape.width;
  return view;
}

/* Ops of a block count for the layer that they stand in. */
void ep_plan_layers(const ep_plan *plan, const ep_job_spec *spec, ep_layer_view *rows) {
  for (int i = 0; i < spec->layers_count; i++) {
    rows[i] = (ep_layer_view){.type = ep_layer_type_name(spec->layers[i].type)};
    ep_layer_title(spec, i, rows[i].name);
    inputs_put(spec, i, &rows[i]);
  }
  for (int i = 0, last = -1; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    ep_layer_view *row = &rows[ep_plan_layer_of(plan, i)];
    if (ep_plan_layer_of(plan, i) != last) {
      row->in_features = op->in_features;
      row->in = shape_view(op->in, plan->rank[op->input[0]]);
    }
    last = ep_plan_layer_of(plan, i);
    row->out_features = op->out_features;
    row->out = shape_view(op->out, plan->rank[i + 1]);
    row->parameters += ep_op_parameters(op);
  }
}
