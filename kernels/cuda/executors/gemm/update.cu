/* The update that ends a step, and the copies of the parameters that it leaves for the next, in
 * bfloat16 or rounded to TF32: each parameter, its gradient and its state are read and written
 * once. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/executors/gemm/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = 256, TOGETHER = 2, FEW = 4, SLICES_TOGETHER = 32 };
static_assert(EP_GEMM_UPDATE_FEWEST == 4 * THREADS, "a thread has a float4, or some more");
static_assert((int)EP_GEMM_UPDATE_SLICED == (int)THREADS, "then it has one, and its slices");

/* This block's tensor: the last that begins at or before it. */
static __device__ const ep_gemm_tensor *tensor_of(const ep_gemm_update &update) {
  const int lane = threadIdx.x % WARP;
  int begun = 0; /* tensors; a warp looks at WARP of them at once */
  for (int base = 0; base < update.count; base += WARP) {
    const int i = base + lane;
    const bool begins = i < update.count && update.tensors[i].first_block <= blockIdx.x;
    begun += __popc(__ballot_sync(ALL_LANES, begins));
  }
  return &update.tensors[begun - 1];
}

enum { SLOTS_MAX = 3 };

/* The optimizer, as far as it is known when the kernel is compiled. */
template <ep_optimizer_type TYPE>
static __device__ ep_optimizer optimizer_of(const ep_gemm_update &update) {
  ep_optimizer optimizer = update.optimizer;
  optimizer.type = TYPE;
  return optimizer;
}

/* N neighbours' state: those from place on. */
template <int N>
static __device__ void state_read(const ep_gemm_update &update, int slots, int64_t place,
                                  float (&state)[SLOTS_MAX][N]) {
#pragma unroll
  for (int slot = 0; slot < SLOTS_MAX; slot++) {
    if (slot >= slots) break;
    const float *from = update.state + slot * update.state_stride + place;
    if (N == 4 && update.state_stride % 4 == 0)
      load<N>(from, state[slot]);
    else
#pragma unroll
      for (int n = 0; n < N; n++) state[slot][n] = from[n];
  }
}

/* The new values of N neighbours and of their state, the first `at` in the tensor. */
template <ep_optimizer_type TYPE, int N>
static __device__ void neighbours_step(const ep_gemm_update &update, const ep_gemm_tensor &of,
                                       const ep_optimizer_step &now, int64_t at,
                                       float (&state)[SLOTS_MAX][N], const float (&grad)[N],
                                       float (&value)[N]) {
  const ep_optimizer optimizer = optimizer_of<TYPE>(update);
  const int slots = (int)ep_optimizer_slots(&optimizer);
#pragma unroll
  for (int n = 0; n < N; n++) {
    float own[SLOTS_MAX];
#pragma unroll
    for (int slot = 0; slot < SLOTS_MAX; slot++)
      if (slot < slots) own[slot] = state[slot][n];
    value[n] = ep_optimizer_update(&optimizer, &now, of.weight_decay, value[n],
                                   ep_clip(&optimizer, 1, grad[n]), own, 1);
#pragma unroll
    for (int slot = 0; slot < SLOTS_MAX; slot++)
      if (slot < slots) state[slot][n] = own[slot];
  }
#pragma unroll
  for (int slot = 0; slot < SLOTS_MAX; slot++) {
    if (slot >= slots) break;
    float *to = update.state + slot * update.state_stride + of.first + at;
    if (N == 4 && update.state_stride % 4 == 0)
      store<N>(to, state[slot]);
    else
#pragma unroll
      for (int n = 0; n < N; n++) to[n] = state[slot][n];
  }
}

/* N neighbours of a copy. */
template <int N>
static __device__ void copy_write(const ep_gemm_update &update, const ep_gemm_tensor &of,
                                  int64_t at, const float (&values)[N]) {
  if (update.half) return store<N>((half_number *)of.copy + at, values);
  float rounded[N];
  for (int i = 0; i < N; i++) rounded[i] = tf32_rounded(values[i]);
  store<N>((float *)of.copy + at, rounded);
}

/* Rows without gaps, all on 16 bytes: a thread has a few groups of four neighbours, THREADS groups
 * apart. All that is read for TOGETHER of them, before anything is written. */
template <bool trains, ep_optimizer_type TYPE>
static __device__ void fours(const ep_gemm_update &update, const ep_gemm_tensor &of,
                             const ep_optimizer_step &now, int64_t first, int64_t end) {
  const ep_optimizer optimizer = optimizer_of<TYPE>(update);
  const int slots = trains ? (int)ep_optimizer_slots(&optimizer) : 0;
  for (; first < end; first += 4 * TOGETHER * THREADS) {
    float value[TOGETHER][4], grad[TOGETHER][4], state[TOGETHER][SLOTS_MAX][4];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      const int64_t at = first + 4 * i * THREADS;
      if (at >= end) break;
      load<4>(update.parameters + of.first + at, value[i]);
      if (trains) load<4>(of.gradient + at, grad[i]);
      if (trains) state_read<4>(update, slots, of.first + at, state[i]);
    }
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      const int64_t at = first + 4 * i * THREADS;
      if (at >= end) break;
      if (trains) {
        neighbours_step<TYPE, 4>(update, of, now, at, state[i], grad[i], value[i]);
        store<4>(update.parameters + of.first + at, value[i]);
      }
      if (of.copy) copy_write(update, of, at, value[i]);
    }
  }
}

