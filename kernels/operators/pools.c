#include "kernels/operators/operator.h"

static bool max_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return ep_fits_pool(op, true);
}

EP_OPERATOR(MAX_POOL2D, max_fits, EP_NO_PARAMETERS,
            EP_WORK(false, ep_operations_window, EP_COST_WINDOW),
            EP_MEMORY(NOTHING, APART, INDICES));

static bool avg_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return ep_fits_pool(op, false);
}

EP_OPERATOR(AVG_POOL2D, avg_fits, EP_NO_PARAMETERS,
            EP_WORK(false, ep_operations_window, EP_COST_WINDOW),
            EP_MEMORY(NOTHING, APART, NOTHING));

static bool adaptive_fits(const ep_program *program, const ep_op *op) {
  (void)program;
  return op->in.channels == op->out.channels;
}

static int64_t adaptive_operations(const ep_op *op) {
  return op->in_features;
}

EP_OPERATOR(ADAPTIVE_AVG_POOL2D, adaptive_fits, EP_NO_PARAMETERS,
            EP_WORK(false, adaptive_operations, 4), EP_MEMORY(NOTHING, APART, NOTHING));
