/* costs.c: what a job costs: operations of an epoch, bytes on the device. */
#include "engine/plan/parts.h"
#include "kernels/operators/values.h"
#include "kernels/plans/capabilities.h"

/* Rows of one evaluate or predict: so many activations that a GPU is busy for longer than it takes
 * to queue the kernels, and no more inputs than that. A CPU's executors take as few at a time as
 * their caches hold. */
enum {
  PREDICT_VALUES = 1 << 24,
  PREDICT_INPUTS = 1 << 24,
  PREDICT_ROWS_MIN = 64,
  PREDICT_ROWS_MAX = 4096
};

/* Values that one row leaves behind on its way: the output of every layer. */
static int64_t row_values(const ep_plan *plan) {
  int64_t values = 0;
  for (int i = 0; i < plan->program.ops_count; i++)
    if (ep_operator_of(plan->ops[i].type)->writes != EP_WRITES_NOTHING)
      values = ep_add_saturated(values, plan->ops[i].out_features);
  return values;
}

int64_t ep_plan_predict_rows(const ep_plan *plan) {
  const int64_t values = row_values(plan), inputs = plan->program.in_features;
  int64_t rows = PREDICT_VALUES / (values > 0 ? values : 1);
  if (rows > PREDICT_INPUTS / inputs) rows = PREDICT_INPUTS / inputs;
  if (rows < PREDICT_ROWS_MIN) return PREDICT_ROWS_MIN;
  return rows > PREDICT_ROWS_MAX ? PREDICT_ROWS_MAX : rows;
}

/* Forward 2 a multiply-add, and what the operators count besides; backward the same again for the
 * weights' gradient and, but for the first layer that has weights, for the input's. */
int64_t ep_plan_operations(const ep_plan *plan) {
  int64_t per_row = 0;
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    int64_t products = ep_op_products(op), others = ep_operator_of(op->type)->operations(op);
    int64_t passes = first ? 2 : 3;
    per_row = ep_add_saturated(per_row, ep_multiply_saturated(2 * passes, products));
    per_row = ep_add_saturated(per_row, ep_multiply_saturated(2, others));
    first = first && op->weight < 0;
  }
  return ep_multiply_saturated(per_row, plan->shape.train_rows);
}

/* --- bytes --------------------------------------------------------------------------------- */

/* Values of a row that must lie somewhere of their own: outputs that are not written over their
 * input. A dropout mask is drawn again in the backward pass, and takes no memory. */
static int64_t kept_values(const ep_plan *plan) {
  int64_t values = 0;
  ep_value of[EP_LIMIT_LAYERS + 2];
  bool in_place[EP_LIMIT_LAYERS + 1];
  ep_values_find(&plan->program, 0, of);
  ep_values_in_place(&plan->program, of, 0, EP_KEEP_ALL, in_place);
  for (int i = 0; i < plan->program.ops_count; i++)
    if (!in_place[i]) values = ep_add_saturated(values, plan->ops[i].out_features);
  return values;
}

/* What the backward pass needs of a row besides: what is saved, but a dropout's mask, and gradients
 * beside the two of a list of layers. */
static int64_t saved_values(const ep_plan *plan) {
  int64_t values = 0;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    ep_saved saved = ep_operator_of(op->type)->saved;
    for (int k = 1; k < op->inputs; k++)
      if (op->input[k] > 0)
        values =
            ep_add_saturated(values, ep_shape_count(ep_value_shape(&plan->program, op->input[k])));
    if (saved == EP_SAVED_INDICES || saved == EP_SAVED_STATISTICS || saved == EP_SAVED_GATES)
      values = ep_add_saturated(values, ep_op_saved(op));
  }
  return values;
}

/* The widest gradient of a row between two layers; two of them take turns. */
static int64_t widest_values(const ep_plan *plan) {
  int64_t most = plan->program.out_features;
  for (int i = 0; i < plan->program.ops_count; i++)
    if (plan->ops[i].out_features > most) most = plan->ops[i].out_features;
  return most;
}

/* The state (parameters, running statistics, the optimizer's slots) counts twice, once for the
 * snapshot; the gradient once. */
