#include "test_kernels.h"

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/dynamic_memory.cuh"
#include "kernels/cuda/device/global_memory.cuh"
#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/device/tagged.cuh"
#include "kernels/formulas/losses.h"
#include "kernels/formulas/optimizers.h"

/* --- collectives ----------------------------------------------------------------------------- */

__global__ void __launch_bounds__(64, 1) kernel_shuffles(int *errors) {
  int lane = threadIdx.x % WARP, wrong = 0;
  wrong += __shfl_sync(ALL_LANES, lane * 3, 5) != 15;
  wrong += __shfl_sync(ALL_LANES, lane, lane + 1) != (lane + 1) % WARP;
  wrong += __shfl_sync(ALL_LANES, lane, 1, 8) != lane / 8 * 8 + 1;
  wrong += __shfl_xor_sync(ALL_LANES, (float)lane, 9) != (float)(lane ^ 9);
  wrong += __shfl_xor_sync(ALL_LANES, lane, 16, 16) != (lane < 16 ? lane : lane - 16);
  wrong += __shfl_down_sync(ALL_LANES, lane, 3) != (lane < 29 ? lane + 3 : lane);
  wrong += __shfl_up_sync(ALL_LANES, lane, 2, 4) != (lane % 4 < 2 ? lane : lane - 2);
  wrong += __shfl_xor_sync(ALL_LANES, 1e300 * lane, 1) != 1e300 * (lane ^ 1);
  wrong += __shfl_sync(ALL_LANES, (uint64_t)lane << 40, 7) != (uint64_t)7 << 40;
  wrong += warp_sum(lane) != 496;
  wrong += lanes_sum<4>(1) != 4;
  wrong += __reduce_add_sync(ALL_LANES, lane) != 496;
  if (lane < 16) wrong += __shfl_xor_sync(0xffffu, lane, 15) != 15 - lane;
  __syncwarp();
  atomicAdd(errors, wrong);
}

__global__ void kernel_votes(int *errors) {
  int lane = threadIdx.x % WARP, wrong = 0;
  wrong += __ballot_sync(ALL_LANES, lane % 2) != 0xaaaaaaaau;
  wrong += __any_sync(ALL_LANES, lane == 31) != 1;
  wrong += __any_sync(ALL_LANES, lane == 32) != 0;
  wrong += __all_sync(ALL_LANES, lane < 32) != 1;
  wrong += __all_sync(ALL_LANES, lane < 31) != 0;
  wrong += __syncthreads_count(lane < 3) != (int)blockDim.x / WARP * 3;
  wrong += __syncthreads_and(lane < 31) != 0;
  wrong += __syncthreads_or(lane == 31) != 1;
  atomicAdd(errors, wrong);
}

__global__ void kernel_numbers(int *errors) {
  int wrong = 0;
  wrong += min(3, -2) != -2 || max(3u, 4u) != 4 || min(2.0f, NAN) != 2 || max(7ll, 8ll) != 8;
  wrong += __umulhi(0x80000000u, 6) != 3 || __popc(255) != 8 || __clz(1) != 31 || __ffs(8) != 4;
  wrong += tf32_rounded(1 + 0x1p-11f) != 1 + 0x1p-10f || tf32_rounded(1 + 0x1p-12f) != 1;
  wrong += tf32_rounded(-1 - 0x1p-11f) != -1 - 0x1p-10f || !isnan(tf32_rounded(NAN));
  wrong += __float_as_uint(1) != 0x3f800000u || __uint_as_float(0xc0000000u) != -2;
  wrong += fabsf(rsqrtf(4) - 0.5f) > 1e-7f || __fdividef(1, 4) != 0.25f;
  static_assert(sizeof(exp(1.0f)) == 4 && sizeof(fabs(1.0f)) == 4 && sizeof(log1p(1.0f)) == 4,
                "functions of float");
  wrong += fabsf(ep_sigmoid(0) - 0.5f) > 1e-7f || alignof(float4) != 16 || alignof(int2) != 8;
  atomicAdd(errors, wrong);
}

__global__ void kernel_block_sum(const float *x, float *sums) {
  unsigned threads = blockDim.x;
  bool clean = isnan(memory[threadIdx.x]);
  memory[threadIdx.x] = __ldg(x + blockIdx.x * threads + threadIdx.x);
  __syncthreads();
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) memory[threadIdx.x] += memory[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = clean ? *memory : -1;
}

/* --- tensor cores ---------------------------------------------------------------------------- */

