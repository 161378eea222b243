/* plan.h: a dense network as cuda/gemm runs it: linear layers, each with an activation and a
 * dropout behind it or without, and what stands behind the last. Linked into epochd: no CUDA. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_PLAN_H

#include "kernels/cuda/executors/dense.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_gemm_profile;

typedef struct {
  ep_cuda_dense_layer *layers; /* [ops_count], the caller's; NULL: layers are counted alone */
  int layers_count;
  const ep_op *tail; /* the program's last op when that is no linear layer, or NULL */
} ep_gemm_plan;

/* Fills in all but the pointer `layers`. false: not a program for this executor. */
bool ep_gemm_plan_make(const ep_program *program, ep_gemm_plan *plan);

/* How the group treats `count` parameters from `first` on that holds all of them; false when none
 * does. A program without groups trains all, without decay. */
bool ep_gemm_group_find(const ep_program *program, int64_t first, int64_t count, bool *trained,
                        float *decay);

#endif
