/* Activations: a thread a number, or four of many, or, where a row hangs together (softmax,
 * log_softmax), a block a row. */
#include <math.h>

#include "kernels/cuda/layers/activation_chains.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/cuda/layers/usual_activations.cuh"
#include "kernels/formulas/dropout.h"

enum { THREADS = 256, QUAD = 4, LINES = THREADS / WARP };

/* Numbers from which on a thread takes four: fewer need all threads. */
static const int64_t QUADS_FROM = 1 << 18;

/* Fours of `count` numbers that a thread takes at once: none, unless all the arrays allow it. */
static int64_t quads_of(int64_t count, const float *a, const float *b, const float *c) {
  const bool aligned = ep_cuda_has_quads(a) && ep_cuda_has_quads(b) && ep_cuda_has_quads(c);
  return aligned && count >= QUADS_FROM ? count / QUAD : 0;
}

static unsigned int pointwise_blocks(int64_t quads, int64_t count) {
  return ep_cuda_blocks(quads > 0 ? quads : count, THREADS);
}

/* The first `quads` fours, then what is left of `count`. */
template <ep_layer_type TYPE>
static __global__ void pointwise_forward(ep_op given, int64_t quads, int64_t count, const float *x,
                                         float *y) {
  const ep_op op = activation_of<TYPE>(given);
  kernels_overlap();
  const int64_t threads = (int64_t)gridDim.x * THREADS;
  const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  for (int64_t quad = thread; quad < quads; quad += threads) {
    const float4 from = ((const float4 *)x)[quad];
    ((float4 *)y)[quad] = {ep_activation(&op, from.x), ep_activation(&op, from.y),
                           ep_activation(&op, from.z), ep_activation(&op, from.w)};
  }
  for (int64_t at = QUAD * quads + thread; at < count; at += threads)
    y[at] = ep_activation(&op, x[at]);
}

template <ep_layer_type TYPE>
static __global__ void pointwise_backward(ep_op given, int64_t quads, int64_t count, const float *x,
                                          const float *y, float *grad) {
  const ep_op op = activation_of<TYPE>(given);
  kernels_overlap();
  const int64_t threads = (int64_t)gridDim.x * THREADS;
  const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  for (int64_t quad = thread; quad < quads; quad += threads) {
    const float4 before = ((const float4 *)x)[quad], after = ((const float4 *)y)[quad];
    float4 value = ((float4 *)grad)[quad];
    value.x *= ep_activation_derivative(&op, before.x, after.x);
    value.y *= ep_activation_derivative(&op, before.y, after.y);
    value.z *= ep_activation_derivative(&op, before.z, after.z);
    value.w *= ep_activation_derivative(&op, before.w, after.w);
    ((float4 *)grad)[quad] = value;
  }
  for (int64_t at = QUAD * quads + thread; at < count; at += threads)
    grad[at] *= ep_activation_derivative(&op, x[at], y[at]);
}

/* A thread four neighbours, which one call of Philox decides. */
template <ep_layer_type TYPE>
static __global__ void pointwise_drop(ep_op given, ep_op dropout, int64_t first, int64_t count,
                                      uint64_t seed, const ep_cuda_clock *clock, const float *x,
                                      float *y, float *z) {
  const ep_op op = activation_of<TYPE>(given);
  kernels_overlap();
  const int64_t step = clock->epoch * clock->steps_per_epoch + clock->batch;
  const int64_t quads = (first + count + QUAD - 1) / QUAD;
  const float scale = ep_dropout_scale(dropout.p);
  for (int64_t quad = first / QUAD + (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
       quad += (int64_t)gridDim.x * THREADS) {
    const ep_random4 words = ep_dropout_words(seed, step, dropout.layer, quad);
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      const int64_t at = QUAD * quad + i - first;
      if (at < 0 || at >= count) continue;
      const float value = ep_activation(&op, x[at]);
      if (z != y) y[at] = value;
      z[at] = ep_dropout_word_keeps(words.word[i], dropout.p) ? scale * value : 0;
    }
  }
}

