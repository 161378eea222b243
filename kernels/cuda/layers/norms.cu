/* batch_norm, a block a channel, and layer_norm, a warp a row, or a block a wide one. Sums are
 * taken in double: a mean of many numbers, and a variance about it, lose little. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/norms.h"

enum {
  THREADS = 256,
  THREADS_MOST = 1024,
  LINES = THREADS / WARP,
  COLUMN_LINES = 32,
  WEIGHT_ROWS = 8
};

static __device__ double block_sum_for_all(double value) {
  __shared__ double all;
  double sum = ep_cuda_block_sum(value);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  sum = all;
  __syncthreads();
  return sum;
}

/* --- batch_norm ---------------------------------------------------------------------------- */

/* Number `i` of a channel: rows * pixels of them. */
static __device__ int64_t place_of(int64_t i, int64_t channel, int64_t channels, int64_t pixels) {
  return pixels == 1 ? i * channels + channel
                     : (i / pixels * channels + channel) * pixels + i % pixels;
}

/* Training: the batch's mean and 1 / deviation of each channel into saved, and into the running
 * ones. Evaluation: the running ones into saved. */
static __global__ void batch_statistics(ep_cuda_norm norm) {
  int64_t channel = blockIdx.x, channels = norm.op.in.channels;
  int64_t pixels = norm.op.in.height * norm.op.in.width, count = norm.rows * pixels;
  float mean, variance;
  if (norm.training) {
    double sum = 0, square = 0;
    for (int64_t i = threadIdx.x; i < count; i += THREADS)
      sum += (double)norm.x[place_of(i, channel, channels, pixels)];
    double center = block_sum_for_all(sum) / (double)count;
    for (int64_t i = threadIdx.x; i < count; i += THREADS) {
      double d = (double)norm.x[place_of(i, channel, channels, pixels)] - center;
      square += d * d;
    }
    mean = (float)center;
    variance = (float)(block_sum_for_all(square) / (double)count);
  } else {
    mean = norm.running[channel];
    variance = norm.running[channels + channel];
  }
  if (threadIdx.x != 0) return;
  norm.saved[channel] = mean;
  norm.saved[channels + channel] = 1 / sqrtf(variance + norm.op.eps);
  if (!norm.training || !norm.running) return;
  float *running = norm.running + channel, momentum = norm.op.momentum;
  running[0] = ep_running_mean(running[0], mean, momentum);
  running[channels] = ep_running_variance(running[channels], variance, count, momentum);
}

/* --- batch_norm of vectors: 32 features a block, a warp's lanes side by side ---------------- */

/* The sums over a block's lines of each lane's column, in all lines, in a fixed order. */
static __device__ double lines_sum(double value) {
  __shared__ double of_line[COLUMN_LINES][WARP + 1];
  __syncthreads(); /* it may still be read by an earlier call */
  of_line[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll 8
  for (int line = 0; line < COLUMN_LINES; line++) sum += of_line[line][threadIdx.x];
  return sum;
}

/* Training: statistics and outputs in one. */
static __global__ void __launch_bounds__(COLUMN_LINES *WARP) columns_forward(ep_cuda_norm norm) {
  const int64_t channels = norm.op.in.channels;
  const int64_t channel = (int64_t)blockIdx.x * WARP + threadIdx.x;
  const bool exists = channel < channels;
  double sum = 0, square = 0;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES)
      sum += (double)norm.x[row * channels + channel];
  const double center = lines_sum(sum) / (double)norm.rows;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
      const double d = (double)norm.x[row * channels + channel] - center;
      square += d * d;
    }
  const float mean = (float)center;
  const float variance = (float)(lines_sum(square) / (double)norm.rows);
  const float inverse = 1 / sqrtf(variance + norm.op.eps);
  if (!exists) return;
  const float weight = norm.weight ? norm.weight[channel] : 1;
  const float bias = norm.bias ? norm.bias[channel] : 0;
