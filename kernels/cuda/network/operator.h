/* operator.h: the layers of a pass through the network, by the rows of their types
 * (kernels/cuda/layers/operator.h), and what rows have that need the network. */
#ifndef EP_KERNELS_CUDA_NETWORK_OPERATOR_H
#define EP_KERNELS_CUDA_NETWORK_OPERATOR_H

#include "kernels/cuda/layers/operator.h"
#include "kernels/cuda/network/side.h"

/* Where a pass stands. */
typedef struct {
  ep_cuda_network *network;
  const float *input; /* the network's */
  int64_t rows;
  int first, i; /* where the pass begins, or, on the way back, ends; the layer */
  ep_cuda_call call;
  /* The way back. */
  int next;    /* the layer that follows */
  bool summed; /* the gradient of the bias of layer i is there */
} ep_cuda_pass;

struct ep_cuda_network_operator {
  /* Memory for the layer, beside that of its output; NULL: as the rest of the row says. */
  ep_status (*take)(ep_cuda_network *network, ep_cuda_layer *layer, ep_error *error);
  /* Whether it computes the activation behind it, layer i, too; NULL: none. */
  bool (*activates)(const ep_cuda_network *network, int i);
  ep_status (*forward)(ep_cuda_pass *pass, ep_error *error);
  ep_status (*backward)(ep_cuda_pass *pass, ep_error *error);
};

/* The row of such a type. */
#define EP_CUDA_NETWORK_OPERATOR(code, grad_, network_)                           \
  const ep_cuda_operator ep_cuda_operator_##code = {.grad = EP_CUDA_GRAD_##grad_, \
                                                    .network = network_}

const ep_cuda_operator *ep_cuda_operator_of(ep_layer_type type);

/* Queues layer pass->i: forward, into its value; backward, into its inputs' parts. */
ep_status ep_cuda_pass_forward(ep_cuda_pass *pass, bool training, ep_error *error);
ep_status ep_cuda_pass_backward(ep_cuda_pass *pass, ep_error *error);

static inline ep_cuda_layer *ep_cuda_pass_layer(const ep_cuda_pass *pass) {
  return &pass->network->layers[pass->i];
}

static inline float *ep_cuda_grad_at(const ep_cuda_network *network, int number) {
  return number >= 0 ? network->grads[number].memory : NULL;
}

/* Begins what goes beside the way back (side.h): it reads the gradient by layer i's output. */
static inline ep_status ep_cuda_pass_side_begin(const ep_cuda_pass *pass, ep_error *error) {
  const int reads = pass->network->values[pass->i + 1].gradient;
  return ep_cuda_side_begin(pass->network, reads, error);
}

/* --- products.c ---------------------------------------------------------------------------- */

/* Whether the products of a training pass of so many rows are worth a search: those of the batches
 * that most steps have. Others, and all of an evaluation, whose rows come in many counts, take the
 * likeliest algorithm. */
bool ep_cuda_network_searches(const ep_cuda_network *network, int64_t rows);

/* Queues a product, choosing its algorithm when this shape is new; `searched`: by a search, which
 * must be over before a graph records the product (gemm.h). */
ep_status ep_cuda_network_multiply(ep_cuda_network *network, ep_cuda_products *products,
                                   const ep_cuda_gemm_shape *shape, bool searched, ep_error *error);

/* The same of `count` products, one after the other, with all algorithms chosen before the first
 * runs: a search writes over what is there. */
ep_status ep_cuda_network_multiply_all(ep_cuda_network *network, ep_cuda_products *products,
                                       const ep_cuda_gemm_shape *shapes, int count, bool searched,
                                       ep_error *error);

/* --- operands.c ---------------------------------------------------------------------------- */

/* A linear layer's products in training, of packed operands: layer->form is not PLAIN. */
ep_status ep_cuda_packed_forward(ep_cuda_pass *pass, ep_error *error);
ep_status ep_cuda_packed_backward(ep_cuda_pass *pass, ep_error *error);

#endif
