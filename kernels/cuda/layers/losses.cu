/* Losses: the value, the gradient by the output and the errors in one pass. The last block to
 * finish adds the others' partial sums in their order, so that the sum does not depend on which
 * block that was. A step waits for this kernel, so what it waits for is short: a block's last warp
 * moves the clock on, whose powers take long, while the others compute. */
#include <limits.h>
#include <math.h>

#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/losses.h"

/* A block's warps but for the clock's: of one block of several; of one that is alone, at most. */
enum { WARPS = 8, ALONE_WARPS = 31 };
static_assert((int)EP_CUDA_LOSS_BLOCKS <= WARPS * WARP,
              "the last block takes one partial sum a thread");

/* The sum over a warp of numbers that it fits. All lanes call. */
static __device__ unsigned warp_count(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(ALL_LANES, value);
#else
  return warp_sum(value);
#endif
}

/* Both sums over a block, in thread 0, of what lane 0 of each warp has. All threads call, and meet
 * between two calls. */
static __device__ void block_sums(double *value, int64_t *errors) {
  __shared__ double values[WARP];
  __shared__ int64_t counts[WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  if (lane == 0) values[warp] = *value, counts[warp] = *errors;
  __syncthreads();
  if (warp != 0) return;
  *value = warp_sum(lane < warps ? values[lane] : 0.0);
  *errors = warp_sum(lane < warps ? counts[lane] : (int64_t)0);
}

/* Sums the blocks' shares, which lane 0 of each warp has: the whole in thread 0 of the last block
 * to come here, which returns true. All threads call. */
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
  *value = warp_sum(mine ? __ldcg(&partials->loss[threadIdx.x]) : 0.0);
  *errors = warp_sum(mine ? (int64_t)__ldcg((const long long *)&partials->errors[threadIdx.x])
                          : (int64_t)0);
  block_sums(value, errors);
  if (threadIdx.x == 0) partials->done = 0;
  return threadIdx.x == 0;
}

/* Whether this is the block's last warp. Of a step, it computes what the clock becomes, which
 * finish writes: no block writes the clock before all have read it. */
static __device__ bool clock_warp(const ep_cuda_loss &loss, ep_cuda_clock *next) {
  if (threadIdx.x < blockDim.x - WARP) return false;
  if (threadIdx.x % WARP != 0 || loss.tally) return true;
  ep_cuda_clock now = *loss.clock; /* all at once: one trip to memory, not one a field */
  now.current = now.epoch * now.steps_per_epoch + now.batch;
  now.update = ep_optimizer_step_make(&loss.optimizer, now.lr[now.lr_count == 1 ? 0 : now.step],
                                      now.current + 1);
  now.step++;
  if (++now.batch == now.steps_per_epoch) {
    now.batch = 0;
    now.epoch++;
  }
  *next = now;
  return true;
}

/* Writes what the step came to, of which lane 0 of each warp has a share, and moves the clock on to
 * `next`. mean_of: what the loss is divided by; an evaluation with class weights adds it up. */
static __device__ void finish(const ep_cuda_loss &loss, const ep_cuda_clock &next, double value,
                              int64_t errors, double mean_of) {
  if (!blocks_sum(loss.partials, &value, &errors)) return;
  if (loss.tally) {
    loss.tally->loss += value;
    loss.tally->weight += mean_of;
    loss.tally->errors += errors;
    return;
  }
  next.loss[next.step - 1] = (float)(value / mean_of);
  next.errors[next.step - 1] = (int32_t)errors;
  *loss.clock = next;
}

/* --- numbers ------------------------------------------------------------------------------- */

/* Numbers that a thread reads before it computes with one. */
enum { EACH = 4 };

/* One output against one target. */
template <ep_loss_type TYPE>
static __global__ void __launch_bounds__((ALONE_WARPS + 1) * WARP, 1) pointwise(ep_cuda_loss loss) {
  kernels_overlap();
  __shared__ ep_cuda_clock next;
  const int64_t count = loss.rows * loss.columns, threads = blockDim.x - WARP;
  const int64_t stride = gridDim.x * threads * EACH;
  const float scale = 1.0f / (float)(loss.mean_rows > 0 ? loss.mean_rows * loss.columns : count);
  const float *y = (const float *)loss.y;
  double value = 0;
  unsigned errors = 0;
  if (!clock_warp(loss, &next))
    for (int64_t at = blockIdx.x * threads * EACH + threadIdx.x; at < count; at += stride) {
      float output[EACH], target[EACH];
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        if (at + i * threads >= count) break;
        output[i] = loss.output[at + i * threads];
        target[i] = y[at + i * threads];
      }
#pragma unroll
      for (int i = 0; i < EACH; i++) {
        if (at + i * threads >= count) break;
        value += (double)ep_loss_value(TYPE, output[i], target[i], loss.loss_parameter);
        errors += ep_loss_misses(TYPE, output[i], target[i]);
        if (loss.grad)
          loss.grad[at + i * threads] =
              scale * ep_loss_derivative(TYPE, output[i], target[i], loss.loss_parameter);
      }
    }
  finish(loss, next, warp_sum(value), warp_count(errors), (double)count);
}

