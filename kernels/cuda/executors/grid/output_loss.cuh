/* output_loss.cuh: the loss of a row of outputs, for cuda/grid, and the last layer when it is wide.
 */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_OUTPUT_LOSS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_OUTPUT_LOSS_CUH

#include "kernels/cuda/executors/grid/layers.cuh"

/* The least power of two that is no less: of lanes that have an output. The others have nothing to
 * add. */
static __device__ __forceinline__ int lanes_of(int outputs) {
  return outputs > 1 ? 1 << (WARP - __clz(outputs - 1)) : 1;
}

/* warp_sum() where only the first `lanes` have something, for them. Rounds that few outputs do not
 * need would be waited for by all threads of the block. */
static __device__ __forceinline__ float first_lanes_sum(float value, int lanes) {
#pragma unroll 1
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(ALL_LANES, value, distance);
  return value;
}

/* The index of the first of a warp's numbers below `count` in the order of ep_argmax_precedes, for
 * the first `lanes`. */
static __device__ __forceinline__ int lanes_greatest(float value, int count, int lanes,
                                                     float &greatest) {
  int index = threadIdx.x % WARP;
  if (index >= count) index = WARP;
#pragma unroll 1
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(ALL_LANES, value, distance);
    int other_index = __shfl_xor_sync(ALL_LANES, index, distance);
    bool takes = index == WARP || ep_argmax_precedes(other, other_index, value, index);
    if (other_index != WARP && takes) {
      value = other;
      index = other_index;
    }
  }
  greatest = value;
  return index;
}

/* What row_grad asks of the training set, fetched ahead: the class, in all lanes, or an output's.
 */
static __device__ __forceinline__ float row_target(const now &n, int row) {
  const args &s = args_of();
  int column = s.takes_classes ? 0 : (int)threadIdx.x % WARP;
  return column < s.targets ? s.y[row_of(n, row) * s.targets + column] : 0;
}

/* Of row `row` of the batch: the gradient by output `lane` of the last layer, before its
 * activation; z: that output; target: row_target's. Every lane of a warp calls; the row's loss and
 * errors are written. */
static __device__ __noinline__ float row_grad(int row, float z, float target) {
  const now n = now_of();
  const args &s = args_of();
  const layer of = s.layers[s.layers_count - 1];
  int lane = threadIdx.x % WARP, lanes = lanes_of(of.out);
  bool mine = lane < of.out;
  activated a = activate(of, z);
  float value = 0, misses = 0, grad = 0;
  if (s.takes_classes) {
    int label = __float_as_int(target);
    float greatest;
    misses = lanes_greatest(a.y, of.out, lanes, greatest) != label;
    if (ep_loss_normalizes((ep_loss_type)s.loss_type)) {
      float power = mine ? expf(a.y - greatest) : 0, sum = first_lanes_sum(power, lanes);
      float t = lane == label ? 1 : 0;
      if (s.label_smoothing != 0) /* a quotient of 0 takes a GPU long */
        t = ep_class_target(s.label_smoothing, of.out, label, 1.0f, lane, 1.0f);
      ep_row_scales scales = {1, 1};
      if (ep_loss_is_scaled((ep_loss_type)s.loss_type))
        scales = ep_class_scales((ep_loss_type)s.loss_type,
                                 __shfl_sync(ALL_LANES, a.y, label) - greatest - logf(sum),
                                 s.loss_parameter);
      value = scales.value *
              first_lanes_sum(mine && t != 0 ? t * (logf(sum) + greatest - a.y) : 0, lanes);
      grad = n.scale * scales.grad * (power / sum - t);
    } else {
      value = -__shfl_sync(ALL_LANES, a.y, label);
      grad = lane == label ? -n.scale : 0.0f;
    }
  } else {
    float y = target;
    ep_loss_type type = (ep_loss_type)s.loss_type;
    value = first_lanes_sum(mine ? ep_loss_value(type, a.y, y, s.loss_parameter) : 0, lanes);
    misses = first_lanes_sum(mine ? (float)ep_loss_misses(type, a.y, y) : 0, lanes);
    grad = n.scale * ep_loss_derivative(type, a.y, y, s.loss_parameter);
  }
  if (lane == 0) {
    n.scratch[s.rows + row] = value;
    n.scratch[s.rows + s.batch_rows + row] = misses;
  }
  return mine ? grad * a.slope : 0;
}

