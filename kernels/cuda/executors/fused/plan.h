/* plan.h: how cuda/fused runs a program: how many rows a block takes at once, and where everything
 * lies in its shared memory. Plain C without CUDA: epochd links it too. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_PLAN_H

#include "kernels/choice.h"
#include "kernels/cuda/executors/fused/args.h"

enum { EP_NARROW_WIDTH_MAX = 128 /* of any layer, inputs and outputs too */ };

/* As narrow_layer of figures.cuh. */
typedef struct {
  const ep_op *op, *activation; /* activation: NULL for none */
  int image, x, slopes, quads;
} ep_narrow_layer;

typedef struct {
  ep_narrow_layer layers[EP_NARROW_LAYERS_MAX];
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
} ep_narrow_plan;

/* false: not a program for this executor. shared_bytes: of a block. work: written with the plan. */
bool ep_narrow_plan_make(const ep_program *program, int multiprocessors, int64_t shared_bytes,
                         ep_narrow_plan *plan, ep_choice_narrow_work *work);

/* As text.h says: the caller's to free; NULL when memory is short. */
char *ep_narrow_text(const ep_program *program, const ep_narrow_plan *plan);

#endif
