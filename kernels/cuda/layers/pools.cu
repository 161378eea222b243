/* Pools: forward, a thread an output; backward, a thread an input, which asks the windows that it
 * lies in: no two threads add to the same number. */
#include <math.h>

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/pools.h"

enum { THREADS = 256 };
static const int64_t NARROW = INT64_C(1) << 31; /* with room for the stride */

/* Everything in 32 bits: a plane has fewer than 2^31 pixels. */
typedef struct {
  int in_height, in_width, out_height, out_width;
  int kernel[2], stride[2], padding[2], dilation[2];
} window;

static window window_of(const ep_op *op) {
  window w = {(int)op->in.height,
              (int)op->in.width,
              (int)op->out.height,
              (int)op->out.width,
              {op->kernel[0], op->kernel[1]},
              {op->stride[0], op->stride[1]},
              {op->padding[0], op->padding[1]},
              {1, 1}};
  for (int i = 0; i < 2 && op->type == EP_LAYER_MAX_POOL2D; i++) w.dilation[i] = op->dilation[i];
  return w;
}

/* x, plane: the plane that the window lies in; oy, ox: the output. */
static __device__ float max_of(const window &w, const float *x, int oy, int ox, int32_t *place) {
  float most = -INFINITY;
  int at = -1;
  int top = oy * w.stride[0] - w.padding[0], left = ox * w.stride[1] - w.padding[1];
  for (int i = 0; i < w.kernel[0]; i++) {
    int y = top + i * w.dilation[0];
    if (y < 0 || y >= w.in_height) continue;
    for (int j = 0; j < w.kernel[1]; j++) {
      int across = left + j * w.dilation[1];
      if (across < 0 || across >= w.in_width) continue;
      float value = x[y * w.in_width + across];
      if (at < 0 || ep_max_takes(value, most)) {
        most = value;
        at = y * w.in_width + across;
      }
    }
  }
  *place = at;
  return most;
}

static __device__ float mean_of(const window &w, const float *x, int oy, int ox) {
  float sum = 0;
  int top = oy * w.stride[0] - w.padding[0], left = ox * w.stride[1] - w.padding[1];
  for (int i = 0; i < w.kernel[0]; i++)
    for (int j = 0; j < w.kernel[1]; j++) {
      int y = top + i, across = left + j;
      if (y >= 0 && y < w.in_height && across >= 0 && across < w.in_width)
        sum += x[y * w.in_width + across];
    }
  return sum / (float)(w.kernel[0] * w.kernel[1]);
}

static __device__ float adaptive_mean_of(const window &w, const float *x, int oy, int ox) {
  int top = (int)ep_adaptive_first(oy, w.out_height, w.in_height);
  int bottom = (int)ep_adaptive_end(oy, w.out_height, w.in_height);
  int left = (int)ep_adaptive_first(ox, w.out_width, w.in_width);
  int right = (int)ep_adaptive_end(ox, w.out_width, w.in_width);
  float sum = 0;
  for (int y = top; y < bottom; y++)
    for (int across = left; across < right; across++) sum += x[y * w.in_width + across];
  return sum / (float)((bottom - top) * (right - left));
}

/* I: wide enough for all numbers; a division by 64 bits costs more than a pool. */
template <typename I>
static __global__ void forward(ep_layer_type type, window w, I count, const float *x, float *y,
                               int32_t *places) {
  I out_plane = w.out_height * w.out_width, in_plane = w.in_height * w.in_width;
  for (I at = (I)blockIdx.x * THREADS + threadIdx.x; at < count; at += (I)gridDim.x * THREADS) {
    int pixel = (int)(at % out_plane), oy = pixel / w.out_width, ox = pixel % w.out_width;
    const float *plane = x + (int64_t)(at / out_plane) * in_plane;
    if (type == EP_LAYER_MAX_POOL2D) {
      int32_t place;
      y[at] = max_of(w, plane, oy, ox, &place);
      if (places) places[at] = place;
    } else if (type == EP_LAYER_AVG_POOL2D) {
      y[at] = mean_of(w, plane, oy, ox);
    } else {
      y[at] = adaptive_mean_of(w, plane, oy, ox);
    }
  }
}

