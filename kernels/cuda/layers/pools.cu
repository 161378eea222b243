/* Pools: forward, a thread an output, or a warp where a window is wide; backward, a thread an
 * input, which asks the windows that it lies in: no two threads add to the same number.
 *
 * A thread has the same pixel in several planes, so that what follows from a pixel, with all its
 * divisions, is found once for them, and their loads are on their way together. */
#include <math.h>

#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/pools.h"

enum { THREADS = 256, PLANES = 4 };
static const int64_t PLANES_FROM = 1 << 20;  /* numbers; fewer have a thread each */
static const int64_t THREADS_MOST = 1 << 28; /* a thread's number has 32 bits */

/* Of height and width. Everything in 32 bits: a plane has fewer than 2^31 pixels. */
typedef struct {
  int in[2], out[2];
  int kernel[2], stride[2], padding[2], dilation[2];
} window;

template <ep_layer_type TYPE> static window window_of(const ep_op *op) {
  window w = {{(int)op->in.height, (int)op->in.width}, {(int)op->out.height, (int)op->out.width},
              {op->kernel[0], op->kernel[1]},          {op->stride[0], op->stride[1]},
              {op->padding[0], op->padding[1]},        {1, 1}};
  for (int i = 0; i < 2; i++)
    if (TYPE == EP_LAYER_MAX_POOL2D && op->kernel[i] > 1) w.dilation[i] = op->dilation[i];
  return w;
}

/* Along one side: first, first + step, … below end. */
typedef struct {
  int first, end, step;
} range;

static __device__ int length_of(const range &of) {
  return of.end > of.first ? of.end - of.first : 0;
}

/* The inputs of output `at` that lie in the image. */
template <ep_layer_type TYPE> static __device__ range inputs_of(const window &w, int side, int at) {
  const int in = w.in[side], out = w.out[side];
  if (TYPE == EP_LAYER_ADAPTIVE_AVG_POOL2D) {
    if (out == 1) return {0, in, 1};
    return {(int)ep_adaptive_first(at, out, in), (int)ep_adaptive_end(at, out, in), 1};
  }
  const int step = w.dilation[side];
  int first = at * w.stride[side] - w.padding[side];
  const int end = first + (w.kernel[side] - 1) * step + 1;
  while (first < 0) first += step;
  return {first, end < in ? end : in, step};
}

/* The outputs whose windows hold input `at`; with a dilation, not all of them do. Adaptive windows:
 * i in/out < at + 1 and at < (i + 1) in/out. */
template <ep_layer_type TYPE>
static __device__ range outputs_of(const window &w, int side, int at) {
  const int in = w.in[side], out = w.out[side];
  if (TYPE == EP_LAYER_ADAPTIVE_AVG_POOL2D) {
    if (out == 1) return {0, 1, 1};
    return {(int)ep_adaptive_first(at, in, out), (int)ep_adaptive_end(at, in, out), 1};
  }
  const int stride = w.stride[side], last = at + w.padding[side];
  const int begin = last - (w.kernel[side] - 1) * w.dilation[side];
  const int end = last / stride + 1;
  return {begin <= 0 ? 0 : (begin + stride - 1) / stride, end < out ? end : out, 1};
}

/* What the sum over a window is divided by; padding counts. */
template <ep_layer_type TYPE>
static __device__ float divisor_of(const window &w, const range &rows, const range &columns) {
  return TYPE == EP_LAYER_ADAPTIVE_AVG_POOL2D ? (float)(length_of(rows) * length_of(columns))
                                              : (float)(w.kernel[0] * w.kernel[1]);
}

