/* update.cuh: the end of a step: the sums over the batch of all gradients, each by a group of
 * threads and in a fixed order, and the optimizer's step on them. A unit is what a group takes at a
 * time: 64 parameters of convolutions, a tile of a linear layer, or the loss. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_UPDATE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_UPDATE_CUH

#include "kernels/cuda/executors/cnn/dense.cuh"

constexpr int UNIT = 2 * WARP, TILE_J = 4, TILE_K = WARP;
constexpr int CONV_UNITS = parts_of(CONVOLVED, UNIT);

template <int S> constexpr int linear_units() {
  if constexpr (S >= STAGES) {
    return 0;
  } else {
    constexpr bool IS = stage(S).type == EP_LAYER_LINEAR;
    constexpr int MINE = IS ? parts_of(count_of(stage(S).out), TILE_J) *
                                  parts_of(count_of(stage(S - (S > 0)).out), TILE_K)
                            : 0;
    return MINE + linear_units<S + 1>();
  }
}
constexpr int UNITS = CONV_UNITS + linear_units<0>() + 1;

/* A parameter on its way through the update. */
struct parameter {
  int at;
  float value, decay;
};

static __device__ __forceinline__ parameter parameter_read(const args &s, int at, bool there) {
  parameter p = {at, 0, -1};
  if (there) p.value = s.parameters[at], p.decay = s.decay[at];
  return p;
}

static __device__ __forceinline__ void
parameter_write(const args &s, const ep_optimizer_step &update, const parameter &p, float grad) {
  if (p.decay < 0) return;
  ep_optimizer optimizer = optimizer_of(s.optimizer);
  optimizer.nesterov = NESTEROV;
  optimizer.centered = CENTERED;
  s.parameters[p.at] =
      ep_optimizer_update(&optimizer, &update, p.decay, p.value, ep_clip(&optimizer, 1, grad),
                          s.state + p.at, PARAMETERS);
}

/* Parameters UNIT * unit … of the convolutions. */
static __device__ __forceinline__ void conv_update(const worker &w, const ep_optimizer_step &update,
                                                   int rows, int unit) {
  int lane = w.thread % WARP, warp = w.thread / WARP, workers = min(rows, WORKERS);
  int at = unit * UNIT + w.thread;
  parameter p = parameter_read(w.s, at, w.thread < UNIT && at < CONVOLVED);
  float *sums = w.m + REDUCTION;
  float2 sum = {0, 0};
  if (unit * UNIT + 2 * lane < vectors_of(CONVOLVED)) {
    const float *from = w.s.partials + unit * UNIT + 2 * lane;
    constexpr int AT_ONCE = 13; /* two turns for 200 rows */
#pragma unroll 1
    for (int first = warp; first < workers; first += AT_ONCE * WARPS) {
      float2 two[AT_ONCE];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) {
        int row = first + i * WARPS;
        two[i] = row < workers ? *(const float2 *)(from + (long long)row * vectors_of(CONVOLVED))
                               : make_float2(0, 0);
      }
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) sum.x += two[i].x, sum.y += two[i].y;
    }
  }
  *(float2 *)(sums + warp * UNIT + 2 * lane) = sum;
  group_wait(w);
  if (w.thread < UNIT) {
    float grad = 0;
#pragma unroll
    for (int i = 0; i < WARPS; i++) grad += sums[i * UNIT + w.thread];
    parameter_write(w.s, update, p, grad);
  }
  group_wait(w);
}