/* The same for the cross entropy of classes right behind the layer, in line and with next to no
 * branches: instructions that a block executes once a step come from far, and all its threads wait
 * for these. */
static __device__ __forceinline__ float class_grad(const now &n, int row, int outputs, float z,
                                                   int label) {
  const args &s = args_of();
  const int lane = threadIdx.x % WARP, lanes = lanes_of(outputs);
  const bool mine = lane < outputs, right = mine && lane == label;
  float greatest = mine ? z : -INFINITY;
#pragma unroll 1
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    greatest = fmaxf(greatest, __shfl_xor_sync(ALL_LANES, greatest, distance));
  float power = mine ? expf(z - greatest) : 0, sum = first_lanes_sum(power, lanes);
  float grad = n.scale * (power / sum - (right ? 1.0f : 0.0f));
  float value = first_lanes_sum(right ? logf(sum) + greatest - z : 0, lanes);
  unsigned first =
      __ballot_sync(ALL_LANES, mine && isnan(z)); /* ep_argmax_precedes: NaN comes first */
  unsigned most = __ballot_sync(ALL_LANES, mine && z == greatest);
  if (first == 0) first = most;
  if (lane == 0) {
    n.scratch[s.rows + row] = value;
    n.scratch[s.rows + s.batch_rows + row] = __ffs((int)first) - 1 == label ? 0 : 1;
  }
  return mine ? grad : 0;
}

/* What warps add up of a row, and the gradient by its outputs. */
struct head_sums {
  float of_warp[WARPS][EP_GRID_OUTPUTS_MAX], grads[EP_GRID_OUTPUTS_MAX];
};

static __device__ __forceinline__ head_sums &head_sums_of() {
  __shared__ head_sums sums;
  return sums;
}

/* One warp: the gradient by a row's outputs, when all warps' sums are there. */
static __device__ __forceinline__ void head_grad(const now &n, const layer &of, int row, float bias,
                                                 float target) {
  const args &s = args_of();
  head_sums &sums = head_sums_of();
  const int lane = threadIdx.x % WARP;
  float z = bias;
  if (lane < of.out)
    for (int w = 0; w < WARPS; w++) z += sums.of_warp[w][lane];
  bool plain = s.takes_classes && s.loss_type == EP_LOSS_CROSS_ENTROPY && s.label_smoothing == 0 &&
               of.activation < 0;
  float grad =
      plain ? class_grad(n, row, of.out, z, __float_as_int(target)) : row_grad(row, z, target);
  sums.grads[lane] = grad;
  if (lane < of.stride) n.scratch[of.grad + (long long)row * of.stride + lane] = grad;
}

/* A warp's sums for two outputs, from its threads'. */
static __device__ __forceinline__ void head_sums_put(const layer &of, int j, float (&sum)[2]) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    sum[i] = warp_sum(sum[i]);
    if (lane == 0 && j + i < of.out) head_sums_of().of_warp[warp][j + i] = sum[i];
  }
}

/* The wide last layer, the loss, and the gradient by the layer's input: a row a block. Weights and
 * the row's target depend on nobody: they are fetched before the layer's input is awaited, which
 * comes to shared memory with its slopes. A thread has the same columns of all, and so waits for
 * its own copies alone. In short loops: the instructions of a step come from far, too. */
