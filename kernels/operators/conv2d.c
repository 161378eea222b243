#include "kernels/operators/operator.h"

static bool fits(const ep_program *program, const ep_op *op) {
  (void)program;
  if (op->is_1d && (op->kernel[0] != 1 || op->in.height != 1 || op->out.height != 1)) return false;
  return ep_fits_windows(op, true) && op->groups >= 1 && op->in.channels % op->groups == 0 &&
         op->out.channels % op->groups == 0;
}

static ep_parameter_shape weight_shape(const ep_op *op) {
  if (op->is_1d)
    return (ep_parameter_shape){3, {op->out.channels, op->in.channels / op->groups, op->kernel[1]}};
  return (ep_parameter_shape){
      4, {op->out.channels, op->in.channels / op->groups, op->kernel[0], op->kernel[1]}};
}

EP_OPERATOR(CONV2D, fits, EP_PARAMETERS(weight_shape, ep_shape_channels, RANDOM, false),
            EP_WORK(true, ep_operations_bias, 1), EP_MEMORY(INPUT, APART, NOTHING));
