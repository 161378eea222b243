/* Activations: a thread a number, or, where a row hangs together (softmax, log_softmax), a block a
 * row. */
#include <math.h>

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/activations.h"

enum { THREADS = 256 };

static __global__ void pointwise_forward(ep_op op, int64_t count, const float *x, float *y) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    y[at] = ep_activation(&op, x[at]);
}

static __global__ void pointwise_backward(ep_op op, int64_t count, const float *x, const float *y,
                                          float *grad) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    grad[at] *= ep_activation_derivative(&op, x[at], y[at]);
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
  if (is_pointwise(op->type))
    pointwise_forward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(*op, count, x, y);
  else
    softmax_forward<<<ep_cuda_blocks(rows, 1), row_threads(columns), 0, stream>>>(
        op->type == EP_LAYER_LOG_SOFTMAX, rows, columns, x, y);
  return cudaGetLastError();
}

cudaError_t ep_cuda_activation_backward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                        const float *x, const float *y, float *grad) {
  int64_t columns = op->out_features, count = rows * columns;
  if (is_pointwise(op->type))
    pointwise_backward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(*op, count, x, y,
                                                                               grad);
  else
    softmax_backward<<<ep_cuda_blocks(rows, 1), row_threads(columns), 0, stream>>>(
        op->type == EP_LAYER_LOG_SOFTMAX, rows, columns, y, grad);
  return cudaGetLastError();
}

static __global__ void add(int64_t count, const float *a, const float *b, float *sum) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    sum[at] = a[at] + b[at];
}

cudaError_t ep_cuda_add(cudaStream_t stream, int64_t count, const float *a, const float *b,
                        float *sum) {
  add<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(count, a, b, sum);
  return cudaGetLastError();
}
