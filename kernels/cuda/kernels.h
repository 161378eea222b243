/* kernels.h: every kernel of the plug-in, behind a C function that launches it on a stream and says
 * whether the launch was accepted. All pointers are device memory, row-major float32 unless said
 * otherwise. Sums have a fixed order that depends on shapes alone: the same bits in every run. */
#ifndef EP_KERNELS_CUDA_KERNELS_H
#define EP_KERNELS_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where training stands, in device memory, so that a graph of steps can be launched again and again
 * without the host. The batch kernel reads `epoch` and `batch`; the loss kernel then writes the
 * step's loss, sets `lr_now` for the update that ends the step, and moves on to the next step. */
typedef struct {
  int64_t epoch, batch; /* of the step that the batch kernel takes next */
  int64_t step;         /* counted from the start of the segment */
  const float *lr;      /* [lr_count]; 1 = the same for all */
  int64_t lr_count;
  float *loss;     /* [steps] */
  int32_t *errors; /* [steps] */
  float lr_now;
} ep_cuda_clock;

/* Sums over an evaluation. */
typedef struct {
  double loss; /* not yet divided */
  int64_t errors;
} ep_cuda_tally;

/* --- batch.cu: the rows of a step --------------------------------------------------------- */

/* Row r of batch `clock->batch` of epoch `clock->epoch`, shuffled or in order.
 * x: [train_rows, x_columns] -> batch_x: [rows, x_columns], written; y, of 4-byte elements of
 * either type: [train_rows, y_columns] -> batch_y: [rows, y_columns], written. */
typedef struct {
  int64_t train_rows, batch_size, x_columns, y_columns;
  bool shuffle;
  uint64_t seed;
  const float *x;
  const void *y;
  float *batch_x;
  void *batch_y;
} ep_cuda_batch;
cudaError_t ep_cuda_batch_take(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                               const ep_cuda_clock *clock);

/* --- linear.cu: linear layers too thin for cuBLASLt, and what it lacks --------------------- */

/* output = x W^T + b. x: [rows, in], weight: [out, in], bias: [out] or NULL, output: [rows, out],
 * written. When `activated` is not NULL, f(output) is written there, of the same shape. */
typedef struct {
  int64_t rows, in, out;
  const float *x, *weight, *bias;
  float *output, *activated;
  ep_layer_type activation;
  float negative_slope;
} ep_cuda_linear_forward;
cudaError_t ep_cuda_linear_forward_run(cudaStream_t stream, const ep_cuda_linear_forward *linear);

/* All that goes back through a layer, in one launch. x: [rows, in], grad: [rows, out],
 * weight: [out, in].
 * gradient: [slices, out * in (+ out)], written, each slice of the rows apart: grad^T x, then,
 * `with_bias`, the sums of grad's columns.
 * grad_x = grad W: [rows, in], written; NULL when nobody needs it. When `before` is not NULL, x
 * came of an activation, x = f(before), and grad_x is further multiplied by f'(before): [rows, in].
 */
typedef struct {
  int64_t rows, in, out;
  const float *x, *grad, *weight;
  float *gradient;
  int slices;
  bool by_thread; /* a thread a parameter, for wide rows and short slices; else a warp */
  bool with_bias;
  float *grad_x;
  const float *before;
  ep_layer_type activation;
  float negative_slope;
} ep_cuda_linear_backward;
cudaError_t ep_cuda_linear_backward_run(cudaStream_t stream, const ep_cuda_linear_backward *linear);

/* The sums of grad's columns, each slice of the rows apart. grad: [rows, columns];
 * sums: [slices, columns], written. */
cudaError_t ep_cuda_column_sums(cudaStream_t stream, int64_t rows, int64_t columns,
                                const float *grad, int slices, float *sums);

/* --- activations.cu ------------------------------------------------------------------------ */

/* y = f(x). x, y: [rows, columns]; y is written. */
cudaError_t ep_cuda_activation_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                       const float *x, float *y);

/* grad, by y, becomes the gradient by x, in place. x, y, grad: [rows, columns]. */
cudaError_t ep_cuda_activation_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                        const float *x, const float *y, float *grad);

/* --- losses.cu ----------------------------------------------------------------------------- */

enum { EP_CUDA_LOSS_BLOCKS = 256 }; /* at most; each leaves one partial sum */

/* Scratch of a loss: the blocks' partial sums, and how many blocks are done; zeroed once. */
typedef struct {
  double loss[EP_CUDA_LOSS_BLOCKS];
  int64_t errors[EP_CUDA_LOSS_BLOCKS];
  unsigned int done;
} ep_cuda_partials;

/* Compares output: [rows, columns] with y: float32 [rows, columns], or int32 [rows] of classes.
 * Training (clock not NULL): writes grad: [rows, columns], of the mean loss, and the step's loss
 * and errors, and moves the clock on. Evaluation (tally not NULL): adds to the tally. */
typedef struct {
  ep_loss_type type;
  float huber_delta;
  int64_t rows, columns;
  const float *output;
  const void *y;
  float *grad;
  ep_cuda_partials *partials;
  ep_cuda_clock *clock;
  int64_t steps_per_epoch;
  ep_cuda_tally *tally;
} ep_cuda_loss;
cudaError_t ep_cuda_loss_run(cudaStream_t stream, const ep_cuda_loss *loss);

/* --- optimizer.cu -------------------------------------------------------------------------- */

/* Parameters first … first + count - 1, and their gradient: the sum of `slices` arrays, [slices,
 * count]. Blocks from `first_block` on work on them. */
typedef struct {
  int64_t first, count, first_block;
  const float *gradient;
  int slices;
} ep_cuda_gradient;

enum { EP_CUDA_UPDATE_THREADS = 256 }; /* parameters of one block */

/* One step with clock->lr_now. gradients: device [gradients_count], by first_block, for `blocks`
 * blocks in all; parameters, velocity: as in the program, updated. */
cudaError_t ep_cuda_optimizer_step(cudaStream_t stream, const ep_optimizer *optimizer,
                                   const ep_cuda_gradient *gradients, int gradients_count,
                                   int64_t blocks, const ep_cuda_clock *clock, float *parameters,
                                   float *velocity);

/* --- probe.cu ------------------------------------------------------------------------------ */

cudaError_t ep_cuda_probe_load(void); /* whether this device can load the kernels at all */
/* squares[i] = i^2, twice_identity = 2 I; both [side, side], written. */
cudaError_t ep_cuda_probe_fill(cudaStream_t stream, int side, float *squares,
                               float *twice_identity);

#ifdef __cplusplus
}
#endif
#endif
