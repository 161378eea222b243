#include "engine/plan/cost_parts.h"

double ep_cost_activation_values(const ep_op *op) {
  switch (op->type) {
  case EP_LAYER_FLATTEN: return 0;
  case EP_LAYER_RELU:
  case EP_LAYER_LEAKY_RELU: return 0.5;
  case EP_LAYER_LINEAR:
  case EP_LAYER_CONV2D:
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D:
  case EP_LAYER_RESIDUAL: return 1;
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D: return (double)op->kernel[0] * op->kernel[1];
  default: return 4;
  }
}

enum { WIDE_IN_FEATURES = 16, WIDE_OUT_FEATURES = 4 };

bool ep_cost_is_wide(const ep_op *op) {
  return op->in_features >= WIDE_IN_FEATURES && op->out_features >= WIDE_OUT_FEATURES;
}

ep_cost_network ep_cost_network_sum(const ep_plan *plan) {
  ep_cost_network sum = {.values = (double)plan->program.in_features};
  bool first = true;
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->ops[i];
    double products = (double)ep_op_products(op) * (first ? 2 : 3);
    bool wide = ep_cost_is_wide(op);
    sum.stages += op->type != EP_LAYER_FLATTEN && op->type != EP_LAYER_RELU;
    sum.values += ep_cost_activation_values(op) * (double)op->out_features;
    if (op->type == EP_LAYER_CONV2D)
      sum.conv += products;
    else if (wide)
      sum.wide += products;
    else
      sum.thin += products;
    if (wide) sum.wide_weights += (double)ep_op_weights(op);
    first = first && op->weight < 0;
  }
  return sum;
}

double ep_cost_updated(const ep_plan *plan) {
  return (double)plan->parameters *
         (1 + 0.5 * (double)ep_optimizer_slots(&plan->program.optimizer));
}

bool ep_cost_takes_any(const ep_plan *plan, const ep_device_info *device) {
  (void)plan;
  (void)device;
  return true;
}
