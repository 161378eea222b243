/* convolution.h: convolutions by cuDNN on images that lie pixel by pixel, the channels of a pixel
 * side by side (NHWC). Only algorithms that give the same bits every time; the fastest of them is
 * found by trying, once, and kept on disk (cache.h), so that a worker that goes on with the job of
 * one that died computes as that one did. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_H

#include "kernels/cuda/executors/images/convolution_shape.h"
#include "kernels/cuda/runtime/device.h"

/* Whether there is a cuDNN to do any of this. */
bool ep_convolutions_exist(void);

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
