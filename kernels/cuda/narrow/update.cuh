/* update.cuh: the end of a step: the sums of all blocks, in a fixed order, and the optimizer's step
 * on them. Every block owns some quads of the parameters, and keeps them for the whole launch. */
#ifndef EP_KERNELS_CUDA_NARROW_UPDATE_CUH
#define EP_KERNELS_CUDA_NARROW_UPDATE_CUH

#include "kernels/cuda/narrow/loss.cuh"

/* Threads that share out the blocks' sums of a quad. */
constexpr int SHARES = THREADS / OWNED < 16 ? THREADS / OWNED : 16;

/* A quad in the hands of its owner, in shared memory. */
struct owned {
  float value[4], state[SLOTS > 0 ? SLOTS : 1][4];
  int parameter[4]; /* -1: padding */
  float decay;      /* negative: frozen */
  int image, step;  /* bytes: where it lies, and from there to its second half */
  bool bias;
};

static __device__ __forceinline__ owned &owned_at(int i) {
  return ((owned *)(block_memory + OWNED_AT))[i];
}

/* Which parameters a quad has. */
template <int L>
static __device__ __forceinline__ void quad_find(const span &s, int quad, owned &o) {
  if constexpr (L < LAYERS) {
    typedef weights<L> W;
    constexpr narrow_layer A = W::A;
    constexpr int TILES_ACROSS = W::INS * 2, PITCH = pitch_of(A.in);
    int i = quad - A.quads;
    if (i >= W::QUADS) {
      quad_find<L + 1>(s, quad, o);
      return;
    }
    o.bias = i >= W::TILES * WARP;
    o.decay = s.decay[L][o.bias];
    if (o.bias) {
      int out = (i - W::TILES * WARP) * 4;
      for (int e = 0; e < 4; e++) o.parameter[e] = out + e < A.out ? A.bias + out + e : -1;
      o.image = A.image + padded(A.out) * PITCH * (int)sizeof(number) + out * 4;
      o.step = 8;
      return;
    }
    int tile = i / WARP, lane = i % WARP;
    int out = tile / TILES_ACROSS * 16 + lane / 4, in = tile % TILES_ACROSS * 8 + lane % 4 * 2;
    for (int e = 0; e < 4; e++) {
      bool is = out + e / 2 * 8 < A.out && in + e % 2 < A.in;
      o.parameter[e] = is ? A.weight + (out + e / 2 * 8) * A.in + in + e % 2 : -1;
    }
    o.image = A.image + (out * PITCH + turned<PITCH>(out, in)) * (int)sizeof(number);
    o.step = 8 * PITCH * (int)sizeof(number);
  }
}

static __device__ __forceinline__ bool owns(int i) {
  return i < OWNED && (int)blockIdx.x * OWNED + i < QUADS;
}

/* To the image that all blocks fetch. */
static __device__ __forceinline__ void image_put(const span &s, const owned &o) {
  char *to = s.image + o.image;
#pragma unroll
  for (int half = 0; half < 2; half++, to += o.step) {
    float first = o.value[2 * half], second = o.value[2 * half + 1];
    if (o.bias)
      *(float2 *)to = make_float2(first, second);
    else
      pair_put((number *)to, first, second);
  }
}

static __device__ __forceinline__ void owned_load(const span &s) {
  for (int i = threadIdx.x; owns(i); i += THREADS) {
    owned o;
    quad_find<0>(s, (int)blockIdx.x * OWNED + i, o);
    for (int e = 0; e < 4; e++) {
      o.value[e] = o.parameter[e] >= 0 ? s.parameters[o.parameter[e]] : 0;
      for (int slot = 0; slot < SLOTS; slot++)
        o.state[slot][e] =
            o.parameter[e] >= 0 ? s.state[(long long)slot * PARAMETERS + o.parameter[e]] : 0;
    }
    image_put(s, o);
    owned_at(i) = o;
  }
}

