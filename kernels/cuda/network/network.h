/* network.h: a program on the device: its parameters, its values (kernels/graph.h), their
 * gradients, and the kernels of one step, queued on a stream of its own. */
#ifndef EP_KERNELS_CUDA_NETWORK_NETWORK_H
#define EP_KERNELS_CUDA_NETWORK_NETWORK_H

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/operands.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/gemm.h"
#include "kernels/cuda/runtime/memory.h"
#include "kernels/operators/values.h"

/* Products of one kind of one layer, kept for the shapes that return: those of a full batch and of
 * an epoch's last one, of up to EP_CUDA_TERMS each, a chunk of an evaluation and its last. */
enum { EP_CUDA_TERMS = 3, EP_CUDA_PRODUCTS = 2 * EP_CUDA_TERMS + 2 };
typedef struct {
  ep_cuda_gemm gemm[EP_CUDA_PRODUCTS];
  bool searched[EP_CUDA_PRODUCTS]; /* by ep_cuda_gemm_search, else by ep_cuda_gemm_init */
  int next;                        /* the one to give up for a new shape */
} ep_cuda_products;

/* A matrix that was packed for products. */
typedef struct {
  void *numbers;
  void *rest;    /* of EP_CUDA_OPERAND_SPLIT */
  int64_t pitch; /* from one row to the next */
} ep_cuda_operand;

typedef struct {
  const ep_op *op;
  float *memory; /* [capacity_rows, out_features]; NULL: the output stands where the first input
                    does */
  float *value;  /* the output of the pass at hand */
  bool fused;    /* an activation that the layer before it computes */
  bool in_place; /* writes over its first input, or only passes it on */
  bool trained;  /* has parameters that are not frozen */
  int part[EP_OP_INPUTS]; /* where it leaves its part of an input's gradient, in the network's
                             grads; -1: nobody asks for it */

  float *saved;    /* by the forward pass for the way back, as the operator's row says */
  float *gradient; /* of the parameters: [slices, …] */
  int slices;      /* parts of a batch's rows that are summed apart */

  /* Linear layers. */
  bool thin;            /* by kernels of our own, else by cuBLASLt, which leaves the bias to us */
  float *bias_gradient; /* not thin: [bias_slices, out_features] */
  int bias_slices;
  ep_cuda_products forward, backward, weight;
  ep_cuda_operand_form form; /* of the operands of a training's products */
  ep_cuda_operand x_operand, weight_operand;

  /* conv2d. */
  ep_cuda_tap *taps, *back_taps;
  float *partials;
  int conv_slices;
} ep_cuda_layer;

/* Memory that gradients by values have by turns. */
typedef struct {
  float *memory;    /* [batch_size, features] */
  int64_t features; /* of the widest that it has */
  bool taken;       /* while it is decided who has it when */
} ep_cuda_grad;

/* A value that several ops read has a gradient of several parts. Once the last of them is there,
 * the others are added to it. */
typedef struct {
  int op;       /* leaves the last part: the first that reads the value */
  int to, from; /* grads */
  int64_t features;
} ep_cuda_part_sum;

typedef struct ep_cuda_network ep_cuda_network;

/* What of a training a network does. All zero: all of it. Otherwise its program is that of a slice
 * of the batches, or of a piece of one, and its losses are sums that go to its tally. */
typedef struct {
  bool evaluates;                 /* it does not train */
  bool numbers;                   /* the rows of a split are held as the network takes them */
  int first, end;                 /* its ops; end 0: to the last */
  const ep_cuda_network *shares;  /* lent: works with its parameters and state, on its stream, by
                                     its clock and its tally; NULL: has its own */
  void *train_x, *train_y;        /* device, lent: all training rows */
  int64_t train_rows, batch_size; /* of the whole training; 0: the program's */
} ep_cuda_share;

