/* batch_norm, a block a channel, and layer_norm, a block a row. Sums are taken in double: a mean of
 * many numbers, and a variance about it, lose little. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/norms.h"

enum { THREADS = 256 };

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

static __global__ void layer_forward(ep_cuda_norm norm) {
  int64_t columns = norm.op.in_features;
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const float *x = norm.x + row * columns;
    float *y = norm.y + row * columns;
    double sum = 0, square = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += (double)x[i];
    double center = block_sum_for_all(sum) / (double)columns;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      double d = (double)x[i] - center;
      square += d * d;
    }
    float mean = (float)center, variance = (float)(block_sum_for_all(square) / (double)columns);
    float inverse = 1 / sqrtf(variance + norm.op.eps);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      float value = (x[i] - mean) * inverse;
      if (norm.weight) value *= norm.weight[i];
      y[i] = norm.bias ? value + norm.bias[i] : value;
    }
    if (threadIdx.x != 0) continue;
    norm.saved[2 * row] = mean;
    norm.saved[2 * row + 1] = inverse;
  }
}

/* A thread a feature; blockIdx.y is the slice of the rows. */
static __global__ void layer_weights(ep_cuda_norm norm) {
  int64_t columns = norm.op.in_features, count = norm.bias ? 2 * columns : columns;
  int64_t first = norm.rows * blockIdx.y / gridDim.y,
          last = norm.rows * (blockIdx.y + 1) / gridDim.y;
  float *gradient = norm.gradient + blockIdx.y * count;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < columns;
       at += (int64_t)gridDim.x * THREADS) {
    float of_weight = 0, of_bias = 0;
    for (int64_t row = first; row < last; row++) {
      float grad = norm.grad[row * columns + at];
      of_weight +=
          grad * ((norm.x[row * columns + at] - norm.saved[2 * row]) * norm.saved[2 * row + 1]);
      of_bias += grad;
    }
    gradient[at] = of_weight;
    if (norm.bias) gradient[columns + at] = of_bias;
  }
}

static __global__ void layer_backward(ep_cuda_norm norm) {
  int64_t columns = norm.op.in_features;
  for (int64_t row = blockIdx.x; row < norm.rows; row += gridDim.x) {
    const float *x = norm.x + row * columns;
    float *grad = norm.grad + row * columns;
    float mean = norm.saved[2 * row], inverse = norm.saved[2 * row + 1];
    double sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      float g = norm.weight ? grad[i] * norm.weight[i] : grad[i];
      sum += (double)g;
      product += (double)g * (double)((x[i] - mean) * inverse);
    }
    float of_sum = (float)(block_sum_for_all(sum) / (double)columns);
    float of_product = (float)(block_sum_for_all(product) / (double)columns);
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      float g = norm.weight ? grad[i] * norm.weight[i] : grad[i];
      grad[i] = inverse * (g - of_sum - (x[i] - mean) * inverse * of_product);
    }
  }
}

/* --- both ---------------------------------------------------------------------------------- */

static unsigned int row_threads(int64_t columns) {
  int64_t threads = (columns + WARP - 1) / WARP * WARP;
  return (unsigned int)(threads < THREADS ? threads : (int64_t)THREADS);
}

cudaError_t ep_cuda_norm_forward(cudaStream_t stream, const ep_cuda_norm *norm) {
  int64_t count = norm->rows * norm->op.in_features;
  if (norm->op.type == EP_LAYER_LAYER_NORM) {
    layer_forward<<<ep_cuda_blocks(norm->rows, 1), row_threads(norm->op.in_features), 0, stream>>>(
        *norm);
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
      dim3 grid(ep_cuda_blocks(columns, THREADS), (unsigned int)norm->slices);
      layer_weights<<<grid, THREADS, 0, stream>>>(*norm);
      code = cudaGetLastError();
    }
    if (code != cudaSuccess) return code;
    layer_backward<<<ep_cuda_blocks(norm->rows, 1), row_threads(columns), 0, stream>>>(*norm);
    return cudaGetLastError();
  }
  batch_sums<<<(unsigned int)norm->op.in.channels, THREADS, 0, stream>>>(*norm);
  code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  batch_backward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(*norm, count);
  return cudaGetLastError();
}