/* at_once: planes that all threads together have in one round, of which each makes EACH. */
template <ep_layer_type TYPE, int EACH>
static __global__ void __launch_bounds__(THREADS)
    forward(window w, int64_t planes, int64_t at_once, const float *x, float *y, int32_t *places) {
  kernels_overlap();
  const bool is_max = TYPE == EP_LAYER_MAX_POOL2D;
  const uint32_t thread = blockIdx.x * THREADS + threadIdx.x, out_plane = w.out[0] * w.out[1];
  const int64_t in_plane = (int64_t)w.in[0] * w.in[1], first = thread / out_plane;
  const int pixel = (int)(thread % out_plane);
  if (first >= at_once) return;
  const range rows = inputs_of<TYPE>(w, 0, pixel / w.out[1]);
  const range columns = inputs_of<TYPE>(w, 1, pixel % w.out[1]);
  const float divisor = divisor_of<TYPE>(w, rows, columns);
  for (int64_t plane = first; plane < planes; plane += EACH * at_once) {
    const float *from[EACH];
    float value[EACH];
    int place[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) { /* a plane beyond the last: this one again */
      const int64_t other = plane + i * at_once;
      from[i] = x + (other < planes ? other : plane) * in_plane;
      value[i] = is_max ? -INFINITY : 0;
      place[i] = -1;
    }
    for (int row = rows.first; row < rows.end; row += rows.step)
      for (int column = columns.first; column < columns.end; column += columns.step) {
        const int at = row * w.in[1] + column;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
          const float tap = from[i][at];
          if (!is_max) {
            value[i] += tap;
          } else if (place[i] < 0 || ep_max_takes(tap, value[i])) {
            value[i] = tap;
            place[i] = at;
          }
        }
      }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int64_t other = plane + i * at_once, to = other * out_plane + pixel;
      if (other >= planes) break;
      y[to] = is_max ? value[i] : value[i] / divisor;
      if (is_max && places) places[to] = place[i];
    }
  }
}

/* A warp an output, its lanes side by side in the window. */
template <ep_layer_type TYPE>
static __global__ void __launch_bounds__(THREADS)
    means_by_warp(window w, int64_t count, const float *x, float *y) {
  kernels_overlap();
  const int lines = THREADS / WARP, lane = threadIdx.x % WARP, width = w.in[1];
  const int64_t in_plane = (int64_t)w.in[0] * width, out_plane = (int64_t)w.out[0] * w.out[1];
  for (int64_t at = (int64_t)blockIdx.x * lines + threadIdx.x / WARP; at < count;
       at += (int64_t)gridDim.x * lines) {
    const int64_t plane = at / out_plane;
    const int pixel = (int)(at - plane * out_plane);
    const range rows = inputs_of<TYPE>(w, 0, pixel / w.out[1]);
    const range columns = inputs_of<TYPE>(w, 1, pixel % w.out[1]);
    const float *from = x + plane * in_plane + (rows.first * width + columns.first);
    const uint32_t across = length_of(columns), taps = length_of(rows) * across;
    float sum = 0;
    if (across == (uint32_t)width) { /* its rows follow one another */
#pragma unroll 4
      for (uint32_t i = lane; i < taps; i += WARP) sum += from[i];
    } else {
      for (uint32_t i = lane; i < taps; i += WARP) sum += from[i / across * width + i % across];
    }
    sum = warp_sum(sum);
    if (lane == 0) y[at] = sum / divisor_of<TYPE>(w, rows, columns);
  }
}

template <ep_layer_type TYPE, int EACH>
static __global__ void __launch_bounds__(THREADS)
    backward(window w, int64_t planes, int64_t at_once, const float *grad, const int32_t *places,
             float *grad_x) {
  kernels_overlap();
  const bool is_max = TYPE == EP_LAYER_MAX_POOL2D, adapts = TYPE == EP_LAYER_ADAPTIVE_AVG_POOL2D;
  const uint32_t thread = blockIdx.x * THREADS + threadIdx.x, in_plane = w.in[0] * w.in[1];
  const int64_t out_plane = (int64_t)w.out[0] * w.out[1], first = thread / in_plane;
  const int pixel = (int)(thread % in_plane);
  if (first >= at_once) return;
  const range rows = outputs_of<TYPE>(w, 0, pixel / w.in[1]);
  const range columns = outputs_of<TYPE>(w, 1, pixel % w.in[1]);
  for (int64_t plane = first; plane < planes; plane += EACH * at_once) {
    int64_t from[EACH];
    float sum[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++) { /* a plane beyond the last: this one again */
      const int64_t other = plane + i * at_once;
      from[i] = (other < planes ? other : plane) * out_plane;
      sum[i] = 0;
    }
    for (int row = rows.first; row < rows.end; row++) {
      const range down = inputs_of<TYPE>(w, 0, row);
      for (int column = columns.first; column < columns.end; column++) {
        const int at = row * w.out[1] + column;
        const float divisor = adapts ? divisor_of<TYPE>(w, down, inputs_of<TYPE>(w, 1, column)) : 1;
#pragma unroll
        for (int i = 0; i < EACH; i++)
          if (!is_max || places[from[i] + at] == pixel)
            sum[i] += adapts ? grad[from[i] + at] / divisor : grad[from[i] + at];
      }
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int64_t other = plane + i * at_once;
      if (other >= planes) break;
      grad_x[other * in_plane + pixel] =
          is_max || adapts ? sum[i] : sum[i] / (float)(w.kernel[0] * w.kernel[1]);
    }
  }
}

