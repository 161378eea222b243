/* layer_norm, a warp a row, or a block a wide one. Sums are taken in double: a mean of many
 * numbers, and a variance about it, lose little. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/norms.h"

enum { THREADS = 256, THREADS_MOST = 1024, LINES = THREADS / WARP, WEIGHT_ROWS = 8 };

static __device__ double block_sum_for_all(double value) {
  __shared__ double all;
  double sum = ep_cuda_block_sum(value);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  sum = all;
  __syncthreads();
  return sum;
}

template <int SHARERS>
constexpr int block_threads = SHARERS < (int)THREADS ? (int)THREADS : SHARERS;

/* A warp's row, or a block's where it is wide: SHARERS threads, each of which has up to EACH of its
 * numbers in registers. BLOCKS: of a multiprocessor, at least; 0: as it comes. */
template <int SHARERS> static __device__ double row_sum(double value) {
  return SHARERS == WARP ? warp_sum(value) : block_sum_for_all(value);
}

template <int SHARERS, int EACH> struct row_numbers {
  float of[EACH];

  __device__ void read(const float *from, int64_t columns, int sharer) {
#pragma unroll
    for (int i = 0; i < EACH; i++)
      of[i] = sharer + i * SHARERS < columns ? from[sharer + i * SHARERS] : 0;
  }

  /* Has the compiler convert many numbers again from here on: their doubles, kept, would take twice
   * the registers. */
  __device__ void narrow() {
#pragma unroll
    for (int i = 0; i < (EACH > 16 ? EACH : 0); i++) asm volatile("" : "+f"(of[i]));
  }
};

template <int SHARERS, int EACH, int BLOCKS = 0>
static __global__ void __launch_bounds__(block_threads<SHARERS>, BLOCKS)
    layer_forward(ep_cuda_norm norm) {
  kernels_overlap();
  const int64_t columns = norm.op.in_features;
  const int of_block = block_threads<SHARERS> / SHARERS, rows_at_once = gridDim.x * of_block;
  const int sharer = threadIdx.x % SHARERS;
  for (int64_t row = blockIdx.x * of_block + threadIdx.x / SHARERS; row < norm.rows;
       row += rows_at_once) {
    float *y = norm.y + row * columns;
    row_numbers<SHARERS, EACH> x;
    x.read(norm.x + row * columns, columns, sharer);
    double sum = 0, square = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) sum += (double)x.of[i];
    const double center = row_sum<SHARERS>(sum) / (double)columns;
    x.narrow();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const double d = (double)x.of[i] - center;
      square += sharer + i * SHARERS < columns ? d * d : 0;
    }
    const float mean = (float)center;
    const float variance = (float)(row_sum<SHARERS>(square) / (double)columns);
    const float inverse = 1 / sqrtf(variance + norm.op.eps);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int64_t at = sharer + i * SHARERS;
      if (at >= columns) break;
      float value = (x.of[i] - mean) * inverse;
      if (norm.weight) value *= norm.weight[at];
      y[at] = norm.bias ? value + norm.bias[at] : value;
    }
    if (sharer != 0) continue;
    norm.saved[2 * row] = mean;
    norm.saved[2 * row + 1] = inverse;
  }
}

/* 32 features a block, a line of threads a row, WEIGHT_ROWS rows at once each; blockIdx.y is the
 * slice of the rows. */