static __device__ __forceinline__ void c_store(float *to, const float (&c)[4]) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 4; i++) to[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];
}

template <bool PRECISE>
static __device__ void multiply_8(const float *a, const float *b, float *to) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  float c[4] = {};
  hi_lo fragment[4], column[2];
#pragma unroll
  for (int i = 0; i < 4; i++)
    fragment[i] = hi_lo_of<PRECISE>(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
#pragma unroll
  for (int i = 0; i < 2; i++) column[i] = hi_lo_of<PRECISE>(b[(t + i * 4) * 8 + g]);
  multiply<PRECISE>(c, fragment, column[0], column[1]);
  c_store(to, c);
}

__global__ void kernel_mma_tf32(const float *a, const float *b, float *c) {
  multiply_8<false>(a, b, c);
}

__global__ void kernel_multiply(const float *a, const float *b, float *c) {
  multiply_8<true>(a, b, c);
}

__global__ void kernel_mma_bf16(const unsigned short *a, const unsigned short *b, float *out) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  auto pair = [](unsigned first, unsigned second) { return first | second << 16; };
  unsigned fragment[4], column[2];
  float c[4] = {};
  for (int i = 0; i < 4; i++) {
    const unsigned short *from = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    fragment[i] = pair(from[0], from[1]);
  }
  for (int i = 0; i < 2; i++) {
    const unsigned short *from = b + (2 * t + i * 8) * 8 + g;
    column[i] = pair(from[0], from[8]);
  }
  mma_bf16(c, fragment[0], fragment[1], fragment[2], fragment[3], column[0], column[1]);
  c_store(out, c);
}

__global__ void kernel_ldmatrix(int *errors) {
  unsigned lane = threadIdx.x, got[4], wrong = 0;
  unsigned short *halves = (unsigned short *)memory; /* [32, 8] */
  for (unsigned j = 0; j < 8; j++) halves[lane * 8 + j] = (unsigned short)(lane * 8 + j);
  __syncwarp();
  ldmatrix(got, halves + lane * 8);
  for (unsigned i = 0; i < 4; i++) {
    unsigned first = (8 * i + lane / 4) * 8 + lane % 4 * 2;
    wrong += got[i] != (first | (first + 1) << 16);
  }
  ldmatrix_transposed(got, halves + lane * 8);
  for (unsigned i = 0; i < 4; i++) {
    unsigned first = (8 * i + lane % 4 * 2) * 8 + lane / 4;
    wrong += got[i] != (first | (first + 8) << 16);
  }
  hi_lo operands[4];
  hi_lo_load<true>(operands, memory + lane * 4);
  wrong +=
      operands[2].hi != (__float_as_uint(memory[(16 + lane / 4) * 4 + lane % 4]) & 0xffffe000u);
  atomicAdd(errors, (int)wrong);
}

/* --- copies, exchanges ----------------------------------------------------------------------- */

__global__ void kernel_copies(const float *x, float *seen) {
  auto look = [&](int row) {
    for (int i = 0; i < 8; i++) seen[row * 8 + i] = memory[i];
  };
  cp_async_16(memory, x, true);
  cp_async_commit();
  cp_async<4>(memory + 4, x + 4);
  cp_async_4(memory + 5, nullptr, false);
  cp_async_commit();
  cp_async_4(memory + 6, x + 6, true);
  look(0);
  cp_async_wait_group<1>();
  look(1);
  cp_async_wait_group<0>();
  look(2);
  cp_async_wait_all();
  look(3);
}

/* The word, its lowest bit replaced. */
static __device__ __forceinline__ float tagged(float value, unsigned tag) {
  return __uint_as_float((__float_as_uint(value) & ~1u) | tag);
}

__global__ void kernel_all_gather(float *buffers, int buffer_count, int width, int steps,
                                  float *out) {
  int blocks = (int)gridDim.x, block = (int)blockIdx.x, column = (int)threadIdx.x * 2;
  float2 own = {(float)(block + 1), (float)(block + 2)};
  for (int step = 0; step < steps; step++) {
    unsigned tag = 1 ^ (step / buffer_count & 1);
    float *buffer = buffers + step % buffer_count * blocks * width;
    if (column < width)
      tagged_store2(buffer + block * width + column, {tagged(own.x, tag), tagged(own.y, tag)});
    float2 sum = {0, 0};
    for (int from = 0; from < blocks && column < width; from++) {
      float2 word;
      int turns = 0;
      for (;;) {
        word = tagged_load2(buffer + from * width + column);
        if ((__float_as_uint(word.x) & __float_as_uint(word.y) & 1) == tag &&
            (__float_as_uint(word.x) | __float_as_uint(word.y)) % 2 == tag)
          break;
        tagged_poll(turns);
      }
      sum.x += word.x;
      sum.y += word.y;
    }
    own = {sum.x / (float)blocks + (float)block, sum.y / (float)blocks - (float)block};
  }
  if (column < width) *(float2 *)(out + block * width + column) = own;
}

