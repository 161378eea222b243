#include "kernels/operators/values.h"

/* It looks up what the data hold: columns of them are its input. */
static bool fits(const ep_program *program, const ep_op *op) {
  return ep_value_data_column(program, op->input[0]) >= 0 && program->x_type == EP_X_FLOAT32 &&
         op->embeddings >= 1 && op->numbers >= 0 && op->numbers < op->in_features &&
         op->numbers < op->out_features &&
         (op->out_features - op->numbers) % ep_op_columns(op) == 0;
}

static ep_parameter_shape weight_shape(const ep_op *op) {
  return (ep_parameter_shape){2, {op->embeddings, ep_op_dimension(op)}};
}

EP_OPERATOR(EMBEDDING, fits, EP_NAMED_PARAMETERS(RANDOM, {"weight", weight_shape}),
            EP_WORK(false, ep_operations_each, 4), EP_MEMORY(INPUT, APART, NOTHING));
