/* network.h: a dense network as matrix products in bfloat16 or TF32, for the executor "cuda/gemm":
 * by cuBLASLt, or, where a GPU of compute capability 9.0 is filled by them, by kernels that do what
 * follows a product too (hopper/products.h).
 *
 * A layer here is a linear one with the activation and the dropout that follow it. In bfloat16, the
 * parameters' copies that the update leaves, activations and their gradients are bfloat16, rows
 * padded to multiples of 8 numbers as the tensor cores like them; sums, parameters, gradients of
 * parameters, the network's output and its loss are float32. In TF32 all is float32. cuBLASLt wants
 * the operands of the weights' gradients transposed first: the tensor cores of TF32 take the sum's
 * index as the fastest one alone. For our own kernels, whatever is a factor is rounded to what TF32
 * keeps, weights in a copy: bits that are all the same cost less power. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_NETWORK_H
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_NETWORK_H

#include "kernels/cuda/executors/gemm/hopper/products.h"
#include "kernels/cuda/executors/gemm/kernels.h"
#include "kernels/cuda/network/ahead.h"

typedef struct {
  bool hopper;
  ep_cuda_gemm gemm;          /* unless it is */
  ep_gemm_hopper_product own; /* when it is */
} ep_gemm_product;

typedef struct {
  const ep_op *linear;
  const ep_op *activation;     /* between this layer and the next, or NULL */
  const ep_op *dropout;        /* behind it, or NULL */
  int64_t in_pitch, out_pitch; /* numbers of a row of the input and of the output */
  bool trains_weight, trains_bias;
  bool bare;  /* TF32: bias and relu are left to the thin layer above, the product is faster so */
  bool thin;  /* the last, with so few outputs that no product comes back */
  bool moves; /* plain gradient descent: the product of the weight ends in the weight itself */
  bool activates; /* its activation or dropout has a pass of its own: no product's end does it */
  float decay;    /* the weight's */
  bool hopper_weight; /* the product of the weight is one of our own kernels */

  void *weight; /* a copy as numbers [out_pitch, in_pitch]; or NULL */
  void *bias;   /* a bfloat16 copy [out_pitch]; or NULL */
  /* Numbers [batch, out_pitch]. derivative: of an activation that has a pass of its own, which
   * leaves dy/dx there, where the product's result was; else NULL. */
  void *derivative, *output;
  float *input_transposed; /* TF32, unless hopper_weight: [in, batch] */
  uint32_t *mask;          /* hopper: where the output is above 0, for the way back; or NULL */
  float *gradient;         /* [slices, out_pitch (thin: out), in_pitch] */
  int slices;
  float *bias_gradient; /* [bias_slices, out] */
  int bias_slices;
  ep_gemm_product forward[2], back[2], weight_product[2]; /* of a full batch; of an epoch's last */
} ep_gemm_layer;

typedef struct {
  ep_cuda_network *network; /* lent */
  bool half;                /* bfloat16; else TF32 */
  bool slice;               /* of a batch: the update is not its own */
  bool hopper;              /* forward but for the last layer, and back, by kernels of our own */
  ep_gemm_layer *layers;    /* [layers_count] */
  int layers_count;
  int slices; /* of a batch's rows: whose sums an update adds, unless our own kernels made them */
  int first_trained;
  const ep_op *tail; /* the network's last op when that is no linear one, or NULL */

  void *input;                /* numbers [batch, in_pitch of layer 0]; float32: the network's own */
  float *sums;                /* [batch, out_pitch of the last layer] */
  float *output;              /* [batch, out_features], of the last linear layer */
  float *result;              /* [batch, out_features], of the tail */
  void *grads[2];             /* numbers [batch, the widest pitch], by turns */
  float *grads_transposed[2]; /* TF32: [the widest layer, batch]; hopper: by turns */
  void *workspace;            /* cuBLASLt's */
  float *decay;               /* [layers_count], the weights'; NULL when no layer moves */
  float *scales;              /* [layers_count, 2], for the products that move weights */
  ep_gemm_update update;
} ep_gemm_network;

/* Memory and products for a network, which is lent. *out is for ep_gemm_network_destroy. */
ep_status ep_gemm_network_create(ep_cuda_network *network, ep_gemm_network **out, ep_error *error);
void ep_gemm_network_destroy(ep_gemm_network *self); /* NULL is allowed */

/* products.c: chooses every product's algorithm. */
ep_status ep_gemm_products_make(ep_gemm_network *self, ep_error *error);

/* Queues a training step but for its update, as ep_cuda_network_gradients does, of a network that
 * has a slice of the batches: its list of gradients is that of its products. */
ep_status ep_gemm_gradients_queue(ep_gemm_network *self, int64_t rows, ep_error *error);

/* Queues one training step. */
ep_status ep_gemm_step_queue(ep_gemm_network *self, int64_t rows, ep_error *error);

/* The gradient by layer i's linear part: where its way back leaves it. */
static inline void *ep_gemm_grad(const ep_gemm_network *self, int i) {
  return self->grads[i % 2];
}

/* The same transposed, in TF32. */
static inline float *ep_gemm_grad_transposed(const ep_gemm_network *self, int i) {
  return self->grads_transposed[self->hopper ? i % 2 : 0];
}

/* The numbers that layer i takes, in the step at hand. */
static inline void *ep_gemm_input(const ep_gemm_network *self, int i) {
  return i == 0 ? ep_cuda_ahead_input(self->network, self->input, false)
                : self->layers[i - 1].output;
}

#endif
