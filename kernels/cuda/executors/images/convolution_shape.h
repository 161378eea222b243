/* convolution_shape.h: which product of a convolution, of what sides, in how much memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_SHAPE_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_CONVOLUTION_SHAPE_H

#include "kernels/program.h"

/* y = conv(x, w), or, from the gradient by y: that by x, or that by w. */
typedef enum {
  EP_CONVOLUTION_FORWARD,
  EP_CONVOLUTION_BACK,
  EP_CONVOLUTION_WEIGHTS
} ep_convolution_way;

/* x: [rows, in height, in width, in channels], w: [out channels, kernel height, kernel width, in
 * channels], y: [rows, out height, out width, out channels]; bfloat16, or float32 whose products
 * may be TF32's. Sums are float32, also those of the gradient by w, which in bfloat16 is rounded at
 * its end: cuDNN has nothing fast that leaves float32 there. */
typedef struct {
  ep_convolution_way way;
  bool half;        /* bfloat16 */
  ep_shape in, out; /* with channels as they lie in memory */
  int64_t rows;
  int kernel[2], stride[2], padding[2], dilation[2];
} ep_convolution_shape;

enum { EP_CONVOLUTION_WORKSPACE_BYTES = 64 << 20 }; /* an algorithm that wants more is not taken */

#endif
