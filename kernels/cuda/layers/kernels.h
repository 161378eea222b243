/* kernels.h: every kernel of the plug-in, behind a C function that launches it on a stream and says
 * whether the launch was accepted. All pointers are device memory, row-major float32 unless said
 * otherwise. Sums have a fixed order that depends on shapes alone: the same bits in every run. */
#ifndef EP_KERNELS_CUDA_LAYERS_KERNELS_H
#define EP_KERNELS_CUDA_LAYERS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/formulas/optimizers.h"
#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where training stands, in device memory, so that a graph of steps can be launched again and again
 * without the host. The forward pass reads `epoch` and `batch`; the loss kernel then writes the
 * step's loss, sets `current` and `update` for the rest of the step, and moves on to the next. */
typedef struct {
  int64_t epoch, batch; /* of the step whose forward pass comes next */
  int64_t steps_per_epoch;
  int64_t step;    /* counted from the start of the segment */
  const float *lr; /* [lr_count]; 1 = the same for all */
  int64_t lr_count;
  float *loss;     /* [steps] */
  int32_t *errors; /* [steps] */
  int64_t current; /* the step whose backward pass and update come next, since the first of all */
  ep_optimizer_step update;
  float clip_scale; /* of the gradients; written by the norm's kernel */
} ep_cuda_clock;

/* Sums over an evaluation. */
typedef struct {
  double loss;   /* not yet divided */
  double weight; /* of the rows, with class weights */
  int64_t errors;
} ep_cuda_tally;

/* --- batch.cu: the rows of a step --------------------------------------------------------- */

/* Rows as the network takes them: float32, scaled, augmented.
 * x: [source rows, stored] of x_type -> batch_x: [rows, in], written. y, of 4-byte elements of
 * either type: [source rows, y_columns] -> batch_y: [rows, y_columns], written; batch_y NULL: not.
 * With a clock, row r is that of batch `clock->batch` of epoch `clock->epoch`, shuffled or in
 * order, and augmented; `indices` not NULL: the source's rows are the batch's, and these their
 * places in the training set. Without a clock, row r is the source's, and not augmented. */
typedef struct {
  int64_t train_rows, batch_size, y_columns;
  int64_t first; /* the batch's row that row 0 is */
  ep_shape stored, in;
  ep_x_type x_type;
  const float *x_scale, *x_shift; /* [stored.channels], for bytes */
  ep_augment augment;
  bool shuffle;
  uint64_t seed;
  const void *x;
  const void *y;
  const int32_t *indices;
  float *batch_x;
  void *batch_half; /* not NULL: bfloat16 [rows, half_pitch] here instead of batch_x */
  int64_t half_pitch;
  void *batch_pixels;  /* not NULL: images [rows, height, width, pixel_pitch] of numbers here
                          instead; zeros beyond the channels */
  int64_t pixel_pitch; /* a multiple of 4 */
  bool pixels_half;    /* the numbers are bfloat16, else float32 */
  void *batch_y;
} ep_cuda_batch;
cudaError_t ep_cuda_batch_take(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                               const ep_cuda_clock *clock);

/* --- linear.cu: linear layers too thin for cuBLASLt, and what it lacks --------------------- */

/* output = x W^T + b. x: [rows, in], weight: [out, in], bias: [out] or NULL, output: [rows, out],
 * written. When `activated` is not NULL, f(output) is written there, of the same shape; output may
 * then be NULL. */
typedef struct {
  int64_t rows, in, out;
  const float *x, *weight, *bias;
  float *output, *activated;
  ep_op activation;
} ep_cuda_linear_forward;
cudaError_t ep_cuda_linear_forward_run(cudaStream_t stream, const ep_cuda_linear_forward *linear);

/* All that goes back through a layer, in one launch. x: [rows, in], grad: [rows, out],
 * weight: [out, in].
 * gradient: [slices, out * in (+ out)], written, each slice of the rows apart: grad^T x, then,
 * `with_bias`, the sums of grad's columns; NULL when nobody needs it.
 * grad_x = grad W: [rows, in], written; NULL when nobody needs it. When `before` is not NULL, x
 * came of an activation, x = f(before), and grad_x is further multiplied by f'(before): [rows, in].
 */
