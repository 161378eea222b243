/* dense.h: a program as the executors of dense networks see it: linear layers, each with a norm, an
 * activation and a dropout behind it, in this order, or without. Plain C, linked into epochd. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_DENSE_H
#define EP_KERNELS_CUDA_EXECUTORS_DENSE_H

#include "kernels/program.h"

/* All are the program's own. */
typedef struct {
  const ep_op *linear;
  const ep_op *norm, *activation, *dropout; /* NULL for none */
} ep_cuda_dense_layer;

/* Writes out [most]. Returns how many layers there are; 0 when the program is made of anything
 * else, of more than `most`, or has more than `widest` features somewhere. Norms and dropouts are
 * there only where the executor's capabilities name them. */
int ep_cuda_dense_layers(const ep_program *program, int64_t widest, int most,
                         ep_cuda_dense_layer *out);

/* Whether a program suits executors that keep the weights on the multiprocessors for a whole
 * segment: rows that stay on the device as float32 and in one form, and no norm over all gradients.
 * Their products are of float32, or, where the program allows less, of TF32. */
bool ep_cuda_dense_suits(const ep_program *program);

/* The activation with its figures; its type is -1 for none. */
ep_op ep_cuda_dense_activation(const ep_cuda_dense_layer *layer);

#endif
