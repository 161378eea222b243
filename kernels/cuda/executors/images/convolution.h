/* convolution.h: convolutions by cuDNN on images that lie pixel by pixel, the channels of a pixel
 * side by side (NHWC). Only algorithms that give the same bits every time; the fastest of them is
 * found by trying, once, and kept on disk (cache.h), so that a worker that goes on with the job of
 * one that died computes as that one did. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_H

#include "kernels/cuda/runtime/device.h"

/* y = conv(x, w), or, from the gradient by y: that by x, or that by w. */
typedef enum {
  EP_CONVOLUTION_FORWARD,
  EP_CONVOLUTION_BACK,
  EP_CONVOLUTION_WEIGHTS
} ep_convolution_way;

/* x: [rows, in height, in width, in channels], w: [out channels, kernel height, kernel width, in
 * channels], y: [rows, out height, out width, out channels]; bfloat16. Sums are float32, also those
 * of the gradient by w, which is rounded to bfloat16 at its end: cuDNN has nothing fast that leaves
 * float32 there. */
typedef struct {
  ep_convolution_way way;
  ep_shape in, out; /* with channels as they lie in memory */
  int64_t rows;
  int kernel[2], stride[2], padding[2], dilation[2];
} ep_convolution_shape;

/* Whether there is a cuDNN to do any of this. */
bool ep_convolutions_exist(void);

enum { EP_CONVOLUTION_WORKSPACE_BYTES = 64 << 20 }; /* an algorithm that wants more is not taken */

/* A convolution of these addresses on one stream. */
typedef struct {
  const ep_backend *backend; /* lent */
  cudaStream_t stream;       /* lent */
  void *handle, *answer;     /* the library's, which outlives it */
  void *pack;                /* cuDNN's description of the addresses */
} ep_convolution;

/* Finds the fastest algorithm for the shape, unless it is known. Writes over what the
 * convolution writes; waits for the stream. workspace: device [EP_CONVOLUTION_WORKSPACE_BYTES],
 * which all convolutions of one stream may share. *out is for ep_convolution_deinit, also after a
 * failure: EP_UNSUPPORTED when cuDNN has nothing for it. Thread-safe, as all here. */
ep_status ep_convolution_init(ep_backend *backend, cudaStream_t stream,
                              const ep_convolution_shape *shape, const void *x, const void *w,
                              const void *y, void *workspace, ep_convolution *out, ep_error *error);
void ep_convolution_deinit(ep_convolution *convolution); /* a zeroed one is allowed */

/* Queues it. */
ep_status ep_convolution_run(const ep_convolution *convolution, ep_error *error);

#endif