/* The rows of a step, taken beside the step before it: see ahead.h. */
typedef struct {
  bool enabled;
  cudaStream_t stream;     /* NULL until a graph of several steps is recorded */
  cudaEvent_t begun, done; /* where it leaves the network's stream; where it comes back */
  int64_t rows;            /* of the next step; 0: they are not taken ahead, or under way */
  bool taken;              /* the rows of the step to come are under way */
  bool odd;                /* the step at hand is of those that have the spare input */
} ep_cuda_ahead;

/* A second stream of a step: see side.h. */
typedef struct {
  cudaStream_t stream;     /* NULL: there is none */
  cudaEvent_t begun, done; /* where it leaves the network's stream; where it comes back */
  void *workspace;         /* of its own */
  float *padded_out;
  bool busy; /* the network's stream has not waited for what is there */
  int reads; /* which gradient that reads, as who queued it numbers them */
} ep_cuda_side;

struct ep_cuda_network {
  ep_backend *backend;       /* lent */
  const ep_program *program; /* lent */
  cudaStream_t stream;
  ep_cuda_share share;
  int64_t slice_first; /* the row of the batch at hand that its first one is */
  int64_t batch_rows;  /* of that batch; 0: its own rows are all of it */

  ep_cuda_memory memory; /* all device memory below, and what an executor takes beside it */

  ep_cuda_layer *layers; /* [ops_count] */
  ep_value *values;      /* [ops_count + 1] */
  int64_t capacity_rows; /* the most rows of one forward pass */

  bool resident; /* the training rows lie on the device */
  bool gathers;  /* a batch is not the training rows as they lie there */
  bool plain;    /* rows are stored as the network takes them */
  bool numbers;  /* rows of a split are held as the network takes them */
  bool searches; /* products of training passes are searched */

  float *parameters; /* [parameters + buffers] */
  float *state;      /* the optimizer's: [optimizer_floats], or NULL */
  void *train_x;     /* resident: [train_rows, stored] of x_type; of float32 when `numbers` */
  void *train_y;     /* resident: [train_rows, target_columns] of 4 bytes */
  int64_t loads;     /* how often other training rows came */
  void *stage_x; /* [capacity_rows, stored]: rows on their way from the host; NULL when plain and
                    resident */
  void *stage_y; /* [capacity_rows, target_columns]; NULL when resident */
  float *input;  /* [capacity_rows, in_features] */
  void *batch_y; /* [batch_size, target_columns]; NULL unless gathered */
  void *spare;   /* the input of every other step, as the executor takes it; or NULL */
  float *grad;   /* of the grads: by the output, written by the loss */
  float *x_scale, *x_shift; /* [stored.channels], or NULL */
  float *class_weights;     /* [out_features], or NULL */
  double class_weights_sum;
  ep_cuda_grad *grads; /* [grads_count] */
  int grads_count;
  ep_cuda_part_sum *part_sums; /* [part_sums_count], in the order of the backward pass */
  int part_sums_count;
  ep_cuda_gradient *gradients; /* device [gradients_count] */
  int gradients_count;
  int64_t update_blocks;
  double *squares; /* [update_blocks], with clip_norm */
  ep_cuda_clock *clock;
  ep_cuda_tally *tally;
  ep_cuda_partials *partials;
  void *workspace;              /* cuBLASLt's, NULL when all is thin */
  ep_cuda_operand grad_operand; /* of the layer at hand */
  float *padded_out;            /* what its product makes, where rows are to be without gaps */
  int64_t padded_floats;        /* there */
  float *ones;                  /* device [2]: a product is added to what is there */
  ep_cuda_ahead ahead;
  ep_cuda_side side;

  /* Called while a step is queued: the gradients of all parameters from `first` on are, on the
   * network's stream. NULL: nobody waits for them. */
  ep_status (*found)(void *context, int64_t first, ep_error *error);
  void *found_context;
};

/* Whether the products of a training step may be TF32's; those of an evaluation are float32's. */
static inline bool ep_cuda_network_is_coarse(const ep_cuda_network *network) {
  return network->program->precision != EP_PRECISION_FP32;
}

/* Everything zero. The caller destroys *out; backend, program and what is lent must outlive it. */
ep_status ep_cuda_network_create(ep_backend *backend, const ep_program *program,
                                 const ep_cuda_share *share, ep_cuda_network **out,
                                 ep_error *error);
