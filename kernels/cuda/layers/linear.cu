/* Linear layers with so few inputs, outputs or rows that a tiled matrix product has nothing to
 * tile. Each output has one owner (a thread or a warp) that sums in a fixed order. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/activations.h"

enum { THREADS = 256, WARPS = THREADS / WARP, THREAD_SUMS_AT_MOST = 32 };

static __device__ void output_write(const ep_cuda_linear_forward &linear, int64_t at, float value) {
  if (linear.output) linear.output[at] = value;
  if (linear.activated) linear.activated[at] = ep_activation(&linear.activation, value);
}

/* A thread an output: for few inputs. */
static __global__ void forward_by_thread(ep_cuda_linear_forward linear) {
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < linear.rows * linear.out;
       at += stride) {
    int64_t row = at / linear.out, o = at % linear.out;
    const float *x = linear.x + row * linear.in, *weight = linear.weight + o * linear.in;
    float sum = linear.bias ? linear.bias[o] : 0;
#pragma unroll 8
    for (int64_t i = 0; i < linear.in; i++) sum += x[i] * weight[i];
    output_write(linear, at, sum);
  }
}

/* A warp an output, its lanes along the inputs. */
static __global__ void forward_by_warp(ep_cuda_linear_forward linear) {
  int lane = threadIdx.x % WARP;
  int64_t stride = (int64_t)gridDim.x * WARPS;
  for (int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; at < linear.rows * linear.out;
       at += stride) {
    int64_t row = at / linear.out, o = at % linear.out;
    const float *x = linear.x + row * linear.in, *weight = linear.weight + o * linear.in;
    float sum = 0;
    for (int64_t i = lane; i < linear.in; i += WARP) sum += x[i] * weight[i];
    sum = warp_sum(sum);
    if (lane == 0) output_write(linear, at, linear.bias ? sum + linear.bias[o] : sum);
  }
}

cudaError_t ep_cuda_linear_forward_run(cudaStream_t stream, const ep_cuda_linear_forward *linear) {
  int64_t outputs = linear->rows * linear->out;
  if (linear->in <= THREAD_SUMS_AT_MOST)
    forward_by_thread<<<ep_cuda_blocks(outputs, THREADS), THREADS, 0, stream>>>(*linear);
  else
    forward_by_warp<<<ep_cuda_blocks(outputs, WARPS), THREADS, 0, stream>>>(*linear);
  return cudaGetLastError();
}

/* The share of rows first, first + step … below last in the gradient of one parameter. */
static __device__ float parameter_sum(const ep_cuda_linear_backward &linear, int64_t parameter,
                                      int64_t first, int64_t last, int step) {
  int64_t weights = linear.out * linear.in;
  float sum = 0;
  if (parameter < weights) {
    const float *grad = linear.grad + parameter / linear.in;
    const float *x = linear.x + parameter % linear.in;
#pragma unroll 8
    for (int64_t row = first; row < last; row += step)
      sum += grad[row * linear.out] * x[row * linear.in];
  } else {
    const float *grad = linear.grad + (parameter - weights);
#pragma unroll 8
    for (int64_t row = first; row < last; row += step) sum += grad[row * linear.out];
  }
  return sum;
}

/* A group of threads a parameter and slice: a warp, its lanes along the rows, or one thread, its
 * neighbours at the next parameters. `block` of `blocks`. */
static __device__ void parameters_backward(const ep_cuda_linear_backward &linear, int64_t count,
                                           unsigned int block, unsigned int blocks) {
  int group = linear.by_thread ? 1 : WARP;
  int groups = THREADS / group, place = threadIdx.x % group;
  for (int64_t at = (int64_t)block * groups + threadIdx.x / group; at < count * linear.slices;
       at += (int64_t)blocks * groups) {
    int64_t first, last;
    slice_rows(linear.rows, (int)(at / count), linear.slices, &first, &last);
    float sum = parameter_sum(linear, at % count, first + place, last, group);
    if (!linear.by_thread) sum = warp_sum(sum);
    if (place == 0) linear.gradient[at] = sum;
  }
}

/* A thread an input: neighbours read neighbouring weights. `block` of `blocks`. */
static __device__ void input_backward(const ep_cuda_linear_backward &linear, unsigned int block,
                                      unsigned int blocks) {
  for (int64_t at = (int64_t)block * THREADS + threadIdx.x; at < linear.rows * linear.in;
       at += (int64_t)blocks * THREADS) {
    int64_t row = at / linear.in, i = at % linear.in;
    const float *grad = linear.grad + row * linear.out;
    float sum = 0;
#pragma unroll 8
    for (int64_t o = 0; o < linear.out; o++) sum += grad[o] * linear.weight[o * linear.in + i];
    if (linear.before)
      sum *= ep_activation_derivative(&linear.activation, linear.before[at], linear.x[at]);
    linear.grad_x[at] = sum;
  }
}

/* The first blocks do the parameters, the others the input. */
static __global__ void backward(ep_cuda_linear_backward linear, int64_t count,
                                unsigned int parameter_blocks) {
  if (blockIdx.x < parameter_blocks)
    parameters_backward(linear, count, blockIdx.x, parameter_blocks);
  else
    input_backward(linear, blockIdx.x - parameter_blocks, gridDim.x - parameter_blocks);
}

cudaError_t ep_cuda_linear_backward_run(cudaStream_t stream,
                                        const ep_cuda_linear_backward *linear) {
  int64_t count = linear->out * linear->in + (linear->with_bias ? linear->out : 0);
  unsigned int parameter_blocks = 0;
  if (linear->gradient)
    parameter_blocks = ep_cuda_blocks(count * linear->slices, linear->by_thread ? THREADS : WARPS);
  unsigned int input_blocks =
      linear->grad_x ? ep_cuda_blocks(linear->rows * linear->in, THREADS) : 0;
  backward<<<parameter_blocks + input_blocks, THREADS, 0, stream>>>(*linear, count,
                                                                    parameter_blocks);
  return cudaGetLastError();
}

/* 32 columns a block, 8 rows at a time; blockIdx.y is the slice. */
static __global__ void column_sums(int64_t rows, int64_t columns, const float *grad, float *sums) {
  __shared__ float of_row[WARPS][WARP];
  int lane = threadIdx.x, line = threadIdx.y;
  int64_t first, last;
  slice_rows(rows, blockIdx.y, gridDim.y, &first, &last);
  for (int64_t base = (int64_t)blockIdx.x * WARP; base < columns;
       base += (int64_t)gridDim.x * WARP) {
    int64_t column = base + lane;
    float sum = 0;
    if (column < columns)
      for (int64_t row = first + line; row < last; row += WARPS)
        sum += grad[row * columns + column];
    of_row[line][lane] = sum;
    __syncthreads();
    if (line == 0 && column < columns) {
      for (int other = 1; other < WARPS; other++) sum += of_row[other][lane];
      sums[blockIdx.y * columns + column] = sum;
    }
    __syncthreads();
  }
}

cudaError_t ep_cuda_column_sums(cudaStream_t stream, int64_t rows, int64_t columns,
                                const float *grad, int slices, float *sums) {
  dim3 grid(ep_cuda_blocks(columns, WARP), (unsigned int)slices);
  column_sums<<<grid, dim3(WARP, WARPS), 0, stream>>>(rows, columns, grad, sums);
  return cudaGetLastError();
}
