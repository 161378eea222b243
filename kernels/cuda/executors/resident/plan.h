/* plan.h: how cuda/resident runs a program: how many threads share the rows of a batch. Linked into
 * epochd: no CUDA. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RESIDENT_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_RESIDENT_PLAN_H

#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_resident_profile;

enum { EP_RESIDENT_PARAMETERS_MAX = 96 /* weights and sums: 192 of a thread's 255 registers */ };

typedef struct {
  int blocks;  /* of one cluster */
  int threads; /* of each */
} ep_resident_plan;

/* false: not a program for this executor. */
bool ep_resident_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                           ep_resident_plan *out);

/* Bytes of shared memory of a block: see `exchange` in kernel.cuh. */
int64_t ep_resident_plan_shared_bytes(const ep_program *program, const ep_resident_plan *plan);

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_resident_codegen(const ep_program *program, const ep_resident_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_resident_source(const ep_program *program, const ep_gpu_traits *gpu);

#endif