void ep_cuda_network_destroy(ep_cuda_network *network); /* NULL is allowed */

/* Bytes of a stored row of x, and of one that is held on the device. */
int64_t ep_cuda_row_bytes(const ep_program *program);
int64_t ep_cuda_network_row_bytes(const ep_cuda_network *network);

/* Queues the writing of rows to x: device [rows, in_features] as the network takes them. from:
 * device [rows, stored]. */
ep_status ep_cuda_network_load(ep_cuda_network *network, const void *from, int64_t rows, float *x,
                               ep_error *error);

/* Queues the taking of rows from device memory into the network's input, and, `training`, of their
 * targets into batch_y: as batch.cu says, with the clock when `training`. indices: or NULL. */
ep_status ep_cuda_network_take(ep_cuda_network *network, const void *x, const void *y,
                               const int32_t *indices, int64_t rows, bool training,
                               ep_error *error);

/* What is then taken, for who takes it elsewhere. */
ep_cuda_batch ep_cuda_network_batch(const ep_cuda_network *network, const void *x, const void *y,
                                    const int32_t *indices, bool training);

/* Queues the forward pass, as in evaluation or, `training`, with the clock's masks and the batch's
 * statistics. x: device [rows, in_features], at most capacity_rows.
 * *output: device [rows, out_features], the network's own, good until the next pass. */
ep_status ep_cuda_network_forward(ep_cuda_network *network, const float *x, int64_t rows,
                                  bool training, const float **output, ep_error *error);

/* The same from layer `first` on, whose input is x: device [rows, its in_features]. */
ep_status ep_cuda_network_forward_from(ep_cuda_network *network, int first, const float *x,
                                       int64_t rows, bool training, const float **output,
                                       ep_error *error);

/* backward.c: queues the way back. The network's grad holds the gradient by its output; x: the
 * input of the forward pass before. */
ep_status ep_cuda_network_backward(ep_cuda_network *network, const float *x, int64_t rows,
                                   ep_error *error);

/* The same as far as layer `first` alone. x: the network's input; *grad: device, by the input of
 * `first`, when a layer before it is trained. */
ep_status ep_cuda_network_backward_to(ep_cuda_network *network, int first, const float *x,
                                      int64_t rows, const float **grad, ep_error *error);

/* Queues the optimizer's step, from the gradients of all layers; the same as a launch. */
ep_status ep_cuda_network_update(ep_cuda_network *network, ep_error *error);
ep_cuda_update ep_cuda_network_update_of(const ep_cuda_network *network);

/* Queues a forward pass and adds its loss (a sum, not a mean) and errors to the tally. y: device.
 */
ep_status ep_cuda_network_tally(ep_cuda_network *network, const float *x, const void *y,
                                int64_t rows, ep_error *error);

/* Queues the loss of output: device [rows, out_features]; its gradient goes to grad. Moves the
 * clock on. */
ep_status ep_cuda_network_loss(ep_cuda_network *network, const float *output, const void *y,
                               int64_t rows, ep_error *error);

/* Queues the gradients of one training step of `rows` rows, as the clock says: the batch (which
 * must already be taken when the rows are not resident), forward, loss, backward. */
ep_status ep_cuda_network_gradients(ep_cuda_network *network, int64_t rows, ep_error *error);

/* A value of the pass at hand, when the network's input is x. */
static inline float *ep_cuda_value(const ep_cuda_network *network, int value, const float *x) {
  return value == 0 ? (float *)x : network->layers[value - 1].value;
}

/* For who queues gradients, from the last layer to the first: `first` is the layer's first
 * parameter. */
static inline ep_status ep_cuda_network_found(const ep_cuda_network *network, int64_t first,
                                              ep_error *error) {
  return network->found ? network->found(network->found_context, first, error) : EP_OK;
}

static inline float *ep_cuda_parameters_at(const ep_cuda_network *network, int64_t offset) {
  return offset >= 0 ? network->parameters + offset : NULL;
}

#endif
