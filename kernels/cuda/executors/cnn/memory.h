/* memory.h: where a plan's numbers lie in shared memory: what is needed at different times of a row
 * may share a place. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_MEMORY_H
#define EP_KERNELS_CUDA_EXECUTORS_CNN_MEMORY_H

#include "kernels/cuda/executors/cnn/stages.h"

enum {
  EP_CNN_VECTOR = 4,          /* floats of one access of shared memory */
  EP_CNN_TILE_MAX = 16,       /* outputs of a row that a thread takes */
  EP_CNN_LINEAR_PARTS = 4,    /* sums of a linear layer's way back, at most */
  EP_CNN_REDUCTION = 16 * 132 /* floats: warps of a group, what the update adds up in each */
};

int ep_cnn_parts(int64_t whole, int64_t part); /* whole / part, rounded up */
int ep_cnn_vectors(int64_t floats);            /* floats of whole vectors */

/* Fills all places of the plan, whose stages and cuts are made; false: far too much. linear: the
 * weights of linear layers too lie in shared memory. */
bool ep_cnn_memory_place(const ep_program *program, bool linear, ep_cnn_plan *plan);

#endif