static __device__ __forceinline__ void owned_store(const span &s) {
  for (int i = threadIdx.x; owns(i); i += THREADS) {
    const owned o = owned_at(i);
    for (int e = 0; e < 4; e++) {
      if (o.parameter[e] < 0 || o.decay < 0) continue;
      s.parameters[o.parameter[e]] = o.value[e];
      for (int slot = 0; slot < SLOTS; slot++)
        s.state[(long long)slot * PARAMETERS + o.parameter[e]] = o.state[slot][e];
    }
  }
}

/* The sums of the first `workers` blocks for the quads of this one: [SHARES, OWNED] in shared
 * memory. */
static __device__ __forceinline__ void quads_sum(const span &s, int workers) {
  int i = threadIdx.x % OWNED, part = threadIdx.x / OWNED;
  if (part >= SHARES || !owns(i)) return;
  const float4 *from = (const float4 *)s.partials + (int)blockIdx.x * OWNED + i;
  float4 sum = make_float4(0, 0, 0, 0);
  constexpr int AT_ONCE = 8;
#pragma unroll 1
  for (int first = part; first < workers; first += AT_ONCE * SHARES) {
    float4 quad[AT_ONCE];
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      int worker = first + k * SHARES;
      quad[k] =
          worker < workers ? __ldcg(from + (long long)worker * QUADS) : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
      sum.x += quad[k].x, sum.y += quad[k].y, sum.z += quad[k].z, sum.w += quad[k].w;
  }
  ((float4 *)(block_memory + SUMS_AT))[part * OWNED + i] = sum;
}

static __device__ __forceinline__ void owned_update(const span &s,
                                                    const ep_optimizer_step &update) {
  int i = threadIdx.x;
  if (!owns(i)) return;
  owned &o = owned_at(i);
  if (o.decay < 0) return;
  const float4 *from = (const float4 *)(block_memory + SUMS_AT);
  float4 sum = from[i];
#pragma unroll
  for (int part = 1; part < SHARES; part++) {
    float4 more = from[part * OWNED + i];
    sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
  }
  const float grad[4] = {sum.x, sum.y, sum.z, sum.w};
  ep_optimizer optimizer = s.optimizer;
  optimizer.type = OPTIMIZER;
  optimizer.nesterov = NESTEROV;
  optimizer.centered = CENTERED;
  if (!CLIPS_VALUE) optimizer.clip_value = 0;
  if (!HAS_MOMENTUM) optimizer.momentum = 0;
#pragma unroll
  for (int e = 0; e < 4; e++)
    if (o.parameter[e] >= 0)
      o.value[e] = ep_optimizer_update(&optimizer, &update, o.decay, o.value[e],
                                       ep_clip(&optimizer, 1, grad[e]), &o.state[0][e], 4);
  image_put(s, o);
}

/* --- the loss -------------------------------------------------------------------------------- */

static __device__ __forceinline__ void tally_put(const span &s, const tally &seen) {
  __shared__ double losses[WARPS];
  __shared__ int misses[WARPS];
  double loss = seen.loss;
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    loss += __shfl_xor_sync(ALL, loss, distance);
  int missed = __reduce_add_sync(ALL, seen.misses);
  if (threadIdx.x % WARP == 0) {
    losses[threadIdx.x / WARP] = loss;
    misses[threadIdx.x / WARP] = missed;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < WARPS; w++) {
    loss += losses[w];
    missed += misses[w];
  }
  s.losses[blockIdx.x] = loss;
  s.misses[blockIdx.x] = missed;
}

/* By the last warp of the last block. */
static __device__ __forceinline__ void loss_put(const span &s, long long at, int workers,
                                                int rows) {
  if (blockIdx.x != BLOCKS - 1 || threadIdx.x < THREADS - WARP) return;
  double loss = 0;
  int misses = 0;
  for (int i = threadIdx.x % WARP; i < workers; i += WARP) {
    loss += __ldcg(s.losses + i);
    misses += __ldcg(s.misses + i);
  }
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    loss += __shfl_xor_sync(ALL, loss, distance);
  misses = __reduce_add_sync(ALL, misses);
  if (threadIdx.x % WARP != 0) return;
  s.loss[at] = (float)(loss / (double)((long long)rows * (TAKES_CLASSES ? 1 : OUT)));
  s.errors[at] = misses;
}

#endif