/* Planes of `plane` pixels each. */
typedef struct {
  int64_t planes, at_once;
  bool several; /* PLANES a thread */
  unsigned int blocks;
} extent;

static extent extent_of(int64_t planes, int64_t plane) {
  const bool several = planes * plane >= PLANES_FROM;
  const int64_t wanted = several ? (planes + PLANES - 1) / PLANES : planes;
  const int64_t most = plane < THREADS_MOST ? THREADS_MOST / plane : 1;
  const int64_t at_once = wanted < 1 ? 1 : wanted < most ? wanted : most;
  return {planes, at_once, several, (unsigned int)((at_once * plane + THREADS - 1) / THREADS)};
}

/* Whether a mean's windows have a number for each lane of a warp, and share few. */
template <ep_layer_type TYPE> static bool is_wide(const ep_op *op) {
  return op->in_features / op->out_features >= WARP &&
         (TYPE == EP_LAYER_ADAPTIVE_AVG_POOL2D || op->kernel[0] * op->kernel[1] >= WARP);
}

template <ep_layer_type TYPE> static cudaError_t forward_run(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const cudaStream_t stream = call->stream;
  const float *x = call->x[0];
  float *y = call->y;
  int32_t *places = call->training ? (int32_t *)call->saved : NULL;
  const window w = window_of<TYPE>(op);
  const int64_t plane = op->out.height * op->out.width;
  const extent of = extent_of(call->rows * op->out.channels, plane);
  if (TYPE != EP_LAYER_MAX_POOL2D && is_wide<TYPE>(op)) {
    const int64_t count = of.planes * plane;
    ep_cuda_queue(stream, ep_cuda_blocks(count, THREADS / WARP), THREADS, 0, means_by_warp<TYPE>, w,
                  count, x, y);
  } else if (of.several) {
    ep_cuda_queue(stream, of.blocks, THREADS, 0, forward<TYPE, PLANES>, w, of.planes, of.at_once, x,
                  y, places);
  } else {
    ep_cuda_queue(stream, of.blocks, THREADS, 0, forward<TYPE, 1>, w, of.planes, of.at_once, x, y,
                  places);
  }
  return cudaGetLastError();
}

template <ep_layer_type TYPE> static cudaError_t backward_run(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const cudaStream_t stream = call->stream;
  const float *grad = call->grad;
  const int32_t *places = (const int32_t *)call->saved;
  float *grad_x = call->grad_x[0];
  const window w = window_of<TYPE>(op);
  const extent of = extent_of(call->rows * op->in.channels, op->in.height * op->in.width);
  if (of.several)
    ep_cuda_queue(stream, of.blocks, THREADS, 0, backward<TYPE, PLANES>, w, of.planes, of.at_once,
                  grad, places, grad_x);
  else
    ep_cuda_queue(stream, of.blocks, THREADS, 0, backward<TYPE, 1>, w, of.planes, of.at_once, grad,
                  places, grad_x);
  return cudaGetLastError();
}

/* Where in its plane each maximum is: [batch, out], which an evaluation does not write. */
static int64_t places_count(const ep_op *op, int64_t rows, int64_t batch) {
  (void)rows;
  return batch * op->out_features;
}

EP_CUDA_OPERATOR(MAX_POOL2D, forward_run<EP_LAYER_MAX_POOL2D>, backward_run<EP_LAYER_MAX_POOL2D>,
                 APART, places_count, NULL);
EP_CUDA_OPERATOR(AVG_POOL2D, forward_run<EP_LAYER_AVG_POOL2D>, backward_run<EP_LAYER_AVG_POOL2D>,
                 APART, NULL, NULL);
EP_CUDA_OPERATOR(ADAPTIVE_AVG_POOL2D, forward_run<EP_LAYER_ADAPTIVE_AVG_POOL2D>,
                 backward_run<EP_LAYER_ADAPTIVE_AVG_POOL2D>, APART, NULL, NULL);
