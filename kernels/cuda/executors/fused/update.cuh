/* update.cuh: the end of a step: the sums of all blocks, in a fixed order, and the optimizer's step
 * on them. Every block owns some quads of the parameters, and keeps them for the whole launch. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_UPDATE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_UPDATE_CUH

#include "kernels/cuda/executors/fused/loss.cuh"

/* Threads that share out the blocks' sums of a quad. */
constexpr int SHARES = THREADS / OWNED < 16 ? THREADS / OWNED : 16;
constexpr int MINE = OWNED * 4; /* numbers that a block owns, with padding */

/* What a block owns, in shared memory. image: where it lies there, in bytes, and 1 for a bias,
 * which is a float; parameter: -1 for padding; decay: negative for what is frozen. */
struct owned {
  float value[MINE], state[SLOTS > 0 ? SLOTS : 1][MINE], decay[MINE];
  int parameter[MINE], image[MINE];
};
static_assert(sizeof(owned) == OWNED_BYTES, "what plan.c reserves");

static __device__ __forceinline__ owned &owned_of() {
  return *(owned *)(block_memory + OWNED_AT);
}

/* Which parameter number `e` of a quad is. */
template <int L>
static __device__ __forceinline__ void number_find(const args &s, int quad, int e, int &parameter,
                                                   int &image, float &decay) {
  if constexpr (L < LAYERS) {
    typedef weights<L> W;
    constexpr fused_layer A = W::A;
    constexpr int TILES_ACROSS = W::INS * 2, PITCH = pitch_of(A.in);
    int i = quad - A.quads;
    if (i >= W::QUADS) {
      number_find<L + 1>(s, quad, e, parameter, image, decay);
      return;
    }
    bool bias = i >= W::TILES * WARP;
    decay = s.decay[L][bias];
    if (bias) {
      int out = (i - W::TILES * WARP) * 4 + e;
      parameter = out < A.out ? A.bias + out : -1;
      image = (A.image + padded(A.out) * PITCH * (int)sizeof(number) + out * 4) | 1;
    } else {
      int tile = i / WARP, lane = i % WARP;
      int out = tile / TILES_ACROSS * 16 + e / 2 * 8 + lane / 4;
      int in = tile % TILES_ACROSS * 8 + lane % 4 * 2 + e % 2;
      parameter = out < A.out && in < A.in ? A.weight + out * A.in + in : -1;
      image = A.image + (out * PITCH + turned<PITCH>(out, in)) * (int)sizeof(number);
    }
  }
}

static __device__ __forceinline__ bool owns(int i) {
  return i < OWNED && (int)blockIdx.x * OWNED + i < QUADS;
}

/* To the image that all blocks fetch. */
static __device__ __forceinline__ void image_put(const args &s, int image, float value) {
  if (image & 1)
    *(float *)(s.image + image - 1) = value;
  else
    number_put((number *)(s.image + image), value);
}

static __device__ __forceinline__ void owned_load(const args &s) {
  owned &o = owned_of();
  for (int i = threadIdx.x; owns(i / 4); i += THREADS) {
    int parameter, image;
    number_find<0>(s, (int)blockIdx.x * OWNED + i / 4, i % 4, parameter, image, o.decay[i]);
    o.parameter[i] = parameter;
    o.image[i] = image;
    if (parameter < 0) continue;
    o.value[i] = s.parameters[parameter];
    for (int slot = 0; slot < SLOTS; slot++)
      o.state[slot][i] = s.state[(long long)slot * PARAMETERS + parameter];
    image_put(s, image, o.value[i]);
  }
}

static __device__ __forceinline__ void owned_store(const args &s) {
  const owned &o = owned_of();
  for (int i = threadIdx.x; owns(i / 4); i += THREADS) {
    if (o.parameter[i] < 0 || o.decay[i] < 0) continue;
    s.parameters[o.parameter[i]] = o.value[i];
    for (int slot = 0; slot < SLOTS; slot++)
      s.state[(long long)slot * PARAMETERS + o.parameter[i]] = o.state[slot][i];
  }
}