/* 32 columns a block, a line of threads a row; blockIdx.y is the slice of the rows. */
template <ep_layer_type TYPE, bool drops>
static __global__ void columns_undo(ep_op given, ep_op dropout, int64_t first, int64_t rows,
                                    uint64_t seed, const ep_cuda_clock *clock, const float *x,
                                    const float *y, float *grad, float *sums) {
  const ep_op op = activation_of<TYPE>(given);
  kernels_overlap();
  __shared__ float of_line[LINES][WARP];
  const int64_t columns = op.out_features, column = (int64_t)blockIdx.x * WARP + threadIdx.x;
  const int64_t step = drops ? clock->current : 0;
  const float scale = drops ? ep_dropout_scale(dropout.p) : 1;
  float sum = 0;
  int64_t from, end;
  slice_rows(rows, blockIdx.y, gridDim.y, &from, &end);
  if (column < columns)
#pragma unroll 4
    for (int64_t row = from + threadIdx.y; row < end; row += LINES) {
      const int64_t at = row * columns + column;
      float value = grad[at];
      if (drops) {
        const bool keeps = ep_dropout_keeps(seed, step, dropout.layer,
                                            (first + row) * columns + column, dropout.p);
        value = keeps ? scale * value : 0;
      }
      value *= ep_activation_derivative(&op, x[at], y[at]);
      grad[at] = value;
      sum += value;
    }
  of_line[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns || !sums) return;
  for (int line = 1; line < LINES; line++) sum += of_line[line][threadIdx.x];
  sums[blockIdx.y * columns + column] = sum;
}

/* The greatest of a block's values, in every thread; fmaxf passes over NaN, which the sums of
 * exponentials that follow bring back. */
static __device__ float block_max(float value) {
  __shared__ float of_warp[WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(ALL_LANES, value, distance));
  __syncthreads(); /* of_warp may still be read for an earlier row */
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  for (int i = 0; i < (int)(blockDim.x / WARP); i++) value = fmaxf(value, of_warp[i]);
  return value;
}

/* The same sum in every thread. */
static __device__ float block_sum_for_all(float value) {
  __shared__ float all;
  float sum = ep_cuda_block_sum(value);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

static __global__ void softmax_forward(bool logarithm, int64_t rows, int64_t columns,
                                       const float *x, float *y) {
  kernels_overlap();
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float *from = x + row * columns;
    float *to = y + row * columns;
    float greatest = -INFINITY, sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) greatest = fmaxf(greatest, from[i]);
    greatest = block_max(greatest);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(from[i] - greatest);
    sum = block_sum_for_all(sum);
    float log_sum = logf(sum);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
      to[i] = logarithm ? from[i] - greatest - log_sum : expf(from[i] - greatest) / sum;
  }
}

/* softmax: grad_x = y (grad - sum(grad y)); log_softmax: grad_x = grad - e^y sum(grad). */
static __global__ void softmax_backward(bool logarithm, int64_t rows, int64_t columns,
                                        const float *y, float *grad) {
  kernels_overlap();
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float *of = y + row * columns;
    float *g = grad + row * columns;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
      sum += logarithm ? g[i] : g[i] * of[i];
    sum = block_sum_for_all(sum);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
      g[i] = logarithm ? g[i] - expf(of[i]) * sum : of[i] * (g[i] - sum);
  }
}

static bool is_pointwise(ep_layer_type type) {
  return type != EP_LAYER_SOFTMAX && type != EP_LAYER_LOG_SOFTMAX;
}

/* Threads for a row: enough warps for its columns. */
static unsigned int row_threads(int64_t columns) {
  int64_t threads = (columns + WARP - 1) / WARP * WARP;
  return (unsigned int)(threads < THREADS ? threads : (int64_t)THREADS);
}

cudaError_t ep_cuda_activation_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                       const float *x, float *y) {
  int64_t columns = op->out_features, count = rows * columns;
  const int64_t quads = quads_of(count, x, y, y);
  if (is_pointwise(op->type))
    activation_choose(op->type, [&](auto type) {
      ep_cuda_queue(stream, pointwise_blocks(quads, count), THREADS, 0,
                    pointwise_forward<decltype(type)::value>, *op, quads, count, x, y);
    });
  else
    ep_cuda_queue(stream, ep_cuda_blocks(rows, 1), row_threads(columns), 0, softmax_forward,
                  op->type == EP_LAYER_LOG_SOFTMAX, rows, columns, x, y);
  return cudaGetLastError();
}

