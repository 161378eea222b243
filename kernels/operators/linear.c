#include "kernels/operators/operator.h"

/* Its shapes are what they are: x and y of any width. */
static bool fits(const ep_program *program, const ep_op *op) {
  (void)program, (void)op;
  return true;
}

static ep_parameter_shape weight_shape(const ep_op *op) {
  return (ep_parameter_shape){2, {op->out_features, op->in_features}};
}

static ep_parameter_shape bias_shape(const ep_op *op) {
  return (ep_parameter_shape){1, {op->out_features}};
}

EP_OPERATOR(LINEAR, fits, EP_PARAMETERS(weight_shape, bias_shape, RANDOM, false),
            EP_WORK(true, ep_operations_bias, 1), EP_MEMORY(INPUT, APART, NOTHING));
