/* cost_parts.h: what the models of engine/plan/cost.c share: a network in numbers. Private to them.
 */
#ifndef EP_ENGINE_PLAN_COST_PARTS_H
#define EP_ENGINE_PLAN_COST_PARTS_H

#include <math.h>

#include "engine/plan/cost.h"
#include "engine/plan/parts.h"
#include "kernels/choice.h"

/* Of one row, forward and back. */
typedef struct {
  double stages;           /* layers that do something */
  double thin, wide, conv; /* multiply-adds: of linear layers by width, and of convolutions */
  double wide_weights;
  double values; /* written on the way: outputs, and what is as dear as writing some */
} ep_cost_network;

ep_cost_network ep_cost_network_sum(const ep_plan *plan);

/* What an output of the layer is as dear as: an activation computes, and a function of the
 * library's is as dear as writing several values. */
double ep_cost_activation_values(const ep_op *op);

/* A linear layer whose inputs fill vectors. */
bool ep_cost_is_wide(const ep_op *op);

/* Parameters as the update sees them: each with the optimizer's slots. */
double ep_cost_updated(const ep_plan *plan);

/* `takes` of an executor that runs everything. */
bool ep_cost_takes_any(const ep_plan *plan, const ep_device_info *device);

static inline double ep_cost_rounded_up(double value, double unit) {
  return ceil(value / unit) * unit;
}

/* In the order in which the device would choose; static. */
const ep_cost_model *ep_cost_models_cpu(int *count);
const ep_cost_model *ep_cost_models_cuda(int *count);

#endif