/* --- classes ------------------------------------------------------------------------------- */

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

/* A row of outputs by LANES neighbouring lanes: a lane has the columns lane, lane + LANES …, HELD
 * of them at most, in registers, or, where HELD is 0, any number, in memory. */
template <int LANES, int HELD> struct row_part {
  static constexpr int most = HELD > 0 ? HELD : INT_MAX, unrolled = HELD > 0 ? HELD : 4;
  const float *output;
  int lane, columns;
  float held[unrolled];
  float powers[unrolled]; /* e^(z - the greatest z) */
};

template <int LANES, int HELD>
static __device__ __forceinline__ row_part<LANES, HELD> row_read(const ep_cuda_loss &loss,
                                                                 int64_t row) {
  row_part<LANES, HELD> of;
  of.output = loss.output + row * loss.columns;
  of.lane = threadIdx.x % LANES;
  of.columns = (int)loss.columns;
#pragma unroll
  for (int k = 0; k < HELD; k++) {
    const int i = of.lane + k * LANES;
    of.held[k] = i < of.columns ? of.output[i] : 0.0f;
  }
  return of;
}

/* Number k of a lane's outputs. */
template <int LANES, int HELD>
static __device__ __forceinline__ float row_at(const row_part<LANES, HELD> &of, int k) {
  return HELD > 0 ? of.held[k % of.unrolled] : of.output[of.lane + k * LANES];
}

/* The output of the row's class, in every lane. */
template <int LANES, int HELD>
static __device__ __forceinline__ float row_own(const row_part<LANES, HELD> &of, int target) {
  if (HELD == 0) return of.output[target];
  float own = 0;
#pragma unroll
  for (int k = 0; k < HELD; k++)
    if (of.lane + k * LANES == target) own = of.held[k];
  return __shfl_sync(ALL_LANES, own, target % LANES, LANES);
}

/* Whether argmax is another class than the row's, in every lane: another output comes first. */
template <int LANES, int HELD>
static __device__ __forceinline__ bool row_misses(const row_part<LANES, HELD> &of, int target,
                                                  float own) {
  bool precedes = false;
#pragma unroll(of.unrolled)
  for (int k = 0; k < of.most; k++) {
    const int i = of.lane + k * LANES;
    if (i >= of.columns) break;
    precedes |= ep_argmax_precedes(row_at(of, k), i, own, target);
  }
  const unsigned found = __ballot_sync(ALL_LANES, precedes);
  return (found >> (threadIdx.x % WARP - of.lane) & ALL_LANES >> (WARP - LANES)) != 0;
}

/* The greatest output that is a number, in every lane: of NaN, the sum of the powers tells. */
template <int LANES, int HELD>
static __device__ __forceinline__ float row_greatest(const row_part<LANES, HELD> &of) {
  float greatest = -INFINITY;
#pragma unroll(of.unrolled)
  for (int k = 0; k < of.most; k++) {
    if (of.lane + k * LANES >= of.columns) break;
    greatest = fmaxf(greatest, row_at(of, k));
  }
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    greatest = fmaxf(greatest, __shfl_xor_sync(ALL_LANES, greatest, distance));
  return greatest;
}

/* cross_entropy of a row, or a loss that scales it: the value in every lane, and, when asked for,
 * the gradient. */
template <int LANES, int HELD>
static __device__ __forceinline__ float entropy_row(const ep_cuda_loss &loss,
                                                    row_part<LANES, HELD> &of, int target,
                                                    float own, float scale, float *grad) {
  const float weight = ep_class_weight(loss.class_weights, target);
  const float greatest = row_greatest(of);
  float sum = 0, value = 0;
#pragma unroll(of.unrolled)
  for (int k = 0; k < of.most; k++) {
    if (of.lane + k * LANES >= of.columns) break;
    const float power = expf(row_at(of, k) - greatest);
    if (HELD > 0) of.powers[k % of.unrolled] = power;
    sum += power;
  }
  sum = lanes_sum<LANES>(sum);
  const float log_sum = logf(sum);
  const ep_row_scales scales =
      ep_class_scales(loss.type, own - greatest - log_sum, loss.loss_parameter);
  const float targets = (1 - loss.label_smoothing) * weight +
                        loss.label_smoothing / (float)loss.columns * (float)loss.class_weights_sum;
  const float share = targets / sum, slope = scale * scales.grad;
#pragma unroll(of.unrolled)
  for (int k = 0; k < of.most; k++) {
    const int i = of.lane + k * LANES;
    if (i >= of.columns) break;
    const float output = row_at(of, k);
    const float power = HELD > 0 ? of.powers[k % of.unrolled] : expf(output - greatest);
    const float t = ep_class_target(loss.label_smoothing, loss.columns, target, weight, i,
                                    ep_class_weight(loss.class_weights, i));
    if (t != 0) value += t * (log_sum + greatest - output);
    if (grad) grad[i] = slope * (share * power - t);
  }
  return scales.value * lanes_sum<LANES>(value);
}