cudaError_t ep_cuda_activation_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                        const float *x, const float *y, float *grad) {
  int64_t columns = op->out_features, count = rows * columns;
  const float *asked = ep_activation_knows_by_output(op->type) ? y : x; /* one is read */
  const int64_t quads = quads_of(count, asked, grad, grad);
  if (is_pointwise(op->type))
    activation_choose(op->type, [&](auto type) {
      ep_cuda_queue(stream, pointwise_blocks(quads, count), THREADS, 0,
                    pointwise_backward<decltype(type)::value>, *op, quads, count, asked, asked,
                    grad);
    });
  else
    ep_cuda_queue(stream, ep_cuda_blocks(rows, 1), row_threads(columns), 0, softmax_backward,
                  op->type == EP_LAYER_LOG_SOFTMAX, rows, columns, y, grad);
  return cudaGetLastError();
}

static cudaError_t row_forward(const ep_cuda_call *call) {
  return ep_cuda_activation_forward(call->stream, call->op, call->rows, call->x[0], call->y);
}

static cudaError_t row_backward(const ep_cuda_call *call) {
  return ep_cuda_activation_backward(call->stream, call->op, call->rows, call->x[0], call->y,
                                     call->grad);
}

EP_CUDA_OPERATOR(SOFTMAX, row_forward, row_backward, IN_PLACE, NULL, NULL);
EP_CUDA_OPERATOR(LOG_SOFTMAX, row_forward, row_backward, IN_PLACE, NULL, NULL);

cudaError_t ep_cuda_activation_drop(cudaStream_t stream, const ep_op *op, const ep_op *dropout,
                                    int64_t first, int64_t rows, uint64_t seed,
                                    const ep_cuda_clock *clock, const float *x, float *y,
                                    float *z) {
  const int64_t columns = op->out_features, count = rows * columns;
  activation_choose(op->type, [&](auto type) {
    ep_cuda_queue(stream, ep_cuda_blocks(count + QUAD, THREADS * QUAD), THREADS, 0,
                  pointwise_drop<decltype(type)::value>, *op, *dropout, first * columns, count,
                  seed, clock, x, y, z);
  });
  return cudaGetLastError();
}

cudaError_t ep_cuda_activation_undo(cudaStream_t stream, const ep_op *op, const ep_op *dropout,
                                    int64_t first, int64_t rows, uint64_t seed,
                                    const ep_cuda_clock *clock, const float *x, const float *y,
                                    float *grad, int slices, float *sums) {
  const dim3 grid(ep_cuda_blocks(op->out_features, WARP), (unsigned int)slices), block(WARP, LINES);
  activation_choose(op->type, [&](auto type) {
    constexpr ep_layer_type TYPE = decltype(type)::value;
    if (dropout)
      ep_cuda_queue(stream, grid, block, 0, columns_undo<TYPE, true>, *op, *dropout, first, rows,
                    seed, clock, x, y, grad, sums);
    else
      ep_cuda_queue(stream, grid, block, 0, columns_undo<TYPE, false>, *op, *op, first, rows, seed,
                    clock, x, y, grad, sums);
  });
  return cudaGetLastError();
}

static __global__ void add(int64_t quads, int64_t count, const float *a, const float *b,
                           float *sum) {
  kernels_overlap();
  const int64_t threads = (int64_t)gridDim.x * THREADS;
  const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  for (int64_t quad = thread; quad < quads; quad += threads) {
    const float4 left = ((const float4 *)a)[quad], right = ((const float4 *)b)[quad];
    ((float4 *)sum)[quad] = {left.x + right.x, left.y + right.y, left.z + right.z,
                             left.w + right.w};
  }
  for (int64_t at = QUAD * quads + thread; at < count; at += threads) sum[at] = a[at] + b[at];
}

cudaError_t ep_cuda_add(cudaStream_t stream, int64_t count, const float *a, const float *b,
                        float *sum) {
  const int64_t quads = quads_of(count, a, b, sum);
  ep_cuda_queue(stream, pointwise_blocks(quads, count), THREADS, 0, add, quads, count, a, b, sum);
  return cudaGetLastError();
}
