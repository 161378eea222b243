/* warpgroups.cuh: products of wide layers by whole warpgroups, in TF32, for cuda/grid on GPUs of
 * compute capability 9.0 (PTX ISA: wgmma): factors come from shared memory without a thread's
 * loads, or, where they lie across, from registers. Other GPUs multiply by warps: products.cuh. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_WARPGROUPS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_WARPGROUPS_CUH

#include "kernels/cuda/device/mbarrier.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/executors/grid/products.cuh"
#include "kernels/cuda/executors/grid/tensor_maps.h"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool WARPGROUPS = true;
#else
constexpr bool WARPGROUPS = false;
#endif

/* Floats of a line, which is what the unit swizzles: with its fours in an order that depends on the
 * place of the line among eight. */
constexpr int LINE = EP_GRID_LINE;

/* Two warpgroups, with all of a tile each, that take stages by turns. */
template <bool A_BY_K>
struct wide : shape<EP_GRID_WIDE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K, 4, 1, 2, 2, A_BY_K> {
  static constexpr bool BY_WARPGROUPS = true;
};

static_assert(wide<true>::MF == 1 && EP_GRID_WIDE_M == 64 && EP_GRID_LARGE_N == 104,
              "the products below");

/* --- instructions ---------------------------------------------------------------------------- */

/* Lines begin on eight of them. */
static __device__ __forceinline__ float *lines_begin(float *area) {
  return area + (0u - shared_address(area)) % (8 * LINE * sizeof(float)) / sizeof(float);
}

/* What a warpgroup is told of a factor in shared memory: lines of terms, eight every 1,024 bytes.
 * Eight terms on it begins eight floats on. */
static __device__ __forceinline__ uint64_t lines_of(const float *from) {
  return wgmma_operand(shared_address(from), 16, 8 * LINE * sizeof(float));
}

/* --- products --------------------------------------------------------------------------------- */

/* Where a product's lines lie, by turns: what the block keeps from one product to the next. */
struct line_slots {
  static constexpr int COUNT = EP_GRID_LINE_STAGES;
  unsigned long long full[COUNT]; /* barriers: the copies of a stage have come … */
  unsigned long long free[COUNT]; /* … and the warps of a group have multiplied it */
  int stages;                     /* since the launch */
};

/* One thread; mbarrier_init_fence follows. */
static __device__ void lines_make(line_slots &slots) {
  slots.stages = 0;
  for (int i = 0; i < line_slots::COUNT; i++) {
    mbarrier_init(shared_address(&slots.full[i]), 1);
    mbarrier_init(shared_address(&slots.free[i]), WARPS / 2);
  }
}

/* What a warp asks the copy engine for, by one thread: of each stage of a task a tile, which takes
 * it some 80 cycles: the first warps of a warpgroup of `a`, LINE of M each, the next one of `b`. It
 * is that one that expects the bytes of all. */
template <bool BY_K> struct line_copies {
  typedef wide<BY_K> S;
  static constexpr int A_FLOATS = S::M * LINE, STAGE = A_FLOATS + S::N * LINE;
  static constexpr int A_WARPS = S::M / LINE, BYTES = (int)sizeof(float);
  static constexpr int EARLY = 4; /* stages of `a`, before `b` is awaited */
  static_assert(A_FLOATS % (8 * LINE) == 0 && STAGE % (8 * LINE) == 0, "lines, by eights");
  static_assert(A_WARPS < WARPS / 2, "each tile is a warp's");
  static_assert(EARLY <= line_slots::COUNT, "there is room for them");
  static_assert(line_slots::COUNT * STAGE + 8 * LINE <= EP_GRID_WIDE_AREA, "what plan.c reserves");
  const ep_cuda_tensor_map *a, *b;
  unsigned lines, full; /* in shared memory: the first stage, the first barrier */
  int m, n, first;
  __device__ __forceinline__ void load_a(int warp, int stage, int slot) const {
    int term = first + stage * LINE, at = m + warp * LINE;
    tma_load(lines + (slot * STAGE + warp * LINE * LINE) * BYTES, a, full + 8 * slot,
             BY_K ? at : term, BY_K ? term : at);
  }
  __device__ __forceinline__ void load_b(int stage, int slot) const {
    mbarrier_expect(full + 8 * slot, STAGE * BYTES);
    tma_load(lines + (slot * STAGE + A_FLOATS) * BYTES, b, full + 8 * slot, first + stage * LINE,
             n);
  }
};

/* Fragments of `a` whose terms lie across, in lines of 32 of M: of all terms of a stage. from: the
 * thread's two neighbours (ep_grid_pair) in the line of term 0, were its fours not swizzled. */
