/* stages.h: a convolutional network as stages, and where everything about a row lies in the shared
 * memory of a multiprocessor: what plan.c decides. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_STAGES_H
#define EP_KERNELS_CUDA_EXECUTORS_CNN_STAGES_H

#include "kernels/program.h"

enum { EP_CNN_STAGES_MAX = 24, EP_CNN_OPS_MAX = 48 };

/* A plane of numbers in shared memory: number (c, y, x) is at first + c * plane + (y + top) * pitch
 * + left + x. In floats, from the start of a group's memory. */
typedef struct {
  int first, plane, pitch, top, left, floats;
  bool compact; /* as in the row: no gaps */
} ep_cnn_place;

/* A layer that makes new numbers, and those behind it that change them where they lie. Stage 0 is
 * the row itself. */
typedef struct {
  const ep_op *op; /* NULL of stage 0 */
  ep_shape in, out;
  int chain_first, chain_count; /* the ops behind it */
  ep_cnn_place value, grad;
  int places;  /* of a max_pool2d: bytes, one for each output; in floats */
  int forward; /* scratch: sums of the way there that are added up later */
  int back;    /* of the way back */
  int weights; /* of a conv2d: of the gradient of the weights */
  int staged;  /* weights, from the start of the block's memory; -1 = read where they are */
  int list;    /* a conv2d's channels that dropout2d keeps, first, then the others, then how many
                  are kept; -1 = no dropout2d behind it */
  int dropout; /* the op of that dropout2d; for linear: of a dropout */
  int x, g;    /* of a linear layer: where its rows lie in the arguments' `linear` */
  /* How a conv2d is cut: outputs of a thread along a row, and into how many sums. */
  int tile, split, back_tile, back_split, weights_tile, rows_split;
} ep_cnn_stage;

typedef struct {
  ep_cnn_stage stages[EP_CNN_STAGES_MAX];
  int stages_count;
  int first_trained; /* stage */
  int masks[EP_CNN_OPS_MAX];
  int groups, threads, blocks; /* groups of a block, threads of a group */
  int reduction;               /* scratch of the update */
  int group_floats, staged_floats;
  int convolved; /* parameters of the convolutions: the first ones */
  int64_t linear_floats;
} ep_cnn_plan;

#endif