static __global__ void layer_weights(ep_cuda_norm norm) {
  kernels_overlap();
  __shared__ float of_line[LINES][2][WARP];
  const int64_t columns = norm.op.in_features, count = norm.bias ? 2 * columns : columns;
  const int64_t at = (int64_t)blockIdx.x * WARP + threadIdx.x;
  int64_t first, last;
  slice_rows(norm.rows, blockIdx.y, gridDim.y, &first, &last);
  float of_weight = 0, of_bias = 0;
  if (at < columns)
    for (int64_t begin = first + threadIdx.y; begin < last; begin += WEIGHT_ROWS * LINES) {
      float grad[WEIGHT_ROWS], normal[WEIGHT_ROWS];
#pragma unroll
      for (int i = 0; i < WEIGHT_ROWS; i++) { /* all loads are on their way before any is used */
        const int64_t row = begin + i * LINES;
        const bool exists = row < last;
        grad[i] = exists ? norm.grad[row * columns + at] : 0;
        normal[i] =
            exists ? (norm.x[row * columns + at] - norm.saved[2 * row]) * norm.saved[2 * row + 1]
                   : 0;
      }
#pragma unroll
      for (int i = 0; i < WEIGHT_ROWS; i++) {
        of_weight += grad[i] * normal[i];
        of_bias += grad[i];
      }
    }
  of_line[threadIdx.y][0][threadIdx.x] = of_weight;
  of_line[threadIdx.y][1][threadIdx.x] = of_bias;
  __syncthreads();
  if (threadIdx.y > 1 || at >= columns || (threadIdx.y == 1 && !norm.bias)) return;
  float sum = 0;
  for (int line = 0; line < LINES; line++) sum += of_line[line][threadIdx.y][threadIdx.x];
  norm.gradient[blockIdx.y * count + threadIdx.y * columns + at] = sum;
}

template <int SHARERS, int EACH, int BLOCKS = 0>
static __global__ void __launch_bounds__(block_threads<SHARERS>, BLOCKS)
    layer_backward(ep_cuda_norm norm) {
  kernels_overlap();
  const int64_t columns = norm.op.in_features;
  const int of_block = block_threads<SHARERS> / SHARERS, rows_at_once = gridDim.x * of_block;
  const int sharer = threadIdx.x % SHARERS;
  for (int64_t row = blockIdx.x * of_block + threadIdx.x / SHARERS; row < norm.rows;
       row += rows_at_once) {
    const float mean = norm.saved[2 * row], inverse = norm.saved[2 * row + 1];
    float *grad = norm.grad + row * columns;
    row_numbers<SHARERS, EACH> x, g;
    x.read(norm.x + row * columns, columns, sharer);
    g.read(grad, columns, sharer);
    double sum = 0, product = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int64_t at = sharer + i * SHARERS;
      if (at < columns && norm.weight) g.of[i] *= norm.weight[at];
      x.of[i] = (x.of[i] - mean) * inverse;
      sum += (double)g.of[i];
      product += (double)g.of[i] * (double)x.of[i];
    }
    const float of_sum = (float)(row_sum<SHARERS>(sum) / (double)columns);
    const float of_product = (float)(row_sum<SHARERS>(product) / (double)columns);
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int64_t at = sharer + i * SHARERS;
      if (at < columns) grad[at] = inverse * (g.of[i] - of_sum - x.of[i] * of_product);
    }
  }
}

/* Rows that are wider than registers can hold: their numbers are read again. */
static __global__ void __launch_bounds__(THREADS_MOST) widest_forward(ep_cuda_norm norm) {
  kernels_overlap();
  int64_t columns = norm.op.in_features;
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const float *x = norm.x + row * columns;
    float *y = norm.y + row * columns;
    double sum = 0, square = 0;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS_MOST) sum += (double)x[i];
    double center = block_sum_for_all(sum) / (double)columns;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS_MOST) {
      double d = (double)x[i] - center;
      square += d * d;
    }
    float mean = (float)center, variance = (float)(block_sum_for_all(square) / (double)columns);
    float inverse = 1 / sqrtf(variance + norm.op.eps);
    for (int64_t i = threadIdx.x; i < columns; i += THREADS_MOST) {
      float value = (x[i] - mean) * inverse;
      if (norm.weight) value *= norm.weight[i];
      y[i] = norm.bias ? value + norm.bias[i] : value;
    }
    if (threadIdx.x != 0) continue;
    norm.saved[2 * row] = mean;
    norm.saved[2 * row + 1] = inverse;
  }
}