static __device__ __noinline__ void head(int awaits) {
  constexpr int WIDE = 4 * THREADS;
  const args &s = args_of();
  const now n = now_of();
  const layer of = s.layers[s.layers_count - 1], before = s.layers[s.layers_count - 2];
  matrix weights = weights_of(of);
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = 4 * threadIdx.x;
  int line = (of.in + 3) / 4 * 4;
  bool has_row = (int)blockIdx.x < n.rows, copies = has_row && (of.out + 2) * line <= EP_GRID_AREA;
  float bias = of.bias >= 0 && lane < of.out ? s.parameters[of.bias + lane] : 0, target = 0;
  float *area = block_memory + s.area_at, *row_x = area + of.out * line, *row_slopes = row_x + line;
  if (copies) {
#pragma unroll 1
    for (int j = 0; j < of.out; j++)
#pragma unroll 1
      for (int k = column; k < of.in; k += WIDE)
        cp_async_16(area + j * line + k, weights.at + j * weights.stride + k, true);
    weights.at = area, weights.stride = line;
  }
  if (warp == 0 && has_row) target = row_target(n, blockIdx.x);
  meeting_await(awaits);
#pragma unroll 1
  for (int row = blockIdx.x; row < n.rows; row += s.workers) {
    const float *x = n.scratch + before.after + (long long)row * before.stride;
    float *to = n.scratch + before.grad + (long long)row * before.stride;
    const float *slopes = to;
    if (copies) {
#pragma unroll 1
      for (int k = column; k < of.in; k += WIDE) {
        cp_async_16(row_x + k, x + k, true);
        cp_async_16(row_slopes + k, to + k, true);
      }
      x = row_x, slopes = row_slopes;
    }
    if (warp == 0 && row != (int)blockIdx.x) target = row_target(n, row);
    cp_async_wait_all();
#pragma unroll 1
    for (int j = 0; j < of.out; j += 2) {
      const float *first = weights.at + j * weights.stride,
                  *second = first + (j + 1 < of.out ? weights.stride : 0);
      float sum[2] = {0, 0};
#pragma unroll 1
      for (int k = column; k < of.in; k += WIDE) {
        four of_x = four_of(x + k), w0 = four_of(first + k), w1 = four_of(second + k);
#pragma unroll
        for (int e = 0; e < 4; e++) {
          sum[0] = fmaf(w0.of[e], of_x.of[e], sum[0]);
          sum[1] = fmaf(w1.of[e], of_x.of[e], sum[1]);
        }
      }
      head_sums_put(of, j, sum);
    }
    __syncthreads();
    if (warp == 0) head_grad(n, of, row, bias, target);
    __syncthreads();
#pragma unroll 1
    for (int k = column; k < of.in; k += WIDE) {
      four sum = {{0, 0, 0, 0}}, slope = four_of(slopes + k);
#pragma unroll 1
      for (int j = 0; j < of.out; j++) {
        four w = four_of(weights.at + j * weights.stride + k);
#pragma unroll
        for (int e = 0; e < 4; e++) sum.of[e] = fmaf(w.of[e], head_sums_of().grads[j], sum.of[e]);
      }
#pragma unroll
      for (int e = 0; e < 4; e++) sum.of[e] *= slope.of[e];
      four_store(to + k, sum);
    }
  }
}

/* The same, where the layer before the last left its sums in parts (forward_leave): a block adds up
 * a row's, in the order of the splits. A thread has four columns of ROUNDS times 4 * THREADS, whose
 * outputs stay in registers from the sums to the gradient. */
