/* plan.h: how cuda/resident runs a program. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_RESIDENT_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_RESIDENT_PLAN_H

#include "kernels/program.h"

/* How the rows of a batch are spread. */
typedef struct {
  int blocks;  /* of one cluster */
  int threads; /* of each */
} ep_resident_plan;

/* As text.h says: the caller's to free; NULL when memory is short. */
char *ep_resident_text(const ep_program *program, const ep_resident_plan *plan);

#endif