static int64_t state_floats(const ep_program *program) {
  int64_t state = ep_add_saturated(ep_program_state_floats(program), program->optimizer_floats);
  return ep_add_saturated(ep_multiply_saturated(2, state), program->parameters);
}

/* A row of x as it is stored. */
static int64_t stored_bytes(const ep_plan *plan) {
  int64_t x_bytes = plan->program.x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
  return ep_multiply_saturated(x_bytes, plan->shape.features);
}

/* All rows as they lie on the device: x in its stored type, and the numbers that executors of dense
 * networks hold beside bytes; y in float32 (classes are int32). */
static int64_t data_bytes(const ep_plan *plan) {
  const ep_data_shape *shape = &plan->shape;
  const ep_program *program = &plan->program;
  const uint64_t dense = EP_CAPABLE_DENSE_LAYERS | EP_CAPABLE_SOFTMAXES | EP_CAPABLE_DROPOUTS |
                         EP_CAPABLE_LAYER(LAYER_NORM) | EP_CAPABLE_LAYER(BATCH_NORM);
  bool numbers = program->x_type == EP_X_UINT8 && ep_program_takes_numbers(program) &&
                 (ep_program_needs(program).layers & ~dense) == 0;
  int64_t x_bytes = ep_add_saturated(stored_bytes(plan),
                                     numbers ? program->in_features * (int64_t)sizeof(float) : 0);
  int64_t rows = ep_add_saturated(ep_add_saturated(shape->train_rows, shape->validation_rows),
                                  shape->test_rows);
  int64_t y_bytes = ep_multiply_saturated((int64_t)sizeof(float), shape->target_columns);
  return ep_multiply_saturated(rows, ep_add_saturated(x_bytes, y_bytes));
}

/* Beside the state and the data: for the rows of a forward pass the input and the outputs; for
 * those of a batch the targets, the gradients, and what is saved. Rows that are stored
 * otherwise than the network takes them (bytes, crops, shifts) come by on their way. */
int64_t ep_plan_bytes(const ep_plan *plan) {
  const ep_program *program = &plan->program;
  int64_t batch = program->batch_size, most = program->max_predict_rows;
  if (ep_program_ranks(program) > 1)
    return ep_add_saturated(ep_plan_ranks_bytes(program), data_bytes(plan));
  int64_t passed = most > batch ? most : batch;
  int64_t a_row = ep_add_saturated(program->in_features, kept_values(plan));
  int64_t back = ep_add_saturated(ep_multiply_saturated(2, widest_values(plan)),
                                  ep_add_saturated(saved_values(plan), program->target_columns));
  int64_t floats = ep_add_saturated(state_floats(program), ep_multiply_saturated(passed, a_row));
  floats = ep_add_saturated(floats, ep_multiply_saturated(batch, back));
  int64_t bytes = ep_multiply_saturated((int64_t)sizeof(float), floats);
  bool changed = program->x_type == EP_X_UINT8 || program->augment.shift || program->augment.flip ||
                 ep_shape_count(program->stored) != program->in_features;
  if (changed) bytes = ep_add_saturated(bytes, ep_multiply_saturated(passed, stored_bytes(plan)));
  return ep_add_saturated(bytes, data_bytes(plan));
}

/* The plan's count also has the activations of a whole batch, which the CPU takes piece by piece.
 * Limits keep the products below 2^60. */
int64_t ep_plan_least_bytes(const ep_plan *plan) {
  const ep_data_shape *shape = &plan->shape;
  const ep_program *program = &plan->program;
  int64_t rows = shape->train_rows + shape->validation_rows + shape->test_rows;
  int64_t x_bytes = program->x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
  int64_t row_bytes = shape->features * x_bytes + shape->target_columns * (int64_t)sizeof(float);
  int64_t state = ep_program_state_floats(program) + program->optimizer_floats;
  int64_t replica = state + (ep_program_ranks(program) > 1 ? 2 : 1) * program->parameters;
  return rows * row_bytes +
         (int64_t)sizeof(float) * (state + ep_program_replicas(program) * replica);
}
