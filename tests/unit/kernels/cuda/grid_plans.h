/* grid_plans.h: cuda/grid's plans of some programs, on so many multiprocessors. */
#ifndef EP_TESTS_KERNELS_GRID_PLANS_H
#define EP_TESTS_KERNELS_GRID_PLANS_H

#include "kernels/cuda/executors/grid/plan.h"

/* Doubling widths: 2-4-… of `layers` layers, to two classes, in TF32. */
bool ep_grid_plan_doubling(int layers, int64_t batch_size, const ep_optimizer *optimizer,
                           int multiprocessors, ep_grid_plan *out);

/* 300-400-500-600, to two classes: the first layer is too wide for a front. */
bool ep_grid_plan_wide(ep_precision precision, int64_t batch_size, const ep_optimizer *optimizer,
                       int multiprocessors, ep_grid_plan *out);

extern const ep_optimizer ep_grid_sgd, ep_grid_adam;

#endif
