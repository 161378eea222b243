/* gru: torch.nn.GRU of one layer, from the first step to the last: r, z, n in this order in each
 * parameter. x: [channels, 1, length]; y: [hidden, 1, length], the state after each step. */
#include "kernels/operators/operator.h"

enum { GATES = 3, OPERATIONS = 20 };

static bool fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return op->in.height == 1 && op->out.height == 1 && op->in.width == op->out.width;
}

static ep_parameter_shape by_input(const ep_op *op) {
  return (ep_parameter_shape){2, {GATES * op->out.channels, op->in.channels}};
}

static ep_parameter_shape by_state(const ep_op *op) {
  return (ep_parameter_shape){2, {GATES * op->out.channels, op->out.channels}};
}

static ep_parameter_shape biases(const ep_op *op) {
  return (ep_parameter_shape){1, {GATES * op->out.channels}};
}

static int64_t operations(const ep_op *op) {
  return ep_multiply_saturated(OPERATIONS, op->out_features);
}

EP_OPERATOR(GRU, fits,
            EP_NAMED_PARAMETERS(STATE, {"weight_ih_l0", by_input}, {"weight_hh_l0", by_state},
                                {"bias_ih_l0", biases}, {"bias_hh_l0", biases}),
            EP_WORK(true, operations, OPERATIONS), EP_MEMORY(BOTH, APART, GATES));
