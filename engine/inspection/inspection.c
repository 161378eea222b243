#include "engine/inspection/inspection.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspection/linear.h"
#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/cpu/layers/network.h"
#include "kernels/operators/operator.h"

struct ep_inspection {
  ep_program program; /* without dropout */
  ep_op *ops;         /* [ops_count], owned */
  char (*names)[EP_LIMIT_NAME_BYTES];
  ep_network network;
  int64_t rows;
  ep_real *x;       /* [rows, in_features], owned */
  char *y;          /* [rows, target_columns] of 4 bytes, owned */
  ep_real *buffers; /* [buffers], owned: batch_norm moves them */
  double *grad;     /* [parameters], owned: of layers that are not linear */
  double *linear;   /* [ops_count], owned: the square of the gradient's norm, of those that are */
};

static bool is_dropout(ep_layer_type type) {
  return type == EP_LAYER_DROPOUT || type == EP_LAYER_DROPOUT2D;
}

static void sample_take(ep_inspection *in, const void *x, const void *y) {
  const ep_program *program = &in->program;
  size_t target_bytes = (size_t)program->target_columns * sizeof(float);
  for (int64_t i = 0; i < in->rows; i++) {
    int64_t row = i * program->train_rows / in->rows;
    ep_reference_read_evaluation_row(program, x, row, in->x + i * program->in_features);
    memcpy(in->y + (size_t)i * target_bytes, (const char *)y + (size_t)row * target_bytes,
           target_bytes);
  }
}

ep_status ep_inspection_create(const ep_program *program, char (*names)[EP_LIMIT_NAME_BYTES],
                               const void *x, const void *y, int64_t rows, ep_inspection **out,
                               ep_error *error) {
  *out = NULL;
  ep_inspection *in = calloc(1, sizeof *in);
  if (!in) return ep_fail_memory(error);
  in->program = *program;
  in->names = names;
  in->rows = rows < program->train_rows ? rows : program->train_rows;
  in->ops = malloc((size_t)program->ops_count * sizeof *in->ops);
  in->x = malloc((size_t)(in->rows * program->in_features) * sizeof *in->x);
  in->y = malloc((size_t)(in->rows * program->target_columns) * sizeof(float));
  in->buffers = malloc((size_t)(program->buffers + 1) * sizeof *in->buffers);
  in->linear = calloc((size_t)program->ops_count, sizeof *in->linear);
  bool others = false;
  for (int i = 0; i < program->ops_count; i++)
    others |=
        program->ops[i].type != EP_LAYER_LINEAR && ep_op_parameters_first(&program->ops[i]) >= 0;
  if (others) in->grad = malloc((size_t)program->parameters * sizeof *in->grad);
  bool complete = in->ops && in->x && in->y && in->buffers && in->linear && (in->grad || !others);
  ep_status status = complete ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK) {
    memcpy(in->ops, program->ops, (size_t)program->ops_count * sizeof *in->ops);
    for (int i = 0; i < program->ops_count; i++)
      if (is_dropout(in->ops[i].type)) in->ops[i].p = 0;
    in->program.ops = in->ops;
    status =
        ep_network_init(&in->network, &in->program, 0, program->ops_count, in->rows, true, NULL);
  }
  if (status != EP_OK) {
    ep_inspection_destroy(in);
    return ep_fail_memory(error);
  }
  sample_take(in, x, y);
  *out = in;
  return EP_OK;
}

void ep_inspection_destroy(ep_inspection *in) {
  if (!in) return;
  if (in->network.program) ep_network_deinit(&in->network);
  free(in->linear);
  free(in->grad);
  free(in->buffers);
  free(in->y);
  free(in->x);
  free(in->ops);
  free(in);
}

/* Linear layers, faster than the table's. */
static void linear_forward(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                           ep_real *y) {
  ep_linear_forward(op, pass->parameters, pass->rows, x[0], y);
}

static void linear_backward(const ep_reference_pass *pass, const ep_op *op, const ep_real *const *x,
                            const ep_real *y, const ep_real *grad_y, ep_real *const *grad_x,
                            double *grad_parameters) {
  ep_inspection *in = pass->context;
  (void)y, (void)grad_parameters;
  in->linear[op - in->ops] = ep_linear_grad_square(op, pass->rows, x[0], grad_y);
  if (grad_x[0]) ep_linear_backward(op, pass->parameters, pass->rows, grad_y, grad_x[0]);
}

static const ep_reference_layer faster_linear = {linear_forward, linear_backward, NULL};

/* Leaves the outputs of all layers in the network, and the gradient of the mean loss in `grad` and
 * `linear`. */