cudaError_t ep_cuda_pool_forward(cudaStream_t stream, const ep_op *op, int64_t rows, const float *x,
                                 float *y, int32_t *places) {
  int64_t count = rows * op->out_features;
  unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count < NARROW)
    forward<uint32_t>
        <<<blocks, THREADS, 0, stream>>>(op->type, window_of(op), (uint32_t)count, x, y, places);
  else
    forward<int64_t><<<blocks, THREADS, 0, stream>>>(op->type, window_of(op), count, x, y, places);
  return cudaGetLastError();
}

/* Outputs whose windows may hold position `at`: first … last. */
static __device__ void windows_of(int at, int kernel, int stride, int padding, int dilation,
                                  int count, int *first, int *last) {
  int begin = at + padding - (kernel - 1) * dilation;
  *first = begin <= 0 ? 0 : (begin + stride - 1) / stride;
  *last = (at + padding) / stride;
  if (*last >= count) *last = count - 1;
}

static __device__ float windows_sum(const window &w, const float *grad, const int32_t *places,
                                    int pixel) {
  int y = pixel / w.in_width, across = pixel % w.in_width, top, bottom, left, right;
  windows_of(y, w.kernel[0], w.stride[0], w.padding[0], w.dilation[0], w.out_height, &top, &bottom);
  windows_of(across, w.kernel[1], w.stride[1], w.padding[1], w.dilation[1], w.out_width, &left,
             &right);
  float sum = 0;
  for (int oy = top; oy <= bottom; oy++)
    for (int ox = left; ox <= right; ox++) {
      int at = oy * w.out_width + ox;
      if (!places || places[at] == pixel) sum += grad[at];
    }
  return places ? sum : sum / (float)(w.kernel[0] * w.kernel[1]);
}

static __device__ float adaptive_windows_sum(const window &w, const float *grad, int pixel) {
  int y = pixel / w.in_width, across = pixel % w.in_width;
  float sum = 0;
  for (int oy = (int)ep_adaptive_first(y, w.in_height, w.out_height); oy < w.out_height; oy++) {
    int top = (int)ep_adaptive_first(oy, w.out_height, w.in_height);
    int bottom = (int)ep_adaptive_end(oy, w.out_height, w.in_height);
    if (top > y) break;
    if (bottom <= y) continue;
    for (int ox = (int)ep_adaptive_first(across, w.in_width, w.out_width); ox < w.out_width; ox++) {
      int left = (int)ep_adaptive_first(ox, w.out_width, w.in_width);
      int right = (int)ep_adaptive_end(ox, w.out_width, w.in_width);
      if (left > across) break;
      if (right <= across) continue;
      sum += grad[oy * w.out_width + ox] / (float)((bottom - top) * (right - left));
    }
  }
  return sum;
}

template <typename I>
static __global__ void backward(ep_layer_type type, window w, I count, const float *grad,
                                const int32_t *places, float *grad_x) {
  I out_plane = w.out_height * w.out_width, in_plane = w.in_height * w.in_width;
  for (I at = (I)blockIdx.x * THREADS + threadIdx.x; at < count; at += (I)gridDim.x * THREADS) {
    int64_t first = (int64_t)(at / in_plane) * out_plane;
    int pixel = (int)(at % in_plane);
    grad_x[at] = type == EP_LAYER_ADAPTIVE_AVG_POOL2D
                     ? adaptive_windows_sum(w, grad + first, pixel)
                     : windows_sum(w, grad + first, places ? places + first : NULL, pixel);
  }
}

cudaError_t ep_cuda_pool_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                  const float *grad, const int32_t *places, float *grad_x) {
  int64_t count = rows * op->in_features;
  unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count < NARROW)
    backward<uint32_t><<<blocks, THREADS, 0, stream>>>(op->type, window_of(op), (uint32_t)count,
                                                       grad, places, grad_x);
  else
    backward<int64_t>
        <<<blocks, THREADS, 0, stream>>>(op->type, window_of(op), count, grad, places, grad_x);
  return cudaGetLastError();
}