/* The sums of the first `workers` blocks for the quads of this one: [SHARES, OWNED] in shared
 * memory. meanwhile(): what all threads do while they come. */
template <class Meanwhile>
static __device__ __forceinline__ void quads_sum(const args &s, int workers, Meanwhile meanwhile) {
  constexpr int AT_ONCE = 16;
  int i = threadIdx.x % OWNED, part = threadIdx.x / OWNED;
  bool mine = part < SHARES && owns(i);
  const float4 *from = (const float4 *)s.partials + (int)blockIdx.x * OWNED + i;
  float4 sum = make_float4(0, 0, 0, 0), quad[AT_ONCE];
  auto load = [&](int first) {
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      int worker = first + k * SHARES;
      quad[k] = mine && worker < workers ? __ldcg(from + (long long)worker * QUADS)
                                         : make_float4(0, 0, 0, 0);
    }
  };
  load(part);
  meanwhile();
#pragma unroll 1
  for (int next = part + AT_ONCE * SHARES;; next += AT_ONCE * SHARES) {
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) sum = quad_sum(sum, quad[k]);
    if (next >= workers) break;
    load(next);
  }
  if (mine) ((float4 *)(block_memory + SUMS_AT))[part * OWNED + i] = sum;
}

static __device__ __forceinline__ void owned_update(const args &s,
                                                    const ep_optimizer_step &update) {
  owned &o = owned_of();
  const float *from = (const float *)(block_memory + SUMS_AT);
  ep_optimizer optimizer = optimizer_of(s.optimizer);
  optimizer.nesterov = NESTEROV;
  optimizer.centered = CENTERED;
  for (int i = threadIdx.x; owns(i / 4); i += THREADS) {
    float sum = from[i], decay = o.decay[i];
#pragma unroll
    for (int part = 1; part < SHARES; part++) sum += from[part * MINE + i];
    if (o.parameter[i] < 0 || decay < 0) continue;
    float value = ep_optimizer_update(&optimizer, &update, decay, o.value[i],
                                      ep_clip(&optimizer, 1, sum), &o.state[0][i], MINE);
    o.value[i] = value;
    image_put(s, o.image[i], value);
  }
}

/* --- the loss -------------------------------------------------------------------------------- */

/* What the block's warps have seen so far. */
static __shared__ float losses_of_warps[WARPS];
static __shared__ int misses_of_warps[WARPS];

static __device__ __forceinline__ void tally_keep(const tally &seen) {
  float loss = warp_sum(seen.loss);
  int misses = __reduce_add_sync(ALL_LANES, seen.misses);
  if (threadIdx.x % WARP != 0) return;
  losses_of_warps[threadIdx.x / WARP] = loss;
  misses_of_warps[threadIdx.x / WARP] = misses;
}

/* By the first warp, when all have kept theirs. */
static __device__ __forceinline__ void tally_put(const args &s) {
  if (threadIdx.x >= WARP) return;
  bool is = threadIdx.x < WARPS;
  double loss = is ? losses_of_warps[threadIdx.x] : 0;
  int misses = __reduce_add_sync(ALL_LANES, is ? misses_of_warps[threadIdx.x] : 0);
  loss = lanes_sum<WARPS>(loss);
  if (threadIdx.x != 0) return;
  s.losses[blockIdx.x] = loss;
  s.misses[blockIdx.x] = misses;
}

/* By the last warp of the last block. */
static __device__ __forceinline__ void loss_put(const args &s, long long at, int workers,
                                                int rows) {
  if (blockIdx.x != BLOCKS - 1 || threadIdx.x < THREADS - WARP) return;
  double loss = 0;
  int misses = 0;
  for (int i = threadIdx.x % WARP; i < workers; i += WARP) {
    loss += __ldcg(s.losses + i);
    misses += __ldcg(s.misses + i);
  }
  loss = warp_sum(loss);
  misses = __reduce_add_sync(ALL_LANES, misses);
  if (threadIdx.x % WARP != 0) return;
  s.loss[at] = (float)(loss / (double)((long long)rows * (TAKES_CLASSES ? 1 : OUT)));
  s.errors[at] = misses;
}

#endif
