/* One value of several, and numbers that go elsewhere: a thread a number that is written. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = 256 };

/* --- products ------------------------------------------------------------------------------ */

typedef struct {
  const float *x[EP_OP_INPUTS];
  int count;
} factors;

typedef struct {
  float *to[EP_OP_INPUTS]; /* NULL: nobody asks */
} targets;

static factors factors_of(const ep_op *op, const float *const *x) {
  factors of = {};
  of.count = op->inputs;
  for (int k = 0; k < op->inputs; k++) of.x[k] = x[k];
  return of;
}

static __global__ void multiply(int64_t count, factors of, float *y) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS) {
    float product = of.x[0][at];
    for (int k = 1; k < of.count; k++) product *= of.x[k][at];
    y[at] = product;
  }
}

/* grad may be one of the targets. */
static __global__ void multiply_back(int64_t count, factors of, const float *grad, targets back) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS) {
    const float whole = grad[at];
    for (int k = 0; k < of.count; k++) {
      if (!back.to[k]) continue;
      float product = whole;
      for (int other = 0; other < of.count; other++)
        if (other != k) product *= of.x[other][at];
      back.to[k][at] = product;
    }
  }
}

cudaError_t ep_cuda_mul_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                const float *const *x, float *y) {
  const int64_t count = rows * op->out_features;
  multiply<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(count, factors_of(op, x), y);
  return cudaGetLastError();
}

cudaError_t ep_cuda_mul_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                 const float *const *x, const float *grad, float *const *grad_x) {
  const int64_t count = rows * op->out_features;
  targets back = {};
  for (int k = 0; k < op->inputs; k++) back.to[k] = grad_x[k];
  multiply_back<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(count, factors_of(op, x),
                                                                        grad, back);
  return cudaGetLastError();
}

/* --- runs ---------------------------------------------------------------------------------- */

/* Runs of two arrays (ep_shape_runs), and the part of each that goes from one to the other. */
typedef struct {
  int64_t count;                  /* runs */
  int64_t own;                    /* numbers of a run that go */
  int64_t from_whole, from_start; /* a run's numbers where they come from; the first that goes */
  int64_t to_whole, to_start;     /* the same where they go */
} moves;

/* Index: of 32 bits where all fits, since its divisions are faster. */
template <typename Index>
static __global__ void runs_copy(Index count, moves of, const float *from, float *to) {
  const Index stride = (Index)gridDim.x * THREADS, own = (Index)of.own;
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index run = at / own, i = at - run * own;
    to[run * of.to_whole + of.to_start + i] = from[run * of.from_whole + of.from_start + i];
    if (count - at <= stride) return; /* at + stride may be beyond the type */
    at += stride;
  }
}

/* The runs of `to` are written whole, with zeros where nothing goes. */
template <typename Index>
static __global__ void runs_spread(Index count, moves of, const float *from, float *to) {
  const Index stride = (Index)gridDim.x * THREADS, whole = (Index)of.to_whole;
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index run = at / whole;
    const int64_t i = (int64_t)(at - run * whole) - of.to_start;
    to[at] = i >= 0 && i < of.own ? from[run * of.from_whole + of.from_start + i] : 0.0f;
    if (count - at <= stride) return;
    at += stride;
  }
}

static cudaError_t runs_run(cudaStream_t stream, const moves &of, bool spreads, const float *from,
                            float *to) {
  const int64_t count = of.count * (spreads ? of.to_whole : of.own);
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count <= UINT32_MAX) {
    if (spreads)
      runs_spread<uint32_t><<<blocks, THREADS, 0, stream>>>((uint32_t)count, of, from, to);
    else
      runs_copy<uint32_t><<<blocks, THREADS, 0, stream>>>((uint32_t)count, of, from, to);
  } else {
    if (spreads)
      runs_spread<int64_t><<<blocks, THREADS, 0, stream>>>(count, of, from, to);
    else
      runs_copy<int64_t><<<blocks, THREADS, 0, stream>>>(count, of, from, to);
  }
  return cudaGetLastError();
}

cudaError_t ep_cuda_concat_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                   const float *const *x, float *y) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  cudaError_t code = cudaSuccess;
  int64_t start = 0;
  for (int k = 0; k < op->inputs && code == cudaSuccess; k++) {
    const int64_t own = op->length[k] * runs.place;
    code = runs_run(stream, {rows * runs.count, own, own, 0, runs.whole, start}, false, x[k], y);
    start += own;
  }
  return code;
}

cudaError_t ep_cuda_concat_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                    const float *grad, float *const *grad_x) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  cudaError_t code = cudaSuccess;
  int64_t start = 0;
  for (int k = 0; k < op->inputs && code == cudaSuccess; k++) {
    const int64_t own = op->length[k] * runs.place;
    if (grad_x[k])
      code = runs_run(stream, {rows * runs.count, own, runs.whole, start, own, 0}, false, grad,
                      grad_x[k]);
    start += own;
  }
  return code;
}

cudaError_t ep_cuda_slice_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                  const float *x, float *y) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  return runs_run(stream, {rows * runs.count, own, runs.whole, op->start * runs.place, own, 0},
                  false, x, y);
}

cudaError_t ep_cuda_slice_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                   const float *grad, float *grad_x) {
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  return runs_run(stream, {rows * runs.count, own, own, 0, runs.whole, op->start * runs.place},
                  true, grad, grad_x);
}

/* --- permutations -------------------------------------------------------------------------- */

/* A row that is written, by its sides, and how far apart the neighbours along each side are where
 * they are read. */
typedef struct {
  int64_t side[EP_SHAPE_SIDES], step[EP_SHAPE_SIDES], features;
} map;

template <typename Index>
static __global__ void permute(Index count, map of, const float *from, float *to) {
  const Index stride = (Index)gridDim.x * THREADS, features = (Index)of.features;
  const Index height = (Index)of.side[1], width = (Index)of.side[2];
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index row = at / features, place = at - row * features;
    const Index line = place / width, x = place - line * width;
    const Index channel = line / height, y = line - channel * height;
    to[at] = from[row * of.features + channel * of.step[0] + y * of.step[1] + x * of.step[2]];
    if (count - at <= stride) return;
    at += stride;
  }
}

static cudaError_t permute_run(cudaStream_t stream, int64_t rows, const map &of, const float *from,
                               float *to) {
  const int64_t count = rows * of.features;
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count <= UINT32_MAX)
    permute<uint32_t><<<blocks, THREADS, 0, stream>>>((uint32_t)count, of, from, to);
  else
    permute<int64_t><<<blocks, THREADS, 0, stream>>>(count, of, from, to);
  return cudaGetLastError();
}

static int64_t step_of(ep_shape shape, int side) {
  return ep_shape_runs_along(side, shape).place;
}

cudaError_t ep_cuda_permute_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                    const float *x, float *y) {
  map of = {};
  of.features = op->out_features;
  for (int side = 0; side < EP_SHAPE_SIDES; side++) {
    of.side[side] = ep_shape_side(op->out, side);
    of.step[side] = step_of(op->in, op->order[side]);
  }
  return permute_run(stream, rows, of, x, y);
}

cudaError_t ep_cuda_permute_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                     const float *grad, float *grad_x) {
  map of = {};
  of.features = op->in_features;
  for (int side = 0; side < EP_SHAPE_SIDES; side++) {
    of.side[op->order[side]] = ep_shape_side(op->out, side);
    of.step[op->order[side]] = step_of(op->out, side);
  }
  return permute_run(stream, rows, of, grad, grad_x);
}