typedef struct {
  int64_t rows, in, out;
  const float *x, *grad, *weight;
  float *gradient;
  int slices;
  bool by_tile; /* both are products of tiles, for wide rows and short slices; else a warp a
                   parameter, a thread an input */
  bool with_bias;
  float *grad_x;
  const float *before;
  ep_op activation;
} ep_cuda_linear_backward;
cudaError_t ep_cuda_linear_backward_run(cudaStream_t stream, const ep_cuda_linear_backward *linear);

/* The sums of grad's columns, each slice of the rows apart. grad: [rows, columns];
 * sums: [slices, columns], written. */
cudaError_t ep_cuda_column_sums(cudaStream_t stream, int64_t rows, int64_t columns,
                                const float *grad, int slices, float *sums);

/* Slices of a batch's rows that are summed apart, each of `each` rows or more. */
static inline int ep_cuda_row_slices(int64_t rows, int64_t each) {
  const int most = 64;
  const int64_t slices = (rows + each - 1) / each;
  return slices < most ? (int)slices : most;
}

/* Those of columns that are summed by a few threads each; more where each would have many rows. */
static inline int ep_cuda_column_slices(int64_t rows) {
  const int usual = 32, most = 128, slices = ep_cuda_row_slices(rows, 64);
  const int64_t many = rows / 512;
  if (many > usual) return many < most ? (int)many : most;
  return slices < usual ? slices : usual;
}

/* --- launch.cu ----------------------------------------------------------------------------- */

/* Says of a device that runs kernels of this process which compute capability it has, and for which
 * they are compiled (ep_gpu_traits). Before the first kernel is queued there. */
void ep_cuda_overlap_learn(int capability, int generation);
/* Whether blocks of a kernel may be in place before the one before it has ended: by programmatic
 * dependent launch, of compute capability 9.0 and later, which graphs have since CUDA 12.3. Code of
 * older generations does not wait. */
bool ep_cuda_kernels_overlap(void);

/* --- activations.cu ------------------------------------------------------------------------ */

/* y = f(x). x, y: [rows, columns]; y is written, and may be x but for softmax and log_softmax. */
cudaError_t ep_cuda_activation_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                       const float *x, float *y);

/* grad, by y, becomes the gradient by x, in place. x, y, grad: [rows, columns]. */
cudaError_t ep_cuda_activation_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                        const float *x, const float *y, float *grad);

/* sum = a + b, each [count]; sum may be either. */
cudaError_t ep_cuda_add(cudaStream_t stream, int64_t count, const float *a, const float *b,
                        float *sum);

/* --- conv.cu ------------------------------------------------------------------------------- */

/* Where a weight's input lies: [taps] of them, made once for a layer (ep_cuda_conv_taps). */
typedef struct {
  int channel; /* offset of the channel, within its group's */
  int down, right;
  int weight; /* offset of the weight, but for the row of the product */
} ep_cuda_tap;

/* op: conv2d. `forward` has a tap for each input of an output, `backward` one for each output of an
 * input; their counts. */
int64_t ep_cuda_conv_taps_count(const ep_op *op, bool backward);
void ep_cuda_conv_taps(const ep_op *op, bool backward, ep_cuda_tap *taps); /* host; written */

/* Parts of a batch's numbers that are summed apart for the gradient of the weights. */
int ep_cuda_conv_slices(const ep_op *op, int64_t rows);

typedef struct {
  ep_op op;
  int64_t rows;
  const ep_cuda_tap *taps; /* device; of the direction */
  const float *weight, *bias;
  /* Forward. x: [rows, in], y: [rows, out], written; activated: y = f(conv), f = activation. */
  const float *x;
  float *y;
  bool activated;
  ep_op activation;
  /* Backward. grad: [rows, out]; grad_x: [rows, in], written. */
  const float *grad;
  float *grad_x;
  /* Weights. partials: [slices, weights and biases], scratch; gradient: [weights and biases],
   * written; taps: the forward's. */
  float *partials, *gradient;
  int slices;
} ep_cuda_conv;
cudaError_t ep_cuda_conv_forward(cudaStream_t stream, const ep_cuda_conv *conv);
cudaError_t ep_cuda_conv_backward(cudaStream_t stream, const ep_cuda_conv *conv);
cudaError_t ep_cuda_conv_weights(cudaStream_t stream, const ep_cuda_conv *conv);

/* --- batch_norm.cu, layer_norm.cu ---------------------------------------------------------- */

