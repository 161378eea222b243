/* plan.h: how cuda/fused runs a program: how many rows a block takes at once, and where everything
 * lies in its shared memory. Plain C without CUDA: epochd links it too. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_PLAN_H

#include "kernels/cuda/executors/fused/args.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_fused_profile;

enum { EP_CUDA_FUSED_WIDTH_MAX = 128 /* of any layer, inputs and outputs too */ };

/* As fused_layer of constants.cuh. */
typedef struct {
  const ep_op *op, *activation; /* activation: NULL for none */
  int image, x, slopes, quads;
} ep_cuda_fused_layer;

/* How a step goes. */
typedef struct {
  double cycles;   /* that it is expected to take */
  double turns;    /* of tiles of rows through a layer, one after the other */
  double products; /* multiply-adds of a block, as dear as the precision makes them */
  double rows;     /* that a block takes, one tile after the other */
} ep_cuda_fused_work;

typedef struct {
  ep_cuda_fused_layer layers[EP_CUDA_FUSED_LAYERS_MAX];
  int layers_count;
  int threads;          /* of a block */
  int tile_rows;        /* that a block takes at once: 16 … 128, a power of two */
  int blocks;           /* all of the grid */
  int quads, owned;     /* of all gradients; that a block updates, at most */
  int image_bytes;      /* weights and biases */
  int last;             /* of the network's outputs, then the gradient by them */
  int stage;            /* of a tile's rows as they come; 0 where that is how they are kept */
  int targets, order;   /* of a tile */
  int sums, sums_bytes; /* scratch */
  int owned_at, owned_bytes;
  int shared_bytes; /* of all */
  ep_cuda_fused_work work;
} ep_cuda_fused_plan;

/* false: not a program for this executor. */
bool ep_cuda_fused_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_cuda_fused_plan *plan);

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_cuda_fused_codegen(const ep_program *program, const ep_cuda_fused_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_fused_source(const ep_program *program, const ep_gpu_traits *gpu);

#endif
