/* kernels.h: what cuda/images does between two convolutions, behind C functions as those of
 * kernels/cuda/kernels.h. Images lie pixel by pixel, the channels of a pixel side by side: [rows,
 * height, width, pitch], of numbers that are bfloat16 or float32, as `half` says. A pitch is a
 * multiple of 16 bytes; whatever stands beyond the channels is multiplied by zero weights. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_KERNELS_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_KERNELS_H

#include "kernels/cuda/layers/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EP_IMAGES_PACK_BYTES = 16 }; /* what is read and written at once */

static inline int64_t ep_images_number_bytes(bool half) {
  return half ? 2 : (int64_t)sizeof(float);
}
static inline int64_t ep_images_pack(bool half) {
  return EP_IMAGES_PACK_BYTES / ep_images_number_bytes(half);
}

/* Numbers of a pixel, as they lie in memory, for this many channels. */
static inline int64_t ep_images_pitch(bool half, int64_t channels) {
  const int64_t pack = ep_images_pack(half);
  return (channels + pack - 1) / pack * pack;
}

/* Channels of a pixel whose windows are laid out. */
enum { EP_IMAGES_FEW = 4 };

/* --- blend.cu: all between a convolution and what follows it --------------------------------- */

enum { EP_IMAGES_SLICES = 384 }; /* of the pixels, at most, whose sums are added up apart */

/* What batch_norm makes of a channel, rows of [pitch] each: z = x * SCALE + SHIFT; the batch's mean
 * and 1 / deviation; and, for the way back, the means of the gradient by z and of it times the
 * normalized number. */
enum {
  EP_IMAGES_SCALE,
  EP_IMAGES_SHIFT,
  EP_IMAGES_MEAN,
  EP_IMAGES_INVERSE,
  EP_IMAGES_GRAD,
  EP_IMAGES_PRODUCT,
  EP_IMAGES_FIGURES
};

/* z = figures of x, or x + bias without them; z += past; a = f(z); y = the greatest of a in windows
 * side by side. x, past: [rows, in]; y: [rows, out], written; chosen: the x that y comes of, of the
 * same shape, written; NULL when nobody asks. past: or NULL; f: when `activates`; kernel: {1, 1}
 * without a pool.
 * Back. grad, by y: [rows, out]. grad_x, by x, and grad_past, by past: [rows, in], written; either
 * may be NULL. chosen: as the way forward left it, without past, or NULL. sums, written: with
 * figures [2, pitch, slices], of the gradient by z and of it times the normalized number; without
 * [slices, pitch], of the gradient alone, as slices_add takes it; NULL when nobody asks.
 * normalized: batch_norm takes its part of grad_x off, which the figures know by then.
 */
typedef struct {
  bool half, activates, normalized;
  int64_t rows, pitch;
  ep_shape in, out;
  int kernel[2];
  ep_op activation;
  const void *x, *past;
  const float *figures; /* [EP_IMAGES_FIGURES, pitch] or NULL */
  const float *bias;    /* [channels] or NULL */
  void *y, *chosen;
  const void *grad;
  void *grad_x, *grad_past;
  float
      *split; /* y, or on the way back grad_x, in three parts besides (ep_images_split), or NULL */
  float *sums;
  int slices;
} ep_images_blend;
cudaError_t ep_images_blend_forward(cudaStream_t stream, const ep_images_blend *blend);
cudaError_t ep_images_blend_back(cudaStream_t stream, const ep_images_blend *blend);

/* --- norms.cu ------------------------------------------------------------------------------- */

/* How many slices the sums of so many pixels have. */
int ep_images_slices(bool half, int64_t pitch, int64_t pixels);

/* The batch's figures and the running statistics. x: [pixels, pitch]; sums: scratch, as above;
 * x_bias: what the convolution's bias adds to the mean, [channels] or NULL; weight, bias: the
 * norm's, or NULL; running: [2, channels]. */
typedef struct {
  bool half;
  int64_t pixels, channels, pitch;
  float eps, momentum;
  const void *x;
  const float *x_bias, *weight, *bias;
  float *sums, *figures, *running;
  int slices; /* of the sums */
} ep_images_norm;
cudaError_t ep_images_norm_forward(cudaStream_t stream, const ep_images_norm *norm);
/* From the sums of the way back: the rest of the figures, and gradient: the weight's [channels],
 * then the bias's; NULL when nobody asks. */
cudaError_t ep_images_norm_back(cudaStream_t stream, const ep_images_norm *norm, float *gradient);

/* --- windows.cu: pools whose windows overlap, leave the image, or take means ------------------ */

/* op: a pool. x: [rows, in], y: [rows, out], written; places: [rows, out] of bytes, where in its
 * window a max_pool2d found each, written. */
cudaError_t ep_images_pool_forward(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                                   const void *x, void *y, uint8_t *places);
/* grad: [rows, out] -> grad_x: [rows, in], written. */
cudaError_t ep_images_pool_back(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                                const void *grad, const uint8_t *places, void *grad_x);