/* nll of a row, as above. */
template <int LANES, int HELD>
static __device__ __forceinline__ float nll_row(const ep_cuda_loss &loss,
                                                const row_part<LANES, HELD> &of, int target,
                                                float own, float scale, float *grad) {
  const float weight = ep_class_weight(loss.class_weights, target);
  for (int i = of.lane; grad && i < of.columns; i += LANES)
    grad[i] = i == target ? -scale * weight : 0.0f;
  return -weight * own;
}

/* The warps of a block that has all rows alone: it is slower than several that wait for each other
 * where its warps have many numbers a lane. */
static constexpr int alone_warps(int held) {
  const int turns = 128;
  return held * ALONE_WARPS <= turns ? ALONE_WARPS : turns / held;
}
static_assert(alone_warps(4) == ALONE_WARPS && alone_warps(16) >= WARPS, "both kinds of blocks");

/* Rows of outputs against their classes: a warp has WARP / LANES at once. */
template <int LANES, int HELD>
static __global__ void __launch_bounds__((alone_warps(HELD) + 1) * WARP, 1)
    classes(ep_cuda_loss loss) {
  kernels_overlap();
  __shared__ ep_cuda_clock next;
  constexpr int rows_each = WARP / LANES;
  const int32_t *y = (const int32_t *)loss.y;
  const double mean_of = weights_sum(loss);
  const bool is_clock = clock_warp(loss, &next);
  const int64_t warps = blockDim.x / WARP - 1, stride = gridDim.x * warps * rows_each;
  int64_t first = (blockIdx.x * warps + threadIdx.x / WARP) * rows_each;
  if (is_clock) first = loss.rows; /* it has none */
  double value = 0;
  unsigned errors = 0;
  for (; first < loss.rows; first += stride) { /* all lanes take part, and beyond the last row */
    const int64_t mine = first + threadIdx.x % WARP / LANES;
    const bool in_bounds = mine < loss.rows;
    const int64_t row = in_bounds ? mine : loss.rows - 1;
    row_part<LANES, HELD> of = row_read<LANES, HELD>(loss, row);
    const int target = y[row];
    const float scale = (float)(1 / (loss.mean_rows > 0 ? (double)loss.mean_rows : mean_of));
    float *grad = loss.grad && in_bounds ? loss.grad + row * loss.columns : NULL;
    const float own = row_own(of, target);
    const bool misses = row_misses(of, target, own);
    const float of_row = ep_loss_normalizes(loss.type)
                             ? entropy_row(loss, of, target, own, scale, grad)
                             : nll_row(loss, of, target, own, scale, grad);
    if (!in_bounds || of.lane != 0) continue;
    value += (double)of_row;
    errors += misses;
  }
#pragma unroll
  for (int distance = WARP / 2; distance >= LANES; distance /= 2) { /* the rows' first lanes */
    value += __shfl_xor_sync(ALL_LANES, value, distance);
    errors += __shfl_xor_sync(ALL_LANES, errors, distance);
  }
  finish(loss, next, value, errors, mean_of);
}

/* --- launches ------------------------------------------------------------------------------ */

/* Blocks and threads for the work of `warps`. */
static unsigned int blocks_for(int64_t warps, bool alone, unsigned int *threads) {
  unsigned int blocks = alone ? 1 : ep_cuda_blocks(warps, WARPS);
  *threads = ((alone ? (unsigned int)warps : (unsigned int)WARPS) + 1) * WARP;
  if (blocks > EP_CUDA_LOSS_BLOCKS) blocks = EP_CUDA_LOSS_BLOCKS;
  return blocks;
}

template <int LANES, int HELD>
static void classes_launch(cudaStream_t stream, const ep_cuda_loss *loss) {
  const int64_t rows_each = WARP / LANES, warps = (loss->rows + rows_each - 1) / rows_each;
  unsigned int threads, blocks = blocks_for(warps, warps <= alone_warps(HELD), &threads);
  ep_cuda_queue(stream, blocks, threads, 0, classes<LANES, HELD>, *loss);
}

template <ep_loss_type TYPE>
static void pointwise_launch(cudaStream_t stream, const ep_cuda_loss *loss) {
  const int64_t each = WARP * EACH, warps = (loss->rows * loss->columns + each - 1) / each;
  unsigned int threads, blocks = blocks_for(warps, warps <= ALONE_WARPS, &threads);
  ep_cuda_queue(stream, blocks, threads, 0, pointwise<TYPE>, *loss);
}

#define POINTWISE_LAUNCH(code, ...) \
  case EP_LOSS_##code: pointwise_launch<EP_LOSS_##code>(stream, loss); return cudaGetLastError();

cudaError_t ep_cuda_loss_run(cudaStream_t stream, const ep_cuda_loss *loss) {
  switch (loss->type) {
    EP_ELEMENT_LOSSES(POINTWISE_LAUNCH)
    EP_CLASS_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  if (loss->columns <= 32)
    classes_launch<8, 4>(stream, loss);
  else if (loss->columns <= 64)
    classes_launch<8, 8>(stream, loss);
  else if (loss->columns <= 128)
    classes_launch<8, 16>(stream, loss);
  else
    classes_launch<WARP, 0>(stream, loss);
  return cudaGetLastError();
}
