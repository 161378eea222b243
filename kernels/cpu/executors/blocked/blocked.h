/* blocked.h: what the parts of cpu/blocked share: the network's layers as its kernels see them, and
 * the variants, one an instruction set. Private to kernels/cpu/blocked.
 *
 * A batch is cut into slots of slot_rows rows, which threads take; a slot goes through the network,
 * forward and back, chunk_rows rows at a time, while its numbers are in cache, and adds up a
 * gradient of its own. Gradients and losses are then summed in the order of the slots, and all cuts
 * depend on the program alone: the number of threads changes no bit.
 *
 * Two things need more than a chunk. The weight of a large linear layer has its gradient taken once
 * the batch is through, from the whole of x and grad_y ("shared"), not from one copy a slot. And
 * batch_norm cuts the network into spans: all slots end one before any begins the next, which needs
 * the statistics of the batch. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_BLOCKED_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_BLOCKED_H

#include "kernels/cpu/runtime/cpu.h"
#include "kernels/formulas/optimizers.h"

/* batch_norm's numbers of a batch, [channels] each. */
typedef struct {
  double *mean, *squares; /* squares: the sum of (x - mean)^2; in evaluation unused */
  double *factor;         /* 1 / sqrt(variance + eps) */
  double *sum, *product;  /* of grad_y, and of grad_y (x - mean) factor */
  double count;           /* numbers in a channel of the batch */
} ep_blocked_moments;

/* One layer and some rows of it. */
typedef struct {
  const ep_op *op;
  const float *parameters; /* the whole program's, and its buffers */
  const ep_blocked_moments *moments;
  int64_t rows, first_row; /* the first one's place in its batch */
  int64_t step;
  uint64_t seed;
  bool training;
  const float *x;      /* [rows, in_features] */
  float *y;            /* [rows, out_features] */
  void *side;          /* [rows, side bytes]: what forward leaves for backward */
  const uint8_t *kept; /* conv2d: [rows, out channels]; 0: this channel of y is not asked for, and
                          its grad_y is 0; NULL: all are */
  const float *inputs[EP_OP_INPUTS]; /* all that the op reads; x is the first of them */
  const float *grad_y;               /* [rows, out_features] */
  float *grad_inputs[EP_OP_INPUTS];  /* by each of `inputs`, written; NULL: nobody asks */
  float *grad_x;                     /* the first of them: [rows, in_features] */
  float *grad_weight, *grad_bias;    /* the slot's, added to; NULL: none, or taken elsewhere */
  float *columns;                    /* conv2d: ep_blocked_columns */
} ep_blocked_call;

typedef struct {
  void (*forward)(const ep_blocked_call *call);
  void (*backward)(const ep_blocked_call *call);
} ep_blocked_kernel;

/* Parameters first … first + count - 1 of one group. */
typedef struct {
  const ep_optimizer *optimizer;
  const ep_optimizer_step *step;
  float decay, scale; /* scale: ep_clip_scale's */
  int64_t count, stride;
  float *parameters, *state; /* of the first; slots of state lie `stride` apart */
  const float *grad;
} ep_blocked_update;

typedef struct {
  ep_blocked_kernel layers[EP_LAYER_COUNT]; /* an empty row: the reference's, without parameters */

  /* Of `rows` rows of a batch_norm's input: the mean of each channel and the sum of squares from
   * it, merged into those of `count` numbers that moments hold already. */
  void (*moments_add)(const ep_op *op, const float *x, int64_t rows, ep_blocked_moments *moments);
  /* Adds to moments' sum and product. `batch` holds mean and factor. */
  void (*products_add)(const ep_op *op, const float *x, const float *grad_y, int64_t rows,
                       const ep_blocked_moments *batch, ep_blocked_moments *moments);

  /* Of a dropout, to its side: [rows, elements or channels], 1 where one is kept. */
  void (*mask)(const ep_blocked_call *call);

  void (*update)(const ep_blocked_update *update);
  void (*add)(float *to, const float *from, int64_t count);
  double (*sum_of_squares)(const float *from, int64_t count);
  /* [channels, pixels] of bytes to floats. */
  void (*bytes)(float *to, const uint8_t *from, int64_t channels, int64_t pixels,
                const float *scale, const float *shift);
} ep_blocked_variant;

extern const ep_blocked_variant ep_blocked_baseline;
extern const ep_blocked_variant ep_blocked_avx2, ep_blocked_avx512; /* x86-64 alone */

/* Bytes a row that a layer's forward leaves for its backward. */
int64_t ep_blocked_side_bytes(const ep_op *op);
/* Floats that a conv2d needs for the columns of one image, or in their place (direct.h); 0 for
 * other layers. */
int64_t ep_blocked_columns(const ep_op *op);

#endif