/* Outputs j0 … of inputs k0 … of stage S, with the biases when k0 is 0. */
template <int S>
static __device__ __forceinline__ void tile_update(const worker &w, const ep_optimizer_step &update,
                                                   int rows, int unit) {
  using L = linear<S>;
  constexpr int TILES_K = parts_of(L::K, TILE_K), TILE = TILE_J * TILE_K;
  int lane = w.thread % WARP, warp = w.thread / WARP;
  int j0 = unit / TILES_K * TILE_J, k0 = unit % TILES_K * TILE_K;
  int j = j0 + w.thread / TILE_K, k = k0 + w.thread % TILE_K;
  bool is_bias = w.thread >= TILE;
  if (is_bias) j = j0 + w.thread - TILE;
  bool there =
      j < L::J && (is_bias ? L::A.bias >= 0 && k0 == 0 && w.thread < TILE + TILE_J : k < L::K);
  parameter p = parameter_read(w.s, is_bias ? L::A.bias + j : L::A.weight + j * L::K + k, there);
  float sum[TILE_J], bias[TILE_J];
#pragma unroll
  for (int i = 0; i < TILE_J; i++) sum[i] = bias[i] = 0;
  const float *g = w.s.linear + L::A.g + j0;
  const float *x = w.s.linear + L::A.x + min(k0 + lane, L::K - 1);
  constexpr int AT_ONCE = 9; /* three turns for 200 rows */
#pragma unroll 1
  for (int first = warp; first < rows; first += AT_ONCE * WARPS) {
    float number[AT_ONCE];
    float4 four[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int row = first + i * WARPS;
      bool is = row < rows;
      number[i] = is ? x[(long long)row * L::X_PITCH] : 0;
      four[i] = is ? *(const float4 *)(g + (long long)row * L::G_PITCH) : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const float grad[TILE_J] = {four[i].x, four[i].y, four[i].z, four[i].w};
#pragma unroll
      for (int j = 0; j < TILE_J; j++) {
        sum[j] = fmaf(grad[j], number[i], sum[j]);
        bias[j] += grad[j];
      }
    }
  }
  float *sums = w.m + REDUCTION + warp * (TILE + TILE_J);
#pragma unroll
  for (int i = 0; i < TILE_J; i++) {
    sums[i * TILE_K + lane] = sum[i];
    if (lane == 0) sums[TILE + i] = bias[i];
  }
  group_wait(w);
  if (there) {
    float grad = 0;
#pragma unroll
    for (int i = 0; i < WARPS; i++) grad += w.m[REDUCTION + i * (TILE + TILE_J) + w.thread];
    parameter_write(w.s, update, p, grad);
  }
  group_wait(w);
}

template <int S>
static __device__ __forceinline__ void
linear_update(const worker &w, const ep_optimizer_step &update, int rows, int unit) {
  if constexpr (S < STAGES) {
    if constexpr (stage(S).type == EP_LAYER_LINEAR) {
      constexpr int MINE = linear_units<S>() - linear_units<S + 1>();
      if (unit < MINE)
        tile_update<S>(w, update, rows, unit);
      else
        linear_update<S + 1>(w, update, rows, unit - MINE);
    } else {
      linear_update<S + 1>(w, update, rows, unit);
    }
  }
}

/* What the step came to, by one warp. */
static __device__ __forceinline__ void loss_update(const worker &w, long long at, int rows) {
  if (w.thread >= WARP) return;
  int workers = min(rows, WORKERS), misses = 0;
  double sum = 0;
#pragma unroll 1
  for (int i = w.thread; i < workers; i += WARP) {
    sum += w.s.losses[i];
    misses += w.s.misses[i];
  }
  sum = warp_sum(sum);
  misses = __reduce_add_sync(ALL_LANES, misses);
  if (w.thread != 0) return;
  w.s.loss[at] = (float)(sum / (double)((long long)rows * (TAKES_CLASSES ? 1 : OUT)));
  w.s.errors[at] = misses;
}

/* `at`: the step, counted from the start of the segment, of `rows` rows; the worker's clock has
 * gone on to the next. */
static __device__ __forceinline__ void step_update(const worker &w, long long at, int rows) {
  const ep_optimizer_step update = update_of(w.s, at);
#pragma unroll 1
  for (int unit = w.index; unit < UNITS; unit += WORKERS) {
    if (unit < CONV_UNITS)
      conv_update(w, update, rows, unit);
    else if (unit < UNITS - 1)
      linear_update<0>(w, update, rows, unit - CONV_UNITS);
    else
      loss_update(w, at, rows);
  }
}

#endif
