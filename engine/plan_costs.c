/* plan_costs.c: what a job costs: operations of an epoch, bytes on the device. */
#include "engine/plan_parts.h"

/* Rows of one evaluate or predict: about a million activations, so that they stay in the caches of
 * a CPU and fill a GPU. */
enum { PREDICT_VALUES = 1 << 20, PREDICT_ROWS_MIN = 64, PREDICT_ROWS_MAX = 4096 };

/* Of one value through a norm, forward: the sums of mean and variance, and the scaling. */
enum { NORM_OPERATIONS = 8 };

/* A flatten layer's output is its input. */
static bool is_stored(const ep_op *op) {
  return op->type != EP_LAYER_FLATTEN;
}

/* Values that one row leaves behind on its way: the output of every layer. */
static int64_t row_values(const ep_plan *plan) {
  int64_t values = 0;
  for (int i = 0; i < plan->program.ops_count; i++)
    if (is_stored(&plan->ops[i])) values = ep_add_saturated(values, plan->ops[i].out_features);
  return values;
}

int64_t ep_plan_predict_rows(const ep_plan *plan) {
  int64_t values = row_values(plan), rows = PREDICT_VALUES / (values > 0 ? values : 1);
  if (rows < PREDICT_ROWS_MIN) return PREDICT_ROWS_MIN;
  return rows > PREDICT_ROWS_MAX ? PREDICT_ROWS_MAX : rows;
}

int64_t ep_op_products(const ep_op *op) {
  if (op->type == EP_LAYER_LINEAR) return ep_multiply_saturated(op->in_features, op->out_features);
  if (op->type != EP_LAYER_CONV2D) return 0;
  int64_t window = (int64_t)op->kernel[0] * op->kernel[1];
  return ep_multiply_saturated(op->out_features,
                               ep_multiply_saturated(window, op->in.channels / op->groups));
}

/* Forward and backward of what does not multiply with weights: once each. */
static int64_t other_operations(const ep_op *op) {
  int64_t window = (int64_t)op->kernel[0] * op->kernel[1];
  switch (op->type) {
  case EP_LAYER_FLATTEN: return 0;
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D: return ep_multiply_saturated(2 * window, op->out_features);
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: return ep_multiply_saturated(2, op->in_features);
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM: return ep_multiply_saturated(2 * NORM_OPERATIONS, op->out_features);
  default: return ep_multiply_saturated(2, op->out_features);
  }
}

/* Forward 2 a multiply-add and 1 for each bias and activation; backward the same again for the
 * weights' gradient and, but for the first layer that has weights, for the input's. */
int64_t ep_plan_operations(const ep_plan *plan) {
  int64_t per_row = 0;
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    int64_t products = ep_op_products(op);
    if (products > 0) {
      int64_t passes = first ? 2 : 3;
      per_row = ep_add_saturated(per_row, ep_multiply_saturated(2 * passes, products));
      if (op->bias >= 0)
        per_row = ep_add_saturated(per_row, ep_multiply_saturated(2, op->out_features));
    } else {
      per_row = ep_add_saturated(per_row, other_operations(op));
    }
    first = first && op->weight < 0;
  }
  return ep_multiply_saturated(per_row, plan->shape.train_rows);
}

/* All rows as they lie on the device: x in its stored type, y in float32 (classes are int32). */
static int64_t data_bytes(const ep_plan *plan) {
  const ep_data_shape *shape = &plan->shape;
  int64_t rows = ep_add_saturated(ep_add_saturated(shape->train_rows, shape->validation_rows),
                                  shape->test_rows);
  int64_t x_bytes = plan->program.x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
  int64_t row =
      ep_add_saturated(ep_multiply_saturated(x_bytes, shape->features),
                       ep_multiply_saturated((int64_t)sizeof(float), shape->target_columns));
  return ep_multiply_saturated(rows, row);
}

/* The state (parameters, running statistics, the optimizer's slots) counts twice: once for the
 * snapshot. Beside it the gradient, and each layer's output with its gradient for a batch. */
int64_t ep_plan_bytes(const ep_plan *plan) {
  const ep_program *program = &plan->program;
  int64_t state = ep_add_saturated(ep_program_state_floats(program), program->optimizer_floats);
  int64_t floats = ep_add_saturated(ep_multiply_saturated(2, state), program->parameters);
  int64_t rows = program->batch_size > program->max_predict_rows ? program->batch_size
                                                                 : program->max_predict_rows;
  int64_t activations = ep_multiply_saturated(rows, row_values(plan));
  floats = ep_add_saturated(floats, ep_multiply_saturated(2, activations));
  return ep_add_saturated(ep_multiply_saturated((int64_t)sizeof(float), floats), data_bytes(plan));
}
