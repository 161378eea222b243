/* The operators that make one value of several. */
#include "kernels/operators/values.h"

static bool elements_fit(const ep_program *program, const ep_op *op) {
  bool fit = ep_shapes_same(op->in, op->out);
  for (int k = 0; k < op->inputs && fit; k++)
    fit = ep_shapes_same(ep_value_shape(program, op->input[k]), op->out);
  return fit;
}

EP_OPERATOR(ADD, elements_fit, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_JOINS(NOTHING, EACH, NOTHING));

EP_OPERATOR(MUL, elements_fit, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_each, 1),
            EP_JOINS(INPUT, EACH, NOTHING));

/* The inputs' sides add up along the axis, and are y's elsewhere. */
static bool concat_fits(const ep_program *program, const ep_op *op) {
  int64_t along = 0;
  if (op->axis < 0 || op->axis >= EP_SHAPE_SIDES) return false;
  for (int k = 0; k < op->inputs; k++) {
    const ep_shape in = ep_value_shape(program, op->input[k]);
    for (int side = 0; side < EP_SHAPE_SIDES; side++)
      if (side != op->axis && ep_shape_side(in, side) != ep_shape_side(op->out, side)) return false;
    if (op->length[k] != ep_shape_side(in, op->axis)) return false;
    along += op->length[k];
  }
  return along == ep_shape_side(op->out, op->axis);
}

EP_OPERATOR(CONCAT, concat_fits, EP_NO_PARAMETERS, EP_WORK(false, ep_operations_none, 1),
            EP_JOINS(NOTHING, APART, NOTHING));
