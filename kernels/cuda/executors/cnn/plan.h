/* plan.h: the plan of cuda/cnn for a program. Linked into epochd: no CUDA. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_CNN_PLAN_H

#include "kernels/cuda/executors/cnn/stages.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_cnn_profile;

/* false: not a program for this executor. */
bool ep_cnn_plan_make(const ep_program *program, const ep_gpu_traits *gpu, ep_cnn_plan *plan);

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_cnn_codegen(const ep_program *program, const ep_cnn_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_cnn_source(const ep_program *program, const ep_gpu_traits *gpu);

/* Bytes of shared memory of a block. */
int64_t ep_cnn_plan_shared_bytes(const ep_cnn_plan *plan);

#endif