static __global__ void __launch_bounds__(THREADS_MOST) widest_backward(ep_cuda_norm norm) {
  kernels_overlap();
  int64_t columns = norm.op.in_features;
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const float *x = norm.x + row * columns;
    float *grad = norm.grad + row * columns;
    float mean = norm.saved[2 * row], inverse = norm.saved[2 * row + 1];
    double sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < columns; i += THREADS_MOST) {
      float g = norm.weight ? grad[i] * norm.weight[i] : grad[i];
      sum += (double)g;
      product += (double)g * (double)((x[i] - mean) * inverse);
    }
    float of_sum = (float)(block_sum_for_all(sum) / (double)columns);
    float of_product = (float)(block_sum_for_all(product) / (double)columns);
    for (int64_t i = threadIdx.x; i < columns; i += THREADS_MOST) {
      float g = norm.weight ? grad[i] * norm.weight[i] : grad[i];
      grad[i] = inverse * (g - of_sum - (x[i] - mean) * inverse * of_product);
    }
  }
}

typedef struct {
  int64_t columns; /* at most */
  void (*forward)(ep_cuda_norm norm);
  void (*backward)(ep_cuda_norm norm);
  unsigned int threads, rows; /* of a block */
} layer_kernels;

/* By the width of a row: as few threads as hold it, so that a multiprocessor has several rows. */
static const layer_kernels kernels_by_width[] = {
    {4 * WARP, layer_forward<WARP, 4>, layer_backward<WARP, 4>, THREADS, THREADS / WARP},
    {16 * WARP, layer_forward<WARP, 16>, layer_backward<WARP, 16>, THREADS, THREADS / WARP},
    {4 * 256, layer_forward<256, 4>, layer_backward<256, 4>, 256, 1},
    {16 * 256, layer_forward<256, 16>, layer_backward<256, 16>, 256, 1},
    {24 * 256, layer_forward<256, 24, 4>, layer_backward<256, 24, 3>, 256, 1},
    {24 * 512, layer_forward<512, 24, 2>, layer_backward<512, 24, 1>, 512, 1},
    {20 * 1024, layer_forward<1024, 20, 1>, layer_backward<1024, 20, 1>, 1024, 1},
    {INT64_MAX, widest_forward, widest_backward, THREADS_MOST, 1}};

static const layer_kernels *layer_kernels_of(const ep_cuda_norm *norm) {
  const layer_kernels *of = kernels_by_width;
  while (of->columns < norm->op.in_features) of++;
  return of;
}

/* --- launches ------------------------------------------------------------------------------ */

cudaError_t ep_cuda_layer_norm_forward(cudaStream_t stream, const ep_cuda_norm *norm) {
  const layer_kernels *of = layer_kernels_of(norm);
  ep_cuda_queue(stream, ep_cuda_blocks(norm->rows, of->rows), of->threads, 0, of->forward, *norm);
  return cudaGetLastError();
}

cudaError_t ep_cuda_layer_norm_backward(cudaStream_t stream, const ep_cuda_norm *norm) {
  cudaError_t code = cudaSuccess;
  if (norm->gradient) {
    dim3 grid(ep_cuda_blocks(norm->op.in_features, WARP), (unsigned int)norm->slices);
    ep_cuda_queue(stream, grid, dim3(WARP, LINES), 0, layer_weights, *norm);
    code = cudaGetLastError();
  }
  if (code != cudaSuccess) return code;
  const layer_kernels *of = layer_kernels_of(norm);
  ep_cuda_queue(stream, ep_cuda_blocks(norm->rows, of->rows), of->threads, 0, of->backward, *norm);
  return cudaGetLastError();
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = ep_cuda_norm_of(call);
  return ep_cuda_layer_norm_forward(call->stream, &norm);
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = ep_cuda_norm_of(call);
  return ep_cuda_layer_norm_backward(call->stream, &norm);
}

static int64_t saved(const ep_op *op, int64_t rows, int64_t batch) {
  (void)op, (void)batch;
  return 2 * rows;
}

static int slices(const ep_op *op, int64_t batch) {
  (void)op;
  return ep_cuda_column_slices(batch);
}

EP_CUDA_OPERATOR(LAYER_NORM, forward_run, backward_run, IN_PLACE, saved, slices);
