/* plan.h: how cuda/grid runs a program: which layers are the front, how many blocks there are, how
 * each product is cut, and what lies where. Linked into epochd: no CUDA. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PLAN_H

#include "kernels/cuda/executors/grid/args.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_grid_profile; /* in cost.c */

typedef struct {
  ep_grid_args args; /* but for its pointers, and what a segment brings */
  int blocks, shared_bytes;
  int64_t scratch_floats;
  int64_t counters; /* behind the barrier */
} ep_grid_plan;

/* false: not a program for this executor. */
bool ep_grid_plan_make(const ep_program *program, int multiprocessors, ep_grid_plan *out);

#endif
