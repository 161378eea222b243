/* plan.h: how the programs of a population are run side by side: by a few lanes of a warp each, or
 * by a block or a cluster each. Plain C without CUDA, for tests on machines without a GPU too. */
#ifndef EP_KERNELS_CUDA_POPULATION_PLAN_H
#define EP_KERNELS_CUDA_POPULATION_PLAN_H

#include "kernels/plans/gpu_traits.h"
#include "kernels/program.h"

enum { EP_POPULATION_OPS_MAX = 32 };

typedef struct {
  const char *file, *kernel; /* of sources.h; static */
  int threads;               /* of a block */
  int members;               /* that a block trains at once */
  int64_t shared_bytes;      /* of a block */
  int residents;             /* members that all multiprocessors train at once */
  int lanes;                 /* of a member */
  bool rows_shared;          /* the rows lie in the block's shared memory */
} ep_population_plan;

/* false: such programs are trained one by one. */
bool ep_population_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_population_plan *out);

/* The source of the kernel's constants, as codegen.h says: the caller's to free; NULL when memory
 * is short. program: one of the population, with the numbers in which others differ as codegen
 * needs them: not 0 where they are not 0 in any of them. */
char *ep_population_codegen(const ep_program *program, const ep_population_plan *plan);

#endif