/* batch_norm and layer_norm. x, y: [rows, out_features]; weight, bias: [channels] (layer_norm:
 * [out_features]) or NULL. saved: layer_norm's mean and 1 / deviation, [rows, 2]; of a batch_norm
 * as its row says. running: batch_norm's mean and variance [2, channels]. */
typedef struct {
  ep_op op;
  int64_t rows;
  bool training;
  const float *x, *weight, *bias;
  float *y, *saved, *running;
  /* Backward. grad: [rows, out_features], by y, becomes that by x. gradient: of the parameters,
   * [slices, 2, their count], written; NULL when nobody asks. */
  float *grad, *gradient;
  int slices; /* layer_norm */
} ep_cuda_norm;
cudaError_t ep_cuda_layer_norm_forward(cudaStream_t stream, const ep_cuda_norm *norm);
cudaError_t ep_cuda_layer_norm_backward(cudaStream_t stream, const ep_cuda_norm *norm);

/* --- losses.cu ----------------------------------------------------------------------------- */

enum { EP_CUDA_LOSS_BLOCKS = 256 }; /* at most; each leaves one partial sum */

/* Scratch of a loss: the blocks' partial sums, and how many blocks are done; zeroed once. */
typedef struct {
  double loss[EP_CUDA_LOSS_BLOCKS];
  int64_t errors[EP_CUDA_LOSS_BLOCKS];
  unsigned int done;
} ep_cuda_partials;

/* Compares output: [rows, columns] with y: float32 [rows, columns], or int32 [rows] of classes.
 * grad, unless NULL: [rows, columns], of the mean loss, written. With a clock, writes the step's
 * loss and errors, and moves the clock on; with a tally, adds to it. */
typedef struct {
  ep_loss_type type;
  float loss_parameter, label_smoothing;
  const float *class_weights; /* [columns] or NULL */
  double class_weights_sum;   /* [columns] summed; columns without weights */
  int64_t rows, columns;
  const float *output;
  const void *y;
  float *grad;
  ep_cuda_partials *partials;
  int64_t mean_rows; /* that the mean of grad is of, each counted once; 0: these, as they weigh */
  ep_cuda_clock *clock;
  ep_optimizer optimizer;
  ep_cuda_tally *tally;
} ep_cuda_loss;
cudaError_t ep_cuda_loss_run(cudaStream_t stream, const ep_cuda_loss *loss);

/* --- optimizer.cu -------------------------------------------------------------------------- */

/* Parameters first … first + count - 1, and their gradient: the sum of `slices` arrays, `stride`
 * floats apart. Blocks from `first_block` on work on them. */
typedef struct {
  int64_t first, count, stride, first_block;
  const float *gradient;
  int slices;
  float weight_decay;
} ep_cuda_gradient;

enum { EP_CUDA_UPDATE_THREADS = 256 }; /* parameters of one block */

/* What other GPUs have of the squares of the gradients' norm. */
typedef struct {
  const double *squares; /* [blocks] */
  int64_t blocks;
} ep_cuda_squares;

typedef struct {
  ep_cuda_squares part[EP_LIMIT_RANKS];
  int count;
} ep_cuda_other_squares;

typedef struct {
  ep_optimizer optimizer;
  const ep_cuda_gradient *gradients; /* device [gradients_count], by first_block */
  int gradients_count;
  int64_t blocks; /* in all */
  ep_cuda_clock *clock;
  double *squares; /* [blocks], scratch of clip_norm; NULL without */
  float *parameters, *state;
  int64_t state_stride; /* floats from one slot of the state to the next */
} ep_cuda_update;
/* One step with the clock's learning rate. */
cudaError_t ep_cuda_optimizer_run(cudaStream_t stream, const ep_cuda_update *update);
/* The same in two: with clip_norm, the squares; then the step, once those of the parameters that
 * are not here are there too. others: of these, NULL where all are here. */
cudaError_t ep_cuda_optimizer_square(cudaStream_t stream, const ep_cuda_update *update);
cudaError_t ep_cuda_optimizer_step(cudaStream_t stream, const ep_cuda_update *update,
                                   const ep_cuda_other_squares *others);

/* What each of `steps` steps from `first_step` has in common for all parameters. lr: [lr_count];
 * out: [steps], written. */
cudaError_t ep_cuda_optimizer_steps(cudaStream_t stream, const ep_optimizer *optimizer,
                                    int64_t first_step, int64_t steps, const float *lr,
                                    int64_t lr_count, ep_optimizer_step *out);

#ifdef __cplusplus
}
#endif
#endif