template <int ROUNDS> static __device__ __noinline__ void head_of_parts(int awaits) {
  constexpr int WIDE = 4 * THREADS, IN = ROUNDS * WIDE, RUN = EP_GRID_PARTS / ROUNDS;
  constexpr int M = EP_GRID_WIDE_M, PART = M * EP_GRID_LARGE_N;
  static_assert(WIDE % M == 0, "whole tiles");
  const args &s = args_of();
  const now n = now_of();
  const layer of = s.layers[s.layers_count - 1], before = s.layers[s.layers_count - 2];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, column = 4 * threadIdx.x;
  const int splits = before.forward.splits;
  float *area = block_memory + s.area_at + column;
  const float *weights = s.parameters + of.weight + column;
  if ((int)blockIdx.x < n.rows)
#pragma unroll 1
    for (int k = 0; k < of.out * IN; k += WIDE) cp_async_16(area + k, weights + k, true);
  four add[ROUNDS];
#pragma unroll
  for (int r = 0; r < ROUNDS; r++) {
    add[r] = {{0, 0, 0, 0}};
    if (before.bias >= 0) add[r] = four_of(s.parameters + before.bias + column + r * WIDE);
  }
  float bias = 0, target = 0;
  if (warp == 0 && (int)blockIdx.x < n.rows) {
    if (of.bias >= 0 && lane < of.out) bias = s.parameters[of.bias + lane];
    target = row_target(n, blockIdx.x);
  }
  meeting_await(awaits);
#pragma unroll 1
  for (int row = blockIdx.x; row < n.rows; row += s.workers) {
    const float *from = n.scratch + s.partials + column / M * splits * PART + row * M + column % M;
    four x[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) x[r] = {{0, 0, 0, 0}};
#pragma unroll 1
    for (int split = 0; split < splits; split += RUN) {
      four part[ROUNDS][RUN];
#pragma unroll
      for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int p = 0; p < RUN; p++)
          part[r][p] = four_there(from + r * (WIDE / M) * splits * PART + p * PART);
#pragma unroll
      for (int r = 0; r < ROUNDS; r++)
#pragma unroll
        for (int p = 0; p < RUN; p++)
#pragma unroll
          for (int e = 0; e < 4; e++) x[r].of[e] += part[r][p].of[e];
      from += RUN * PART;
    }
    if (warp == 0 && row != (int)blockIdx.x) target = row_target(n, row);
    float *after = n.scratch + before.after + (long long)row * IN + column;
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll
      for (int e = 0; e < 4; e++) x[r].of[e] = ep_relu(x[r].of[e] + add[r].of[e]);
      four_store(after + r * WIDE, x[r]);
    }
    cp_async_wait_all();
#pragma unroll 1
    for (int j = 0; j < of.out; j += 2) {
      const float *first = area + j * IN, *second = first + (j + 1 < of.out ? IN : 0);
      float sum[2] = {0, 0};
#pragma unroll
      for (int r = 0; r < ROUNDS; r++) {
        four w0 = four_of(first + r * WIDE), w1 = four_of(second + r * WIDE);
#pragma unroll
        for (int e = 0; e < 4; e++) {
          sum[0] = fmaf(w0.of[e], x[r].of[e], sum[0]);
          sum[1] = fmaf(w1.of[e], x[r].of[e], sum[1]);
        }
      }
      head_sums_put(of, j, sum);
    }
    __syncthreads();
    if (warp == 0) head_grad(n, of, row, bias, target);
    __syncthreads();
    four grad[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) grad[r] = {{0, 0, 0, 0}};
#pragma unroll 1
    for (int j = 0; j < of.out; j++) {
      const float by_output = head_sums_of().grads[j];
#pragma unroll
      for (int r = 0; r < ROUNDS; r++) {
        four w = four_of(area + j * IN + r * WIDE);
#pragma unroll
        for (int e = 0; e < 4; e++) grad[r].of[e] = fmaf(w.of[e], by_output, grad[r].of[e]);
      }
    }
    float *to = n.scratch + before.grad + (long long)row * IN + column;
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll
      for (int e = 0; e < 4; e++) grad[r].of[e] *= ep_relu_derivative(x[r].of[e]);
      four_store(to + r * WIDE, grad[r]);
    }
  }
}

/* Of the sizes that plan.c leaves in parts. */
static __device__ __forceinline__ void head_run(int awaits) {
  const args &s = args_of();
  const layer &before = s.layers[s.layers_count - 2];
  if (!WARPGROUPS || !before.forward.left_in_parts)
    head(awaits);
  else if (before.out == 4 * 4 * THREADS)
    head_of_parts<4>(awaits);
  else
    head_of_parts<2>(awaits);
}

#endif