/* Where number `at` of a tensor without gaps is in one with its pitch. */
static __device__ int64_t padded_of(const ep_gemm_tensor &of, int64_t at) {
  if (of.columns == of.pitch) return at;
  const bool small = at >> 32 == 0 && of.columns >> 32 == 0; /* 64 bits divide slowly */
  const int64_t row = small ? (uint32_t)at / (uint32_t)of.columns : at / of.columns;
  return at + row * (of.pitch - of.columns);
}

/* The slices of one gradient, in their order; some are read before any is added. */
static __device__ float slices_sum(const ep_gemm_tensor &of, const float *from) {
  float sum = 0;
  for (int first = 0; first < of.slices; first += SLICES_TOGETHER) {
    float part[SLICES_TOGETHER];
#pragma unroll
    for (int i = 0; i < SLICES_TOGETHER; i++)
      part[i] = first + i < of.slices ? from[(first + i) * of.stride] : 0.0f;
#pragma unroll
    for (int i = 0; i < SLICES_TOGETHER; i++) sum += part[i];
  }
  return sum;
}

/* Any tensor: a thread's parameters are a block's width apart, from `at` on. All that is read for a
 * few of them, before anything is written. sliced: the gradient is, and a thread has one. */
template <bool trains, ep_optimizer_type TYPE, bool sliced>
static __device__ void apart(const ep_gemm_update &update, const ep_gemm_tensor &of,
                             const ep_optimizer_step &now, int64_t at, int64_t end) {
  const ep_optimizer optimizer = optimizer_of<TYPE>(update);
  const int slots = trains ? (int)ep_optimizer_slots(&optimizer) : 0;
  constexpr int few = sliced ? 1 : FEW;
  float value[few][1], grad[few][1], state[few][SLOTS_MAX][1];
#pragma unroll
  for (int i = 0; i < few; i++) {
    const int64_t mine = at + i * THREADS;
    if (mine >= end) break;
    value[i][0] = update.parameters[of.first + mine];
    if (!trains) continue;
    const float *from = of.gradient + padded_of(of, mine);
    state_read<1>(update, slots, of.first + mine, state[i]);
    grad[i][0] = sliced ? slices_sum(of, from) : *from;
  }
#pragma unroll
  for (int i = 0; i < few; i++) {
    const int64_t mine = at + i * THREADS;
    if (mine >= end) break;
    if (trains) {
      neighbours_step<TYPE, 1>(update, of, now, mine, state[i], grad[i], value[i]);
      update.parameters[of.first + mine] = value[i][0];
    }
    if (of.copy) copy_write(update, of, padded_of(of, mine), value[i]);
  }
}

template <bool trains, ep_optimizer_type TYPE>
static __global__ void __launch_bounds__(THREADS) step(ep_gemm_update update) {
  ep_optimizer_step now = {};
  if (trains) now = update.clock->update;
  const ep_gemm_tensor of = *tensor_of(update);
  bool copies = of.copy && (of.moved || !trains);
  if (!copies && !(trains && of.gradient)) return;
  const bool sliced = of.slices > 1;
  const int64_t each = sliced ? EP_GEMM_UPDATE_SLICED : update.each;
  const int64_t count = of.rows * of.columns, base = (blockIdx.x - of.first_block) * each;
  const int64_t end = base + each < count ? base + each : count;
  bool whole = of.columns == of.pitch && of.first % 4 == 0 && count % 4 == 0 && !sliced;
  if (whole && copies)
    fours<false, TYPE>(update, of, now, base + 4 * threadIdx.x, end);
  else if (whole)
    fours<trains, TYPE>(update, of, now, base + 4 * threadIdx.x, end);
  if (whole) return;
  const int64_t own = base + threadIdx.x;
  if (sliced && !copies) return apart<trains, TYPE, true>(update, of, now, own, end);
  for (int64_t at = own; at < end; at += FEW * THREADS)
    if (copies)
      apart<false, TYPE, false>(update, of, now, at, end);
    else
      apart<trains, TYPE, false>(update, of, now, at, end);
}

static __global__ void scale(const ep_cuda_clock *clock, int count, const float *decay,
                             float *scales) {
  float lr = clock->update.lr;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    scales[2 * i] = -lr;
    scales[2 * i + 1] = 1 - lr * decay[i];
  }
}

cudaError_t ep_gemm_scale(cudaStream_t stream, const ep_cuda_clock *clock, int count,
                          const float *decay, float *scales) {
  scale<<<1, WARP, 0, stream>>>(clock, count, decay, scales);
  return cudaGetLastError();
}

#define STEP_LAUNCH(code, ...)                                                \
  case EP_OPTIMIZER_##code:                                                   \
    step<true, EP_OPTIMIZER_##code><<<blocks, THREADS, 0, stream>>>(*update); \
    break;

cudaError_t ep_gemm_update_step(cudaStream_t stream, const ep_gemm_update *update) {
  const unsigned int blocks = (unsigned int)update->step_blocks;
  if (blocks == 0) return cudaSuccess; /* the products have moved all there is */
  switch (update->optimizer.type) {
    EP_OPTIMIZERS(STEP_LAUNCH)
  case EP_OPTIMIZER_COUNT: break;
  }
  return cudaGetLastError();
}

cudaError_t ep_gemm_copy(cudaStream_t stream, const ep_gemm_update *update) {
  step<false, EP_OPTIMIZER_SGD><<<(unsigned int)update->blocks, THREADS, 0, stream>>>(*update);
  return cudaGetLastError();
}