static void passes_run(ep_inspection *in, const float *state) {
  const ep_program *program = &in->program;
  ep_reference_pass pass = {.parameters = state,
                            .buffers = in->buffers,
                            .rows = in->rows,
                            .seed = program->seed,
                            .training = true,
                            .context = in};
  ep_real *x = in->network.values[0];
  memcpy(in->buffers, state + program->parameters, (size_t)program->buffers * sizeof *in->buffers);
  memcpy(x, in->x, (size_t)(in->rows * program->in_features) * sizeof *x);
  if (in->grad) memset(in->grad, 0, (size_t)program->parameters * sizeof *in->grad);
  double divisor = 0;
  int64_t errors = 0;
  for (int64_t i = 0; i < in->rows; i++)
    divisor += ep_reference_loss_share(program, in->y + (size_t)(i * program->target_columns) *
                                                            sizeof(float));
  in->network.linear = &faster_linear;
  ep_network_forward(&in->network, &pass);
  ep_reference_loss(program, in->network.values[program->ops_count], in->y, in->rows, divisor,
                    in->network.grad, &errors);
  ep_network_backward(&in->network, &pass, in->grad);
}

static void norms_find(const ep_inspection *in, int number, const float *state,
                       ep_layer_figures *out) {
  const ep_op *op = &in->ops[number];
  const int64_t first = ep_op_parameters_first(op), end = first + ep_op_parameters(op);
  bool linear = op->type == EP_LAYER_LINEAR;
  double grad = in->linear[number], weight = 0;
  out->grad_norm = out->weight_norm = NAN;
  if (first < 0) return;
  for (int64_t i = first; i < end; i++) {
    if (!linear) grad += in->grad[i] * in->grad[i];
    weight += (double)state[i] * (double)state[i];
  }
  out->grad_norm = sqrt(grad);
  out->weight_norm = sqrt(weight);
  out->has_parameters = 1;
}

int32_t ep_dead_units_count(const float *values, int64_t rows, ep_shape shape) {
  int64_t pixels = shape.height * shape.width, row_values = ep_shape_count(shape);
  int32_t dead = 0;
  for (int64_t unit = 0; unit < shape.channels; unit++) {
    bool alive = false;
    for (int64_t i = 0; i < rows && !alive; i++)
      for (int64_t j = 0; j < pixels && !alive; j++)
        alive = values[i * row_values + unit * pixels + j] != 0;
    dead += !alive;
  }
  return dead;
}

static void histogram_find(const ep_real *values, int64_t count, ep_layer_figures *out) {
  enum { BINS = EP_LIMIT_HISTOGRAM_BINS };
  ep_real low = values[0], high = values[0];
  for (int64_t i = 0; i < count; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  out->low = low;
  out->high = high;
  double scale = high > low ? BINS / ((double)high - (double)low) : 0;
  for (int64_t i = 0; i < count; i++) {
    double at = ((double)values[i] - (double)low) * scale;
    out->bins[at >= 0 && at < BINS ? (int)at : at >= BINS ? BINS - 1 : 0]++;
  }
}

static bool values_finite(const ep_real *values, int64_t count) {
  double sum = 0; /* NaN and infinities stay */
  for (int64_t i = 0; i < count; i++) sum += (double)values[i] * 0;
  return sum == 0;
}

/* Layers that only pass values on say nothing of their own. */
static bool is_shown(ep_layer_type type) {
  return !is_dropout(type) && ep_operator_of(type)->writes != EP_WRITES_NOTHING;
}

static bool layer_inspect(const ep_inspection *in, int number, const float *state,
                          ep_layer_figures *out) {
  const ep_op *op = &in->ops[number];
  const ep_real *values = in->network.values[number + 1];
  int64_t count = in->rows * op->out_features;
  if (!values_finite(values, count)) return false;
  out->type = op->type;
  out->units = (int32_t)op->out.channels;
  out->dead = op->type == EP_LAYER_RELU ? ep_dead_units_count(values, in->rows, op->out) : -1;
  snprintf(out->name, sizeof out->name, "%.23s", in->names[number]);
  norms_find(in, number, state, out);
  histogram_find(values, count, out);
  return !out->has_parameters || (isfinite(out->grad_norm) && isfinite(out->weight_norm));
}

int ep_inspection_run(ep_inspection *in, const float *state, int64_t epoch,
                      ep_progress_record *records) {
  int count = 0;
  passes_run(in, state);
  for (int i = 0; i < in->program.ops_count; i++) {
    if (!is_shown(in->ops[i].type)) continue;
    if (count == EP_LIMIT_REPORTED_LAYERS) return 0;
    ep_progress_record *record = &records[count];
    *record = (ep_progress_record){.kind = EP_PROGRESS_LAYER, .epoch = epoch};
    if (!layer_inspect(in, i, state, &record->layer)) return 0;
    record->layer.number = count++;
  }
  for (int i = 0; i < count; i++) records[i].layer.count = count;
  return count;
}
