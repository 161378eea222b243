/* Losses: the value, the gradient by the output and the errors in one pass. The last block to
 * finish adds the others' partial sums in their order, so that the sum does not depend on which
 * block that was. */
#include <math.h>

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/losses.h"

enum { THREADS = 256, ALONE_THREADS = 1024 };
static_assert((int)EP_CUDA_LOSS_BLOCKS <= (int)THREADS,
              "the last block takes one partial sum a thread");

/* Numbers that each thread has, where one block has them all: it waits for no other. */
enum { ALONE_NUMBERS = 4 };

/* Both sums over a block, in thread 0. All threads call. */
static __device__ void block_sums(double *value, int64_t *errors) {
  __shared__ double values[WARP];
  __shared__ int64_t counts[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  double v = warp_sum(*value);
  int64_t e = warp_sum(*errors);
  __syncthreads(); /* both may still be read by an earlier call */
  if (lane == 0) values[warp] = v, counts[warp] = e;
  __syncthreads();
  if (warp != 0) return;
  *value = warp_sum(lane < warps ? values[lane] : 0.0);
  *errors = warp_sum(lane < warps ? counts[lane] : (int64_t)0);
}

/* Sums the blocks' shares: the whole in thread 0 of the last block to come here, which returns
 * true. All threads call. */
static __device__ bool blocks_sum(ep_cuda_partials *partials, double *value, int64_t *errors) {
  __shared__ bool last;
  block_sums(value, errors);
  if (gridDim.x == 1) return threadIdx.x == 0;
  if (threadIdx.x == 0) {
    partials->loss[blockIdx.x] = *value;
    partials->errors[blockIdx.x] = *errors;
    __threadfence();
    last = atomicAdd(&partials->done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return false;
  __threadfence();
  /* Read past the L1 cache, which does not see the other blocks' writes. */
  bool mine = threadIdx.x < gridDim.x;
  *value = mine ? __ldcg(&partials->loss[threadIdx.x]) : 0.0;
  *errors = mine ? (int64_t)__ldcg((const long long *)&partials->errors[threadIdx.x]) : (int64_t)0;
  block_sums(value, errors);
  if (threadIdx.x == 0) partials->done = 0;
  return threadIdx.x == 0;
}

/* Writes what the step came to, and moves the clock on. `mean_of`: what the loss is divided by; an
 * evaluation with class weights adds it up. */
static __device__ void finish(const ep_cuda_loss &loss, double value, int64_t errors,
                              double mean_of) {
  if (!blocks_sum(loss.partials, &value, &errors)) return;
  if (loss.tally) {
    loss.tally->loss += value;
    loss.tally->weight += mean_of;
    loss.tally->errors += errors;
    return;
  }
  ep_cuda_clock now = *loss.clock; /* all at once: one trip to memory, not one a field */
  now.loss[now.step] = (float)(value / mean_of);
  now.errors[now.step] = (int32_t)errors;
  now.current = now.epoch * now.steps_per_epoch + now.batch;
  now.update = ep_optimizer_step_make(&loss.optimizer, now.lr[now.lr_count == 1 ? 0 : now.step],
                                      now.current + 1);
  now.step++;
  if (++now.batch == now.steps_per_epoch) {
    now.batch = 0;
    now.epoch++;
  }
  *loss.clock = now;
}

/* One output against one target: a thread each. */
static __global__ void __launch_bounds__(ALONE_THREADS) pointwise(ep_cuda_loss loss) {
  int64_t count = loss.rows * loss.columns, errors = 0;
  float scale = 1.0f / (float)(loss.mean_rows > 0 ? loss.mean_rows * loss.columns : count);
  double value = 0;
  const float *y = (const float *)loss.y;
  for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * blockDim.x) {
    float output = loss.output[at], target = y[at];
    value += (double)ep_loss_value(loss.type, output, target, loss.loss_parameter);
    errors += ep_loss_misses(loss.type, output, target);
    if (loss.grad)
      loss.grad[at] = scale * ep_loss_derivative(loss.type, output, target, loss.loss_parameter);
  }
  finish(loss, value, errors, (double)count);
}

/* The first of a row in the order of ep_argmax_precedes, over a warp, in every lane: its index, and
 * its value. */
static __device__ int row_argmax(const float *row, int columns, float *first) {
  int lane = threadIdx.x % WARP, index = columns; /* beyond every real one */
  float value = -INFINITY;
  for (int i = lane; i < columns; i += WARP)
    if (index == columns || ep_argmax_precedes(row[i], i, value, index)) {
      value = row[i];
      index = i;
    }
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(ALL_LANES, value, distance);
    int its = __shfl_xor_sync(ALL_LANES, index, distance);
    if (its != columns && (index == columns || ep_argmax_precedes(other, its, value, index))) {
      value = other;
      index = its;
    }
  }
  *first = value;
  return index;
}

/* The class weights of all rows together: each block adds them for itself, in the same order. */
static __device__ double weights_sum(const ep_cuda_loss &loss) {
  __shared__ double all;
  const int32_t *y = (const int32_t *)loss.y;
  double sum = 0;
  if (!loss.class_weights) return (double)loss.rows;
  for (int64_t row = threadIdx.x; row < loss.rows; row += blockDim.x)
    sum += (double)loss.class_weights[y[row]];
  sum = ep_cuda_block_sum(sum);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

/* cross_entropy of a row, or a loss that scales it, over a warp: the value in lane 0, and, when
 * asked for, the gradient. */
static __device__ float entropy_row(const ep_cuda_loss &loss, const float *output, int64_t target,
                                    float greatest, float scale, float *grad) {
  int lane = threadIdx.x % WARP;
  int64_t columns = loss.columns;
  float sum = 0, value = 0, own = ep_class_weight(loss.class_weights, target);
  for (int64_t i = lane; i < columns; i += WARP) sum += expf(output[i] - greatest);
  sum = warp_sum(sum);
  float log_sum = logf(sum);
  ep_row_scales scales =
      ep_class_scales(loss.type, output[target] - greatest - log_sum, loss.loss_parameter);
  float targets = (1 - loss.label_smoothing) * own +
                  loss.label_smoothing / (float)columns * (float)loss.class_weights_sum;
  for (int64_t i = lane; i < columns; i += WARP) {
    float t = ep_class_target(loss.label_smoothing, columns, target, own, i,
                              ep_class_weight(loss.class_weights, i));
    if (t != 0) value += t * (log_sum + greatest - output[i]);
    if (grad) grad[i] = scale * scales.grad * (targets * (expf(output[i] - greatest) / sum) - t);
  }
  return scales.value * warp_sum(value);
}

/* A row of outputs against its class: a warp each. */
static __global__ void __launch_bounds__(ALONE_THREADS) classes(ep_cuda_loss loss) {
  int lane = threadIdx.x % WARP;
  int64_t columns = loss.columns, errors = 0;
  double value = 0, mean_of = weights_sum(loss);
  float scale = (float)(1 / (loss.mean_rows > 0 ? (double)loss.mean_rows : mean_of));
  const int32_t *y = (const int32_t *)loss.y;
  const int warps = blockDim.x / WARP;
  for (int64_t row = (int64_t)blockIdx.x * warps + threadIdx.x / WARP; row < loss.rows;
       row += (int64_t)gridDim.x * warps) {
    const float *output = loss.output + row * columns;
    float *grad = loss.grad ? loss.grad + row * columns : NULL;
    int64_t target = y[row];
    float greatest, of_row;
    int place = row_argmax(output, (int)columns, &greatest);
    if (ep_loss_normalizes(loss.type)) {
      of_row = entropy_row(loss, output, target, greatest, scale, grad);
    } else {
      float weight = ep_class_weight(loss.class_weights, target);
      of_row = -weight * output[target];
      for (int64_t i = lane; grad && i < columns; i += WARP)
        grad[i] = i == target ? -scale * weight : 0.0f;
    }
    if (lane != 0) continue;
    value += (double)of_row;
    errors += place != target;
  }
  finish(loss, value, errors, mean_of);
}

cudaError_t ep_cuda_loss_run(cudaStream_t stream, const ep_cuda_loss *loss) {
  bool by_row = ep_loss_takes_classes(loss->type);
  const int64_t count = loss->rows * loss->columns;
  const bool alone = by_row ? loss->rows <= ALONE_THREADS / WARP
                            : count > THREADS && count <= ALONE_THREADS * ALONE_NUMBERS;
  const unsigned int threads = alone ? ALONE_THREADS : THREADS;
  unsigned int blocks =
      by_row ? ep_cuda_blocks(loss->rows, threads / WARP) : ep_cuda_blocks(count, 4 * threads);
  if (alone) blocks = 1;
  if (blocks > EP_CUDA_LOSS_BLOCKS) blocks = EP_CUDA_LOSS_BLOCKS;
  if (by_row)
    classes<<<blocks, threads, 0, stream>>>(*loss);
  else
    pointwise<<<blocks, threads, 0, stream>>>(*loss);
  return cudaGetLastError();
}
