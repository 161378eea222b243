/* The layers that move or add values. */
#include "kernels/operators/operator.h"

static bool flatten_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return op->out_features == op->in_features;
}

EP_OPERATOR(FLATTEN, flatten_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 0),
            EP_MEMORY(NOTHING, NOTHING, NOTHING));

static bool residual_fits(const ep_program *program, const ep_op *op) {
  if (op->source < -1 || op->source >= op - program->ops) return false;
  ep_shape from = op->source < 0 ? program->in : program->ops[op->source].out;
  return ep_shapes_same(op->in, op->out) && ep_shapes_same(op->in, from);
}

EP_OPERATOR(RESIDUAL, residual_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_MEMORY(NOTHING, EACH, NOTHING));