#pragma unroll 4
  for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
    const float value = (norm.x[row * channels + channel] - mean) * inverse * weight;
    norm.y[row * channels + channel] = norm.bias ? value + bias : value;
  }
  if (threadIdx.y != 0) return;
  norm.saved[channel] = mean;
  norm.saved[channels + channel] = inverse;
  if (!norm.running) return;
  float *running = norm.running + channel, momentum = norm.op.momentum;
  running[0] = ep_running_mean(running[0], mean, momentum);
  running[channels] = ep_running_variance(running[channels], variance, norm.rows, momentum);
}

/* Both sums, and the gradient by the input. */
static __global__ void __launch_bounds__(COLUMN_LINES *WARP) columns_backward(ep_cuda_norm norm) {
  const int64_t channels = norm.op.in.channels;
  const int64_t channel = (int64_t)blockIdx.x * WARP + threadIdx.x;
  const bool exists = channel < channels;
  const float mean = exists ? norm.saved[channel] : 0;
  const float inverse = exists ? norm.saved[channels + channel] : 0;
  double sum = 0, product = 0;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
      const int64_t at = row * channels + channel;
      sum += (double)norm.grad[at];
      product += (double)norm.grad[at] * (double)((norm.x[at] - mean) * inverse);
    }
  sum = lines_sum(sum);
  product = lines_sum(product);
  if (!exists) return;
  if (threadIdx.y == 0 && norm.gradient) {
    norm.gradient[channel] = (float)product;
    if (norm.bias) norm.gradient[channels + channel] = (float)sum;
  }
  const float of_sum = (float)(sum / (double)norm.rows);
  const float of_product = (float)(product / (double)norm.rows);
  const float scale = norm.weight ? norm.weight[channel] * inverse : inverse;
#pragma unroll 4
  for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
    const int64_t at = row * channels + channel;
    const float normal = (norm.x[at] - mean) * inverse;
    norm.grad[at] = scale * (norm.grad[at] - of_sum - normal * of_product);
  }
}

/* Of many rows, or of few channels, a block a channel reads more, and is faster for all that. */
static bool has_columns(const ep_cuda_norm *norm) {
  const int64_t rows_most = 64 * COLUMN_LINES, channels_least = 16 * WARP;
  return norm->op.in.height * norm->op.in.width == 1 && norm->training && norm->rows <= rows_most &&
         norm->op.in.channels >= channels_least;
}

static unsigned int column_blocks(const ep_cuda_norm *norm) {
  return ep_cuda_blocks(norm->op.in.channels, WARP);
}

static __global__ void batch_forward(ep_cuda_norm norm, int64_t count) {
  int64_t channels = norm.op.in.channels, pixels = norm.op.in.height * norm.op.in.width;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS) {
    int64_t channel = at / pixels % channels;
    float value = (norm.x[at] - norm.saved[channel]) * norm.saved[channels + channel];
    if (norm.weight) value *= norm.weight[channel];
    norm.y[at] = norm.bias ? value + norm.bias[channel] : value;
  }
}

/* The sums of grad and of grad times the normalized number: the parameters' gradient, and, over
 * their count, what is taken off each number's. */
static __global__ void batch_sums(ep_cuda_norm norm) {
  int64_t channel = blockIdx.x, channels = norm.op.in.channels;
  int64_t pixels = norm.op.in.height * norm.op.in.width, count = norm.rows * pixels;
  float mean = norm.saved[channel], inverse = norm.saved[channels + channel];
  double sum = 0, product = 0;
  for (int64_t i = threadIdx.x; i < count; i += THREADS) {
    int64_t at = place_of(i, channel, channels, pixels);
    sum += (double)norm.grad[at];
    product += (double)norm.grad[at] * (double)((norm.x[at] - mean) * inverse);
  }
  sum = block_sum_for_all(sum);
  product = block_sum_for_all(product);
  if (threadIdx.x != 0) return;
  norm.sums[channel] = (float)(sum / (double)count);
  norm.sums[channels + channel] = (float)(product / (double)count);
  if (!norm.gradient) return;
  norm.gradient[channel] = (float)product;
  if (norm.bias) norm.gradient[channels + channel] = (float)sum;
}