/* --- layouts.cu ------------------------------------------------------------------------------- */

/* Images as all others have them, float32 [rows, channels, pixels], to ours and back. What is
 * written beyond the channels is zero. */
cudaError_t ep_images_take(cudaStream_t stream, bool half, int64_t rows, int64_t channels,
                           int64_t pitch, int64_t pixels, const float *from, void *to);
cudaError_t ep_images_give(cudaStream_t stream, bool half, int64_t rows, int64_t channels,
                           int64_t pixels, const void *from, float *to);

/* The windows of a convolution of at most EP_IMAGES_FEW channels, one after the other, so that it
 * becomes one of a single pixel: x: [rows, in pixels, EP_IMAGES_FEW] -> patches: [rows, out pixels,
 * the pitch of taps times channels], written. */
cudaError_t ep_images_patches(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                              const void *x, void *patches);

/* Weights in another order: an output's `row` numbers after the one before, a tap's `pitch` after
 * the one before, its inputs side by side. part: 0; or how far apart are the three parts, high high
 * low, of each number; of a gradient: of its slices. */
typedef struct {
  void *numbers; /* NULL: nobody asks */
  int64_t row, pitch, part;
} ep_images_order;

/* A convolution's weights, or those of a linear layer on images or of a layer_norm, whose taps are
 * the pixels; or biases, which have a gradient alone: parameters [out, in, taps], to copies in
 * other orders, or from a gradient in another order, whose slices are added up, to one in the
 * parameters' order. in: those of a group, `group_outputs` outputs; the copies have the inputs of
 * all groups, zero for those of others. Blocks from first_block on work on it, and from first_sum
 * on on its slices. */
typedef struct {
  int64_t out, in, taps, group_outputs, first_block, first_sum;
  int slices;
  bool half;
  bool single; /* a thread has one number; else all taps, at most EP_IMAGES_WEIGHT_TAPS */
  const float *parameters;
  ep_images_order copy, back_copy, copy_gradient;
  float *gradient; /* NULL: not trained */
} ep_images_weight;
enum { EP_IMAGES_WEIGHT_THREADS = 128, EP_IMAGES_WEIGHT_TAPS = 25 };
/* rows: device [count]; blocks, and those for slices: in all; moves: a gradient has no slices. */
typedef struct {
  ep_images_weight *rows;
  int count;
  int64_t blocks, sums;
  bool moves;
} ep_images_weights;
/* Shares the blocks of *all out among its rows, which are on the host still. */
void ep_images_weights_share(ep_images_weight *rows, ep_images_weights *all);
cudaError_t ep_images_weights_copy(cudaStream_t stream, const ep_images_weights *all);
cudaError_t ep_images_weights_back(cudaStream_t stream, const ep_images_weights *all);

/* y = keep ? x / (1 - p) : 0, for both dropouts, as dropout.cu: [rows, out]; y may be x. */
cudaError_t ep_images_dropout(cudaStream_t stream, bool half, const ep_op *op, int64_t first,
                              int64_t rows, uint64_t seed, const ep_cuda_clock *clock,
                              bool backward, const void *x, void *y);

/* sum += other, each [count] numbers, a multiple of 16 bytes. */
cudaError_t ep_images_add(cudaStream_t stream, bool half, int64_t count, const void *other,
                          void *sum);

/* Float32 numbers [pixels, pitch] in three parts, [pixels, EP_IMAGES_PARTS, pitch], for products in
 * TF32 that lose nothing of float32: what TF32 holds of a number is `high`, the rest `low`, and a b
 * is high high + low high + high low but for a share of 2^-21. One operand has its parts in the
 * order high, low, high along the depth of the product, as here, the other high, high, low. */
enum { EP_IMAGES_PARTS = 3 };
cudaError_t ep_images_split(cudaStream_t stream, int64_t pixels, int64_t pitch, const float *from,
                            float *to);

/* --- weight_sums.cu --------------------------------------------------------------------------- */

/* The gradient by a convolution's weights, of float32 images, in TF32, or, `precise`, in three
 * products of it. x: [rows, in], grad: [rows, out], channels as they lie in memory, all below 2^31
 * pixels; outputs: channels of grad that count. sums: [slices, outputs, kernel, in channels],
 * written: each slice of the pixels apart. */
typedef struct {
  bool precise;
  int64_t rows, outputs;
  ep_shape in, out;
  int kernel[2], stride[2], padding[2], dilation[2];
  int slices;
  int64_t shared_bytes; /* that a block may ask for */
  const float *x, *grad;
  float *sums;
} ep_images_weight_sums;
/* The best number of slices. */
int ep_images_weight_slices(const ep_images_weight_sums *of, int multiprocessors);
cudaError_t ep_images_weight_sums_run(cudaStream_t stream, const ep_images_weight_sums *of);

#ifdef __cplusplus
}
#endif
#endif