__global__ void kernel_cluster(float *out, int cluster) {
  unsigned rank = cluster_rank();
  int peer = (int)threadIdx.x;
  cluster_sync(); /* all blocks have begun */
  if (peer < cluster) {
    unsigned there = cluster_address(shared_address(memory + 2 * rank), (unsigned)peer);
    cluster_store(there, (float)(rank + 1), 10);
    cluster_store(there, (float)(rank + 2));
  }
  cluster_arrive();
  cluster_wait();
  float sum = 0;
  for (int i = 0; i < 2 * cluster; i++)
    sum += __uint_as_float(shared_read(shared_address(memory + i)));
  if (peer == 0) out[blockIdx.x] = sum;
}

__global__ void kernel_work(int steps, float *out) {
  float c[4] = {};
  hi_lo a[4];
  for (int i = 0; i < 4; i++) a[i] = hi_lo_of<false>((float)(threadIdx.x + i) * 1e-3f);
  for (int step = 0; step < steps; step++) {
    for (int k = 0; k < 8; k++) multiply<false>(c, a, a[k % 4], a[(k + 1) % 4]);
    float sum = warp_sum(c[step % 4]);
    if (threadIdx.x % WARP == 0) memory[threadIdx.x / WARP] = sum;
    __syncthreads();
    c[0] = memory[step % (blockDim.x / WARP)] * 1e-6f;
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = c[0];
}

__global__ void kernel_grid(unsigned *counter, float *sums, float *out) {
  if (threadIdx.x == 0) sums[blockIdx.x] = (float)blockIdx.x;
  grid_arrive(counter);
  grid_wait(counter, gridDim.x);
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; i++) sum += sums[i];
  if (blockIdx.x == gridDim.x - 1) *out = sum;
}

/* --- canaries -------------------------------------------------------------------------------- */

__global__ void kernel_waits_for_nobody(const float *word) {
  int turns = 0;
  if (blockIdx.x == 1 && threadIdx.x < WARP)
    while (!__any_sync(ALL_LANES, tagged_load2(word).x == 1)) tagged_poll(turns);
  __syncthreads();
}

__global__ void kernel_diverges() {
  if (threadIdx.x == 7)
    __syncthreads();
  else
    __shfl_xor_sync(ALL_LANES, 1, 1);
  __syncthreads();
}

__global__ void kernel_misses_barrier() {
  if (blockIdx.x != 1 || threadIdx.x < WARP) __syncthreads();
}

__global__ void kernel_exits_early() {
  if (threadIdx.x % WARP == 3) return;
  __syncwarp();
}

__global__ void kernel_writes_outside(int at) {
  if (threadIdx.x == 0 && blockIdx.x == 1) memory[at] = 1;
}

__global__ void kernel_reads_unaligned(const float *x) {
  tagged_load2(x + 1);
}

__global__ void kernel_dereferences(const float *x) {
  if (blockIdx.x == 1 && threadIdx.x == 5) memory[0] = *(const volatile float *)x;
}

__global__ void kernel_ends(int *ended, int *place) {
  __syncthreads();
  if (threadIdx.x == 0) place[blockIdx.x] = (*ended)++;
}

static __device__ __noinline__ int recursion(volatile int depth) {
  volatile int pad[64];
  pad[depth % 64] = depth;
  return depth < 1 << 20 ? recursion(depth + 1) + pad[depth % 64] : 0;
}

__global__ void kernel_overflows_stack() {
  if (threadIdx.x == 2) recursion(0);
}

__global__ void kernel_traps() {
  if (threadIdx.x == 9) __trap();
}

__global__ void kernel_spins() {
  for (volatile int i = 0;;) i = i + 1;
}

__global__ void kernel_copies_outside(const float *x) {
  cp_async_16(memory + 61 + 3, x, true);
}

__global__ void kernel_lacks_syncwarp(int *out) {
  memory[threadIdx.x] = 1;
  if (isnan(memory[31 - threadIdx.x])) *out = 1;
}
