/* One value of several, and numbers that go elsewhere: a thread a number that is written. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"

enum { THREADS = 256 };

/* --- products ------------------------------------------------------------------------------ */

typedef struct {
  const float *x[EP_OP_INPUTS];
  int count;
} factors;

typedef struct {
  float *to[EP_OP_INPUTS]; /* NULL: nobody asks */
} targets;

static factors factors_of(const ep_cuda_call *call) {
  factors of = {};
  of.count = call->op->inputs;
  for (int k = 0; k < of.count; k++) of.x[k] = call->x[k];
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

static cudaError_t mul_forward(const ep_cuda_call *call) {
  const int64_t count = call->rows * call->op->out_features;
  multiply<<<ep_cuda_blocks(count, THREADS), THREADS, 0, call->stream>>>(count, factors_of(call),
                                                                         call->y);
  return cudaGetLastError();
}

static cudaError_t mul_backward(const ep_cuda_call *call) {
  const int64_t count = call->rows * call->op->out_features;
  targets back = {};
  for (int k = 0; k < call->op->inputs; k++) back.to[k] = call->grad_x[k];
  multiply_back<<<ep_cuda_blocks(count, THREADS), THREADS, 0, call->stream>>>(
      count, factors_of(call), call->grad, back);
  return cudaGetLastError();
}

EP_CUDA_OPERATOR(MUL, mul_forward, mul_backward, IN_PLACE, NULL, NULL);

/* --- sums ---------------------------------------------------------------------------------- */

static cudaError_t add_forward(const ep_cuda_call *call) {
  const int64_t count = call->rows * call->op->out_features;
  cudaError_t code = cudaSuccess;
  for (int k = 1; k < call->op->inputs && code == cudaSuccess; k++)
    code = ep_cuda_add(call->stream, count, k == 1 ? call->x[0] : call->y, call->x[k], call->y);
  return code;
}

/* The gradient goes to all inputs: copies, but for the one that has it in its place. */
static cudaError_t add_backward(const ep_cuda_call *call) {
  const size_t bytes = (size_t)(call->rows * call->op->out_features) * sizeof(float);
  cudaError_t code = cudaSuccess;
  for (int k = 0; k < call->op->inputs && code == cudaSuccess; k++)
    if (call->grad_x[k] && call->grad_x[k] != call->grad)
      code = cudaMemcpyAsync(call->grad_x[k], call->grad, bytes, cudaMemcpyDeviceToDevice,
                             call->stream);
  return code;
}

EP_CUDA_OPERATOR(ADD, add_forward, add_backward, IN_PLACE, NULL, NULL);

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

static cudaError_t concat_forward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  const int64_t count = call->rows * runs.count;
  cudaError_t code = cudaSuccess;
  int64_t start = 0;
  for (int k = 0; k < op->inputs && code == cudaSuccess; k++) {
    const int64_t own = op->length[k] * runs.place;
    code =
        runs_run(call->stream, {count, own, own, 0, runs.whole, start}, false, call->x[k], call->y);
    start += own;
  }
  return code;
}

static cudaError_t concat_backward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->out);
  const int64_t count = call->rows * runs.count;
  cudaError_t code = cudaSuccess;
  int64_t start = 0;
  for (int k = 0; k < op->inputs && code == cudaSuccess; k++) {
    const int64_t own = op->length[k] * runs.place;
    if (call->grad_x[k])
      code = runs_run(call->stream, {count, own, runs.whole, start, own, 0}, false, call->grad,
                      call->grad_x[k]);
    start += own;
  }
  return code;
}

EP_CUDA_OPERATOR(CONCAT, concat_forward, concat_backward, APART, NULL, NULL);

static cudaError_t slice_forward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  return runs_run(call->stream,
                  {call->rows * runs.count, own, runs.whole, op->start * runs.place, own, 0}, false,
                  call->x[0], call->y);
}

static cudaError_t slice_backward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  const ep_shape_runs runs = ep_shape_runs_along(op->axis, op->in);
  const int64_t own = ep_shape_side(op->out, op->axis) * runs.place;
  return runs_run(call->stream,
                  {call->rows * runs.count, own, own, 0, runs.whole, op->start * runs.place}, true,
                  call->grad, call->grad_x[0]);
}

EP_CUDA_OPERATOR(SLICE, slice_forward, slice_backward, APART, NULL, NULL);

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

static cudaError_t permute_forward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  map of = {};
  of.features = op->out_features;
  for (int side = 0; side < EP_SHAPE_SIDES; side++) {
    of.side[side] = ep_shape_side(op->out, side);
    of.step[side] = step_of(op->in, op->order[side]);
  }
  return permute_run(call->stream, call->rows, of, call->x[0], call->y);
}

static cudaError_t permute_backward(const ep_cuda_call *call) {
  const ep_op *op = call->op;
  map of = {};
  of.features = op->in_features;
  for (int side = 0; side < EP_SHAPE_SIDES; side++) {
    of.side[op->order[side]] = ep_shape_side(op->out, side);
    of.step[op->order[side]] = step_of(op->out, side);
  }
  return permute_run(call->stream, call->rows, of, call->grad, call->grad_x[0]);
}

EP_CUDA_OPERATOR(PERMUTE, permute_forward, permute_backward, APART, NULL, NULL);

/* --- the same numbers in another shape ----------------------------------------------------- */

EP_CUDA_OPERATOR(FLATTEN, NULL, NULL, IN_PLACE, NULL, NULL);
EP_CUDA_OPERATOR(RESHAPE, NULL, NULL, IN_PLACE, NULL, NULL);
