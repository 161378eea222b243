/* network.h: a program on the device: its parameters, the outputs of its layers, their gradients,
 * and the kernels of one step, queued on a stream of its own. */
#ifndef EP_KERNELS_CUDA_NETWORK_H
#define EP_KERNELS_CUDA_NETWORK_H

#include "kernels/cuda/device.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/kernels.h"

/* Products of one kind of one layer, kept for the shapes that return: a full batch, an epoch's last
 * batch, a chunk of an evaluation and its last. */
enum { EP_CUDA_PRODUCTS = 4 };
typedef struct {
  ep_cuda_gemm gemm[EP_CUDA_PRODUCTS];
  int next; /* the one to give up for a new shape */
} ep_cuda_products;

typedef struct {
  const ep_op *op;
  float *output; /* [capacity_rows, out_features] */

  bool forward_fused; /* an activation that the linear layer before it computes */

  /* Linear layers. */
  bool thin;               /* by kernels of our own, else by cuBLASLt */
  float *gradient;         /* thin: [slices, weight and bias]; else of the weight alone */
  float *bias_gradient;    /* not thin: [bias_slices, out_features] */
  int slices, bias_slices; /* parts of a batch's rows that are summed apart */
  ep_cuda_products forward, backward, weight;
} ep_cuda_layer;

typedef struct {
  ep_backend *backend;       /* lent */
  const ep_program *program; /* lent */
  cudaStream_t stream;

  void **blocks; /* all device memory below; freed with the network */
  int blocks_count, blocks_capacity;
  int64_t bytes;

  ep_cuda_layer *layers; /* [ops_count] */
  int first_linear;      /* gradients stop here; ops_count when there is none */
  int64_t capacity_rows; /* the most rows of one forward pass */

  float *parameters, *velocity; /* [parameters], [optimizer_floats] or NULL */
  float *train_x;               /* [train_rows, in_features] */
  void *train_y;                /* [train_rows, target_columns] of 4 bytes */
  float *input;                 /* [capacity_rows, in_features] */
  void *batch_y;                /* [batch_size, target_columns]; NULL for a full batch */
  float *grad[2];               /* [batch_size, the widest layer], by turns */
  ep_cuda_gradient *gradients;  /* device [gradients_count] */
  int gradients_count;
  int64_t update_blocks;
  ep_cuda_clock *clock;
  ep_cuda_tally *tally;
  ep_cuda_partials *partials;
  void *workspace; /* cuBLASLt's, NULL when all is thin */
} ep_cuda_network;

/* Everything zero. The caller destroys *out; backend and program must outlive it. */
ep_status ep_cuda_network_create(ep_backend *backend, const ep_program *program,
                                 ep_cuda_network **out, ep_error *error);
void ep_cuda_network_destroy(ep_cuda_network *network); /* NULL is allowed */

/* Queues the forward pass. x: device [rows, in_features], at most capacity_rows.
 * *output: device [rows, out_features], the network's own, good until the next pass. */
ep_status ep_cuda_network_forward(ep_cuda_network *network, const float *x, int64_t rows,
                                  const float **output, ep_error *error);

/* Queues a forward pass and adds its loss (a sum, not a mean) and errors to the tally. y: device.
 */
ep_status ep_cuda_network_tally(ep_cuda_network *network, const float *x, const void *y,
                                int64_t rows, ep_error *error);

/* Queues one training step of `rows` rows, as the clock says: the batch, forward, loss, backward,
 * update. */
ep_status ep_cuda_network_step(ep_cuda_network *network, int64_t rows, ep_error *error);

#endif