static __device__ __forceinline__ void parts_load(unsigned (&parts)[LINE / 8][4], const float *from,
                                                  int four, int t) {
#pragma unroll
  for (int term = 0; term < LINE; term += 4) {
    float2 two = *(const float2 *)(from + ep_grid_line_offset(term + t, four));
    parts[term / 8][term / 4 % 2 * 2] = __float_as_uint(two.x);
    parts[term / 8][term / 4 % 2 * 2 + 1] = __float_as_uint(two.y);
  }
}

/* As product() of products.cuh: the sum over a line of terms a stage, of tiles that the copy engine
 * brings. Every other stage is a warpgroup's; its place is asked for anew when all of that have
 * multiplied it, one such stage later. Before `b` is awaited, some stages of `a` are asked for; not
 * all that there is room for, since the engine takes one copy after the other, and the first of `b`
 * would stand behind them. BY_K: the terms of `a` lie across, and its fragments come from
 * registers. */
template <bool BY_K>
static __device__ __forceinline__ void
lines_product(float (&c)[1][13][4], float *area, line_slots &slots, const ep_cuda_tensor_map *of_a,
              const ep_cuda_tensor_map *of_b, const task &of, int &awaits) {
  typedef line_copies<BY_K> copies;
  constexpr int COUNT = line_slots::COUNT;
  const int stages = (of.end - of.first + LINE - 1) / LINE, begun = slots.stages;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP % 4;
  const int group = threadIdx.x / (4 * WARP);
  const unsigned full = shared_address(slots.full), free = shared_address(slots.free);
  const float *lines = lines_begin(area);
  const copies copy = {of_a, of_b, shared_address(lines), full, of.m, of.n, of.first};
  const bool has_a = lane == 0 && warp < copies::A_WARPS,
             has_b = lane == 0 && warp == copies::A_WARPS;
  int asked = group; /* the next stage of `a` */
  if (has_a) {
    async_fence();
#pragma unroll 1
    for (; asked < copies::EARLY && asked < stages; asked += 2)
      copy.load_a(warp, asked, (begun + asked) % COUNT);
  }
  meeting_await(awaits);
  if (has_a)
#pragma unroll 1
    for (; asked < COUNT && asked < stages; asked += 2)
      copy.load_a(warp, asked, (begun + asked) % COUNT);
  if (has_b) {
    async_fence();
#pragma unroll 1
    for (int k = group; k < COUNT && k < stages; k += 2) copy.load_b(k, (begun + k) % COUNT);
  }
#pragma unroll
  for (int j = 0; j < 13; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[0][j][q] = 0;
  const int pair = ep_grid_pair(warp, lane / 4), mine = pair / LINE * LINE * LINE + pair % 4;
  int slot = (begun + group) % COUNT, parity = (begun + group) / COUNT % 2;
  int last = 0, last_parity = 0;
  unsigned parts[LINE / 8][4];
  if (group < stages) mbarrier_wait(full + 8 * slot, parity);
  if constexpr (BY_K)
    parts_load(parts, lines + slot * copies::STAGE + mine, pair % LINE / 4, lane % 4);
#pragma unroll 1
  for (int k = group; k < stages; k += 2) {
    const float *here = lines + slot * copies::STAGE, *of_terms = here + copies::A_FLOATS;
    wgmma_fence();
#pragma unroll
    for (int term = 0; term < LINE; term += 8)
      if constexpr (BY_K)
        wgmma_tf32(c[0], parts[term / 8], lines_of(of_terms + term), 1);
      else
        wgmma_tf32(c[0], lines_of(here + term), lines_of(of_terms + term), 1);
    wgmma_commit();
    if ((has_a || has_b) && k > 1 && k - 2 + COUNT < stages) {
      mbarrier_wait(free + 8 * last, last_parity);
      if (has_a) copy.load_a(warp, k - 2 + COUNT, last);
      if (has_b) copy.load_b(k - 2 + COUNT, last);
    }
    last = slot, last_parity = parity;
    slot = slot < COUNT - 2 ? slot + 2 : slot + 2 - COUNT;
    parity ^= slot < 2;
    unsigned next[LINE / 8][4];
    if (k + 2 < stages) {
      mbarrier_wait(full + 8 * slot, parity);
      if constexpr (BY_K)
        parts_load(next, lines + slot * copies::STAGE + mine, pair % LINE / 4, lane % 4);
    }
    wgmma_wait<0>();
    if (lane == 0) mbarrier_arrive(free + 8 * last);
    if constexpr (BY_K)
#pragma unroll
      for (int i = 0; i < LINE / 8; i++)
#pragma unroll
        for (int q = 0; q < 4; q++) parts[i][q] = next[i][q];
  }
  __syncthreads();
  if (threadIdx.x == 0) slots.stages = begun + stages;
}

#endif
