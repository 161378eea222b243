#include "kernels/operators/operator.h"

static bool fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return ep_fits_windows(op, true) && op->groups >= 1 && op->in.channels % op->groups == 0 &&
         op->out.channels % op->groups == 0;
}

static ep_parameter_shape weight_shape(const ep_op *op) {
  return (ep_parameter_shape){
      4, {op->out.channels, op->in.channels / op->groups, op->kernel[0], op->kernel[1]}};
}

EP_OPERATOR(CONV2D, fits, EP_PARAMETERS(weight_shape, ep_shape_channels, RANDOM, false),
            EP_WORK(true, ep_operations_bias, 1), EP_MEMORY(INPUT, APART, NOTHING));
