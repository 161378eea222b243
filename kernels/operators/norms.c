#include "kernels/operators/operator.h"

EP_OPERATOR(BATCH_NORM, ep_fits_same_shape,
            EP_PARAMETERS(ep_shape_channels, ep_shape_channels, ONES, true),
            EP_WORK(false, ep_operations_norm, 4), EP_MEMORY(INPUT, ROWS, NOTHING));

/* That of what it normalizes. */
static ep_parameter_shape row_shape(const ep_op *op) {
  if (op->in.height * op->in.width == 1) return (ep_parameter_shape){1, {op->in_features}};
  return (ep_parameter_shape){3, {op->in.channels, op->in.height, op->in.width}};
}

/* A channel of one pixel would be 0. */
static bool instance_fits(const ep_program *program, const ep_op *op) {
  return ep_fits_same_shape(program, op) && op->in.height * op->in.width > 1;
}

EP_OPERATOR(INSTANCE_NORM, instance_fits,
            EP_PARAMETERS(ep_shape_channels, ep_shape_channels, ONES, false),
            EP_WORK(false, ep_operations_norm, 4), EP_MEMORY(INPUT, ROWS, NOTHING));

EP_OPERATOR(LAYER_NORM, ep_fits_same_shape, EP_PARAMETERS(row_shape, row_shape, ONES, false),
            EP_WORK(false, ep_operations_norm, 4), EP_MEMORY(INPUT, ROWS, STATISTICS));
