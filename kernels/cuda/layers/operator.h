/* operator.h: what each type of layer is on the device, a row each, beside its kernels: what queues
 * its passes, and the memory that they need. What holds of it on every device is in
 * kernels/operators/operator.h.
 *
 * A type without a row does not link, and a row that lacks a fact does not compile. */
#ifndef EP_KERNELS_CUDA_LAYERS_OPERATOR_H
#define EP_KERNELS_CUDA_LAYERS_OPERATOR_H

#include "kernels/cuda/layers/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- a layer of a pass --------------------------------------------------------------------- */

/* x, grad_x: of each input. All pointers are device memory, row-major float32. */
typedef struct {
  cudaStream_t stream;
  const ep_op *op;
  int64_t rows;
  bool training;                /* always, on the way back */
  const float *x[EP_OP_INPUTS]; /* [rows, features] */
  float *y;                     /* [rows, out_features], written forward; x[0] in place */
  const float *weight, *bias;   /* NULL: none */
  float *running;               /* the op's buffers: mean, then variance; NULL: none */
  float *saved;                 /* from the forward pass to the way back; NULL: none */
  /* The way back. */
  float *grad;                 /* by y: [rows, out_features] */
  float *grad_x[EP_OP_INPUTS]; /* written; NULL: nobody asks; one is grad where in place */
  float *gradient;             /* [slices, parameters], written; NULL: not trained */
  int slices;
  /* What is drawn at random is drawn by these: row 0 is row `first` of the batch. */
  int64_t first;
  uint64_t seed;
  const ep_cuda_clock *clock;
} ep_cuda_call;

/* What a norm's kernels take. */
static inline ep_cuda_norm ep_cuda_norm_of(const ep_cuda_call *call) {
  const ep_cuda_norm norm = {.op = *call->op,
                             .rows = call->rows,
                             .training = call->training,
                             .x = call->x[0],
                             .weight = call->weight,
                             .bias = call->bias,
                             .y = call->y,
                             .saved = call->saved,
                             .running = call->running,
                             .grad = call->grad,
                             .gradient = call->gradient,
                             .slices = call->slices};
  return norm;
}

/* Queues a pass of the layer. */
typedef cudaError_t ep_cuda_call_queue(const ep_cuda_call *call);

/* --- a row --------------------------------------------------------------------------------- */

/* Where the gradient by an input is made. */
typedef enum {
  EP_CUDA_GRAD_APART,
  EP_CUDA_GRAD_IN_PLACE /* by one of them, in the place of that by y */
} ep_cuda_grad_place;

/* What needs the network: its products, or the neighbours that a kernel takes along. It is known
 * where the network is. */
typedef struct ep_cuda_network_operator ep_cuda_network_operator;

typedef struct {
  ep_cuda_call_queue *forward, *backward; /* NULL: nothing to do */
  ep_cuda_grad_place grad;
  /* Floats that are saved: of passes of at most `rows`, of which those that train have `batch` at
   * most, or 0. NULL: none. */
  int64_t (*saved)(const ep_op *op, int64_t rows, int64_t batch);
  /* Slices of a batch, whose sums for the parameters' gradient are apart. NULL: one. */
  int (*slices)(const ep_op *op, int64_t batch);
  const ep_cuda_network_operator *network; /* NULL: nothing; else instead of forward, backward */
} ep_cuda_operator;

/* The row of a type that needs no network: EP_CUDA_OPERATOR(CODE, forward, backward, GRAD, saved,
 * slices). GRAD: APART, IN_PLACE. */
#define EP_CUDA_OPERATOR(code, forward, backward, grad, saved, slices)                      \
  const ep_cuda_operator ep_cuda_operator_##code = {forward, backward, EP_CUDA_GRAD_##grad, \
                                                    saved,   slices,   NULL}

/* Words that become another operator (kernels/operators/operators.c). */
#define ep_cuda_operator_RESIDUAL ep_cuda_operator_ADD
#define ep_cuda_operator_CONV1D ep_cuda_operator_CONV2D

#define EP_CUDA_OPERATOR_DECLARE(code, ...) extern const ep_cuda_operator ep_cuda_operator_##code;
EP_LAYER_TABLE(EP_CUDA_OPERATOR_DECLARE)

/* --- dropout.cu ---------------------------------------------------------------------------- */

/* y = keep ? x / (1 - p) : 0, for both dropouts; y may be x. The mask is computed anew from the
 * step: of the clock's forward pass, or of its backward pass. An evaluation leaves y = x. */
cudaError_t ep_cuda_dropout_forward(const ep_cuda_call *call);
cudaError_t ep_cuda_dropout_backward(const ep_cuda_call *call);

#ifdef __cplusplus
}
#endif
#endif
