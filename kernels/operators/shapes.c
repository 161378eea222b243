/* The operators that change the shape or the order of numbers, and compute nothing. */
#include "kernels/operators/operator.h"

static bool reshape_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return op->out_features == op->in_features;
}

EP_OPERATOR(FLATTEN, reshape_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 0),
            EP_MEMORY(NOTHING, NOTHING, NOTHING));

EP_OPERATOR(RESHAPE, reshape_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 0),
            EP_MEMORY(NOTHING, NOTHING, NOTHING));

/* Each side goes somewhere, and has its length there. */
static bool permute_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  int seen = 0;
  for (int side = 0; side < EP_SHAPE_SIDES; side++) {
    const int from = op->order[side];
    if (from < 0 || from >= EP_SHAPE_SIDES ||
        ep_shape_side(op->out, side) != ep_shape_side(op->in, from))
      return false;
    seen |= 1 << from;
  }
  return seen == (1 << EP_SHAPE_SIDES) - 1;
}

EP_OPERATOR(PERMUTE, permute_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 1),
            EP_MEMORY(NOTHING, APART, NOTHING));

static bool slice_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  if (op->axis < 0 || op->axis >= EP_SHAPE_SIDES || op->start < 0) return false;
  for (int side = 0; side < EP_SHAPE_SIDES; side++)
    if (side != op->axis && ep_shape_side(op->in, side) != ep_shape_side(op->out, side))
      return false;
  return op->start <= ep_shape_side(op->in, op->axis) - ep_shape_side(op->out, op->axis);
}

EP_OPERATOR(SLICE, slice_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 1),
            EP_MEMORY(NOTHING, APART, NOTHING));
