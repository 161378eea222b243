/* loss.cuh: the loss of a tile of rows, and the gradient by the last layer's outputs before their
 * activation. A row is taken by a few neighbouring threads. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_LOSS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_LOSS_CUH

#include "kernels/cuda/executors/fused/layers.cuh"

constexpr int ROW_THREADS = THREADS / TILE_ROWS < 16 ? THREADS / TILE_ROWS : 16;
constexpr int COLUMNS_EACH = parts_of(OUT, 2 * ROW_THREADS) * 2;
/* Fours stay fours, and rows begin in different banks. */
constexpr int TARGETS_PITCH = TARGETS % 4 == 0 ? TARGETS + 4 : TARGETS | 1;

/* A thread has pairs of neighbouring columns. */
static __device__ __forceinline__ int column_of(int lane, int i) {
  return (i / 2 * ROW_THREADS + lane) * 2 + i % 2;
}

/* What a thread has seen of a step. */
struct tally {
  float loss;
  int misses;
};

/* The first of a row in the order of ep_argmax_precedes: its index, and its value. */
static __device__ __forceinline__ int row_greatest(const float (&y)[COLUMNS_EACH], int lane,
                                                   float &greatest) {
  int index = OUT;
  greatest = 0;
#pragma unroll
  for (int i = 0; i < COLUMNS_EACH; i++) {
    int column = column_of(lane, i);
    if (column >= OUT) continue;
    if (index == OUT || ep_argmax_precedes(y[i], column, greatest, index))
      greatest = y[i], index = column;
  }
#pragma unroll
  for (int distance = ROW_THREADS / 2; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(ALL_LANES, greatest, distance);
    int its = __shfl_xor_sync(ALL_LANES, index, distance);
    if (its != OUT && (index == OUT || ep_argmax_precedes(other, its, greatest, index)))
      greatest = other, index = its;
  }
  return index;
}

/* grad: the gradient by y, not scaled. Returns this thread's part of the row's loss. */
static __device__ __forceinline__ float class_loss(const args &s, const float (&y)[COLUMNS_EACH],
                                                   int lane, int label, bool &miss,
                                                   float (&grad)[COLUMNS_EACH]) {
  float greatest, value = 0;
  miss = row_greatest(y, lane, greatest) != label;
  if constexpr (ep_loss_normalizes(LOSS)) {
    float power[COLUMNS_EACH], sum = 0;
#pragma unroll
    for (int i = 0; i < COLUMNS_EACH; i++) {
      power[i] = column_of(lane, i) < OUT ? expf(y[i] - greatest) : 0;
      sum += power[i];
    }
    sum = lanes_sum<ROW_THREADS>(sum);
    float log_sum = logf(sum);
    ep_row_scales scales = {1, 1};
    if constexpr (ep_loss_is_scaled(LOSS)) {
      float of_label = 0;
#pragma unroll
      for (int i = 0; i < COLUMNS_EACH; i++)
        if (column_of(lane, i) == label) of_label = y[i];
      of_label = lanes_sum<ROW_THREADS>(of_label);
      scales = ep_class_scales(LOSS, of_label - greatest - log_sum, s.loss_parameter);
    }
#pragma unroll
    for (int i = 0; i < COLUMNS_EACH; i++) {
      int column = column_of(lane, i);
      float t = ep_class_target(s.label_smoothing, OUT, label, 1.0f, column, 1.0f);
      if (column < OUT && t != 0) value += scales.value * t * (log_sum + greatest - y[i]);
      grad[i] = scales.grad * (power[i] / sum - t);
    }
  } else {
#pragma unroll
    for (int i = 0; i < COLUMNS_EACH; i++) {
      bool is = column_of(lane, i) == label;
      if (is) value = -y[i];
      grad[i] = is ? -1.0f : 0.0f;
    }
  }
  return value;
}

/* rows: of the tile, that the batch has. */
static __device__ __noinline__ void loss_run(const args &s, int rows, float scale, tally &seen) {
  constexpr fused_layer LAST = layer(LAYERS - 1);
  constexpr int PITCH = pitch_of(OUT);
  const ep_op activation = activation_of(LAST);
  int row = threadIdx.x / ROW_THREADS, lane = threadIdx.x % ROW_THREADS;
  int read = row < TILE_ROWS ? row : 0; /* there may be more threads than rows need */
  const float *outputs = (const float *)(block_memory + LAST_AT) + read * OUTPUTS_PITCH;
  const float *targets = (const float *)(block_memory + TARGETS_AT) + read * TARGETS_PITCH;
  float y[COLUMNS_EACH], slope[COLUMNS_EACH], grad[COLUMNS_EACH], value = 0;
  int misses = 0;
#pragma unroll
  for (int i = 0; i < COLUMNS_EACH; i++) {
    float z = column_of(lane, i) < padded(OUT) ? outputs[column_of(lane, i)] : 0;
    y[i] = ep_activation(&activation, z);
    slope[i] = ep_activation_derivative(&activation, z, y[i]);
  }
  if constexpr (TAKES_CLASSES) {
    bool miss;
    value = class_loss(s, y, lane, __float_as_int(targets[0]), miss, grad);
    misses = lane == 0 && miss;
  } else {
#pragma unroll
    for (int i = 0; i < COLUMNS_EACH; i++) {
      int column = column_of(lane, i);
      float target = column < OUT ? targets[column] : 0;
      grad[i] = ep_loss_derivative(LOSS, y[i], target, s.loss_parameter);
      if (column >= OUT) continue;
      value += ep_loss_value(LOSS, y[i], target, s.loss_parameter);
      misses += ep_loss_misses(LOSS, y[i], target);
    }
  }
  __syncthreads(); /* the gradients take the outputs' place */
  if (row >= TILE_ROWS) return;
  bool there = row < rows;
  if (there) seen.loss += value, seen.misses += misses;
#pragma unroll
  for (int i = 0; i < parts_of(padded(OUT), 2 * ROW_THREADS) * 2; i += 2) {
    int column = column_of(lane, i);
    if (column >= padded(OUT)) break;
    float pair[2] = {0, 0};
    if (i < COLUMNS_EACH && there) {
      if (column < OUT) pair[0] = scale * grad[i] * slope[i];
      if (column + 1 < OUT) pair[1] = scale * grad[i + 1] * slope[i + 1];
    }
    pair_put(place_of<PITCH>(numbers_at(LAST_AT), row, column), pair[0], pair[1]);
  }
}

#endif