static __global__ void batch_backward(ep_cuda_norm norm, int64_t count) {
  int64_t channels = norm.op.in.channels, pixels = norm.op.in.height * norm.op.in.width;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS) {
    int64_t channel = at / pixels % channels;
    float inverse = norm.saved[channels + channel];
    float normal = (norm.x[at] - norm.saved[channel]) * inverse;
    float scale = norm.weight ? norm.weight[channel] * inverse : inverse;
    norm.grad[at] =
        scale * (norm.grad[at] - norm.sums[channel] - normal * norm.sums[channels + channel]);
  }
}

/* --- layer_norm ---------------------------------------------------------------------------- */

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

/* --- both ---------------------------------------------------------------------------------- */

cudaError_t ep_cuda_norm_forward(cudaStream_t stream, const ep_cuda_norm *norm) {
  int64_t count = norm->rows * norm->op.in_features;
  if (norm->op.type == EP_LAYER_LAYER_NORM) {
    const layer_kernels *of = layer_kernels_of(norm);
    of->forward<<<ep_cuda_blocks(norm->rows, of->rows), of->threads, 0, stream>>>(*norm);
    return cudaGetLastError();
  }
  if (has_columns(norm)) {
    columns_forward<<<column_blocks(norm), dim3(WARP, COLUMN_LINES), 0, stream>>>(*norm);
    return cudaGetLastError();
  }
  batch_statistics<<<(unsigned int)norm->op.in.channels, THREADS, 0, stream>>>(*norm);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  batch_forward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(*norm, count);
  return cudaGetLastError();
}

cudaError_t ep_cuda_norm_backward(cudaStream_t stream, const ep_cuda_norm *norm) {
  int64_t columns = norm->op.in_features, count = norm->rows * columns;
  cudaError_t code = cudaSuccess;
  if (norm->op.type == EP_LAYER_LAYER_NORM) {
    if (norm->gradient) {
      dim3 grid(ep_cuda_blocks(columns, WARP), (unsigned int)norm->slices);
      layer_weights<<<grid, dim3(WARP, LINES), 0, stream>>>(*norm);
      code = cudaGetLastError();
    }
    if (code != cudaSuccess) return code;
    const layer_kernels *of = layer_kernels_of(norm);
    of->backward<<<ep_cuda_blocks(norm->rows, of->rows), of->threads, 0, stream>>>(*norm);
    return cudaGetLastError();
  }
  if (has_columns(norm)) {
    columns_backward<<<column_blocks(norm), dim3(WARP, COLUMN_LINES), 0, stream>>>(*norm);
    return cudaGetLastError();
  }
  batch_sums<<<(unsigned int)norm->op.in.channels, THREADS, 0, stream>>>(*norm);
  code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  batch_backward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(*norm, count);
  return cudaGetLastError();
}

/* --- rows ---------------------------------------------------------------------------------- */

static ep_cuda_norm norm_of(const ep_cuda_call *call) {
  ep_cuda_norm norm = {.op = *call->op,
                       .rows = call->rows,
                       .training = call->training,
                       .x = call->x[0],
                       .weight = call->weight,
                       .bias = call->bias,
                       .y = call->y,
                       .saved = call->saved,
                       .running = call->running,
                       .grad = call->grad,
                       .gradient = call->gradient,
                       .sums = call->saved + 2 * call->op->in.channels, /* batch_norm's */
                       .slices = call->slices};
  return norm;
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = norm_of(call);
  return ep_cuda_norm_forward(call->stream, &norm);
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = norm_of(call);
  return ep_cuda_norm_backward(call->stream, &norm);
}

/* The statistics, and the sums of the way back. */
static int64_t batch_saved(const ep_op *op, int64_t rows, int64_t batch) {
  (void)rows, (void)batch;
  return 4 * op->in.channels;
}

static int64_t layer_saved(const ep_op *op, int64_t rows, int64_t batch) {
  (void)op, (void)batch;
  return 2 * rows;
}

static int layer_slices(const ep_op *op, int64_t batch) {
  (void)op;
  return ep_cuda_column_slices(batch);
}

EP_CUDA_OPERATOR(BATCH_NORM, forward_run, backward_run, IN_PLACE, batch_saved, NULL);
EP_CUDA_OPERATOR(LAYER_NORM, forward_run, backward_run, IN_PLACE, layer_saved, layer_slices);
