/* plan.h: how the programs of a population are run side by side: by a few lanes of a warp each
 * (lanes.cuh), or by a block each (blocks.cuh). Plain C without CUDA, for tests on machines without
 * a GPU too. */
#ifndef EP_KERNELS_CUDA_POPULATION_PLAN_H
#define EP_KERNELS_CUDA_POPULATION_PLAN_H

#include "kernels/plans/gpu_traits.h"
#include "kernels/program.h"

enum { EP_POPULATION_OPS_MAX = 32 };

/* A linear op and the ops by element behind it, ops op + 1 to end - 1. Offsets are floats. Rows of
 * its weights and inputs have in_stride floats, those of its outputs out_stride. */
typedef struct {
  int op, end;
  int in, out, in_stride, out_stride;
  int weight, bias;    /* of the program's parameters; bias -1: none */
  int weights, biases; /* of the block's weights */
  int sums, features;  /* of the block's activations: before and behind the ops by element */
  bool trains_weight, trains_bias;
} ep_population_layer;

/* What blocks.cuh asks besides. Offsets and counts are floats; where something lies in shared
 * memory counts from its beginning, where the weights are. */
typedef struct {
  int layers_count;
  ep_population_layer layers[EP_POPULATION_OPS_MAX];
  int first_layer;    /* that is trained */
  int chunk_rows;     /* of a batch, that go through the network at a time; whole tiles of 16 */
  int blocks_each;    /* of a multiprocessor */
  bool gathers_grads; /* gradients are stored before they are used */
  bool state_shared;  /* the optimizer's state lies in shared memory */
  bool activations_shared;
  bool x_staged;         /* rows are copied to shared memory, not read where they lie */
  int weight_floats;     /* of a block's weights, and of gradients and a slot of state alike */
  int activation_floats; /* of a block */
  int grads, state, x, activations, stage, targets, numbers, sums, permutation; /* where they lie */
} ep_population_blocks;

typedef struct {
  const char *file, *kernel; /* of sources.h; static */
  int threads;               /* of a block */
  int members;               /* that a block trains at once */
  int64_t shared_bytes;      /* of a block */
  int residents;             /* members that all multiprocessors train at once */
  int64_t activation_floats; /* of device memory, of a block */
  /* lanes.cuh */
  int lanes;        /* of a member */
  bool rows_shared; /* the rows lie in the block's shared memory */
  /* blocks.cuh */
  bool has_blocks;
  ep_population_blocks blocks;
} ep_population_plan;

/* Makes the plan of blocks.cuh; false: the program is none for it. `takes` of plan.c holds. */
bool ep_population_blocks_make(const ep_program *program, const ep_gpu_traits *gpu,
                               ep_population_plan *out);

/* false: such programs are trained one by one. */
bool ep_population_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_population_plan *out);

/* The source of the kernel's constants, as codegen.h says: the caller's to free; NULL when memory
 * is short. program: one of the population, with the numbers in which others differ as codegen
 * needs them: not 0 where they are not 0 in any of them. */
char *ep_population_codegen(const ep_program *program, const ep_population_plan *plan);

#endif
