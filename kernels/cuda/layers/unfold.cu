/* unfold: forward, a thread a number of y; backward, a thread a pixel of x, which asks the windows
 * that it lies in, tap by tap: no two threads add to the same number. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/pools.h"

enum { THREADS = 256 };

/* Of height and width. A channel of x, [in], becomes [taps, windows] of y. */
typedef struct {
  int in[2], windows[2];
  int kernel[2], stride[2], padding[2], dilation[2];
} geometry;

static geometry geometry_of(const ep_op *op) {
  geometry of = {{(int)op->in.height, (int)op->in.width}, {1, 1},
                 {op->kernel[0], op->kernel[1]},          {op->stride[0], op->stride[1]},
                 {op->padding[0], op->padding[1]},        {op->dilation[0], op->dilation[1]}};
  for (int i = 0; i < 2; i++)
    of.windows[i] = (int)ep_window_count(of.in[i], op->kernel[i], op->stride[i], op->padding[i],
                                         op->dilation[i]);
  return of;
}

/* Along one side, where the tap of a window lies; outside: in the padding. */
static __device__ int place_of(const geometry &of, int side, int window, int tap) {
  return window * of.stride[side] - of.padding[side] + tap * of.dilation[side];
}

/* The other way round: the window whose tap lies there, or -1. */
static __device__ int window_of(const geometry &of, int side, int place, int tap) {
  const int from = place + of.padding[side] - tap * of.dilation[side];
  const int window = from / of.stride[side];
  const bool exists = from >= 0 && window * of.stride[side] == from && window < of.windows[side];
  return exists ? window : -1;
}

/* Index: of 32 bits where all fits, since its divisions are faster. */
template <typename Index>
static __global__ void forward(Index count, geometry of, const float *x, float *y) {
  const Index stride = (Index)gridDim.x * THREADS, windows = of.windows[0] * of.windows[1];
  const Index taps = of.kernel[0] * of.kernel[1];
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index line = at / windows, plane = line / taps;
    const int window = (int)(at - line * windows), tap = (int)(line - plane * taps);
    const int row = place_of(of, 0, window / of.windows[1], tap / of.kernel[1]);
    const int column = place_of(of, 1, window % of.windows[1], tap % of.kernel[1]);
    const bool inside = row >= 0 && row < of.in[0] && column >= 0 && column < of.in[1];
    y[at] = inside ? x[(plane * of.in[0] + row) * of.in[1] + column] : 0;
    if (count - at <= stride) return; /* at + stride may be beyond the type */
    at += stride;
  }
}

template <typename Index>
static __global__ void backward(Index count, geometry of, const float *grad, float *grad_x) {
  const Index stride = (Index)gridDim.x * THREADS, windows = of.windows[0] * of.windows[1];
  const Index taps = of.kernel[0] * of.kernel[1];
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index line = at / of.in[1], plane = line / of.in[0];
    const int column = (int)(at - line * of.in[1]), row = (int)(line - plane * of.in[0]);
    float sum = 0;
    for (int i = 0; i < of.kernel[0]; i++) {
      const int down = window_of(of, 0, row, i);
      if (down < 0) continue;
      const float *from = grad + (plane * taps + i * of.kernel[1]) * windows;
      from += (int64_t)down * of.windows[1];
#pragma unroll 4
      for (int j = 0; j < of.kernel[1]; j++) {
        const int right = window_of(of, 1, column, j);
        if (right >= 0) sum += from[j * windows + right];
      }
    }
    grad_x[at] = sum;
    if (count - at <= stride) return;
    at += stride;
  }
}

static bool is_small(const ep_cuda_call *call) {
  return call->rows * call->op->in_features <= UINT32_MAX &&
         call->rows * call->op->out_features <= UINT32_MAX;
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const geometry of = geometry_of(call->op);
  const int64_t count = call->rows * call->op->out_features;
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (is_small(call))
    forward<uint32_t>
        <<<blocks, THREADS, 0, call->stream>>>((uint32_t)count, of, call->x[0], call->y);
  else
    forward<int64_t><<<blocks, THREADS, 0, call->stream>>>(count, of, call->x[0], call->y);
  return cudaGetLastError();
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  const geometry of = geometry_of(call->op);
  const int64_t count = call->rows * call->op->in_features;
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (is_small(call))
    backward<uint32_t>
        <<<blocks, THREADS, 0, call->stream>>>((uint32_t)count, of, call->grad, call->grad_x[0]);
  else
    backward<int64_t><<<blocks, THREADS, 0, call->stream>>>(count, of, call->grad, call->grad_x[0]);
  return cudaGetLastError();
}

EP_CUDA_OPERATOR(UNFOLD, forward_run, backward_run, APART, NULL, NULL);
