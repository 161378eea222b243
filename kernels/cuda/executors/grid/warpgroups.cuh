/* warpgroups.cuh: products of wide layers by whole warpgroups, in TF32, for cuda/grid on GPUs of
 * compute capability 9.0 (PTX ISA: wgmma): factors come from shared memory without a thread's
 * loads, or, where they lie across, from registers. Other GPUs multiply by warps: products.cuh. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_WARPGROUPS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_WARPGROUPS_CUH

#include "kernels/cuda/device/tma.cuh"
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
  unsigned address = (unsigned)__cvta_generic_to_shared(area);
  return area + (0u - address) % (8 * LINE * sizeof(float)) / sizeof(float);
}

/* What a warpgroup is told of a factor in shared memory: lines of terms, eight every 1,024 bytes.
 * Eight terms on it begins eight floats on. */
static __device__ __forceinline__ unsigned long long lines_of(const float *from) {
  unsigned address = (unsigned)__cvta_generic_to_shared(from);
  return (unsigned long long)(address >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* What cp.async wrote, a warpgroup may read: each thread after its wait, before a barrier. */
static __device__ __forceinline__ void lines_publish() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Waits until at most N groups of products are under way. */
template <int N> static __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#define EP_FOUR(c, j) "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
#define EP_EIGHT_FOURS(c)                                                                   \
  EP_FOUR(c, 0), EP_FOUR(c, 1), EP_FOUR(c, 2), EP_FOUR(c, 3), EP_FOUR(c, 4), EP_FOUR(c, 5), \
      EP_FOUR(c, 6), EP_FOUR(c, 7)
#define EP_THIRTEEN_FOURS(c) \
  EP_EIGHT_FOURS(c), EP_FOUR(c, 8), EP_FOUR(c, 9), EP_FOUR(c, 10), EP_FOUR(c, 11), EP_FOUR(c, 12)
#define EP_SIXTEEN_FOURS(c) EP_THIRTEEN_FOURS(c), EP_FOUR(c, 13), EP_FOUR(c, 14), EP_FOUR(c, 15)
#define EP_PLACES_32                                                       \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define EP_PLACES_52                                                                      \
  EP_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
               "%46, %47, %48, %49, %50, %51"

#define EP_PLACES_64 EP_PLACES_52 ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/* c (+)= a b over eight terms, 64 by 104 or 128: warp w of the warpgroup has the rows 16 w to
 * 16 w + 15; with g = lane / 4 and t = lane % 4, c[j] is [g, 8j + 2t], [g, 8j + 2t + 1], and the
 * same of row g + 8. a: lines, or in registers: [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4]. */
static __device__ __forceinline__ void multiply_104(float (&c)[13][4], unsigned long long a,
                                                    unsigned long long b) {
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %54, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n104k8.f32.tf32.tf32 {" EP_PLACES_52
               "}, %52, %53, adds, 1, 1;\n}"
               : EP_THIRTEEN_FOURS(c)
               : "l"(a), "l"(b), "r"(1));
}

static __device__ __forceinline__ void multiply_104(float (&c)[13][4], const unsigned (&a)[4],
                                                    unsigned long long b) {
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %57, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n104k8.f32.tf32.tf32 {" EP_PLACES_52
               "}, {%52, %53, %54, %55}, %56, adds, 1, 1;\n}"
               : EP_THIRTEEN_FOURS(c)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));
}

static __device__ __forceinline__ void multiply_128(float (&c)[16][4], const unsigned (&a)[4],
                                                    unsigned long long b, int adds) {
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" EP_PLACES_64
               "}, {%64, %65, %66, %67}, %68, adds, 1, 1;\n}"
               : EP_SIXTEEN_FOURS(c)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

/* --- products --------------------------------------------------------------------------------- */

/* Where a product's lines lie, by turns: what the block keeps from one product to the next. */
struct line_slots {
  static constexpr int COUNT = EP_GRID_LINE_STAGES;
  unsigned long long full[COUNT]; /* barriers: the copies of a stage have come … */
  unsigned long long free[COUNT]; /* … and the warps of a group have multiplied it */
  int stages;                     /* since the launch */
};

/* One thread; barriers_publish follows. */
static __device__ void lines_make(line_slots &slots) {
  slots.stages = 0;
  for (int i = 0; i < line_slots::COUNT; i++) {
    barrier_init(shared_address(&slots.full[i]), 1);
    barrier_init(shared_address(&slots.free[i]), WARPS / 2);
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
  const ep_cuda_map *a, *b;
  unsigned lines, full; /* in shared memory: the first stage, the first barrier */
  int m, n, first;
  __device__ __forceinline__ void load_a(int warp, int stage, int slot) const {
    int term = first + stage * LINE, at = m + warp * LINE;
    tile_load(lines + (slot * STAGE + warp * LINE * LINE) * BYTES, a, full + 8 * slot,
              BY_K ? at : term, BY_K ? term : at);
  }
  __device__ __forceinline__ void load_b(int stage, int slot) const {
    barrier_expect(full + 8 * slot, STAGE * BYTES);
    tile_load(lines + (slot * STAGE + A_FLOATS) * BYTES, b, full + 8 * slot, first + stage * LINE,
              n);
  }
};

/* Fragments of `a` whose terms lie across, in lines of 32 of M: of all terms of a stage. from: the
 * thread's two neighbours (ep_grid_pair) in the line of term 0, were its fours not swizzled. */
static __device__ __forceinline__ void parts_load(unsigned (&parts)[LINE / 8][4], const float *from,
                                                  int four, int t) {
#pragma unroll
  for (int term = 0; term < LINE; term += 4) {
    float2 two = *(const float2 *)(from + ep_grid_line_place(term + t, four));
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
lines_product(float (&c)[1][13][4], float *area, line_slots &slots, const ep_cuda_map *of_a,
              const ep_cuda_map *of_b, const task &of, int &awaits) {
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
    copies_allow();
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
    copies_allow();
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
  if (group < stages) barrier_wait(full + 8 * slot, parity);
  if constexpr (BY_K)
    parts_load(parts, lines + slot * copies::STAGE + mine, pair % LINE / 4, lane % 4);
#pragma unroll 1
  for (int k = group; k < stages; k += 2) {
    const float *here = lines + slot * copies::STAGE, *of_terms = here + copies::A_FLOATS;
    products_begin();
#pragma unroll
    for (int term = 0; term < LINE; term += 8)
      if constexpr (BY_K)
        multiply_104(c[0], parts[term / 8], lines_of(of_terms + term));
      else
        multiply_104(c[0], lines_of(here + term), lines_of(of_terms + term));
    products_commit();
    if ((has_a || has_b) && k > 1 && k - 2 + COUNT < stages) {
      barrier_wait(free + 8 * last, last_parity);
      if (has_a) copy.load_a(warp, k - 2 + COUNT, last);
      if (has_b) copy.load_b(k - 2 + COUNT, last);
    }
    last = slot, last_parity = parity;
    slot = slot < COUNT - 2 ? slot + 2 : slot + 2 - COUNT;
    parity ^= slot < 2;
    unsigned next[LINE / 8][4];
    if (k + 2 < stages) {
      barrier_wait(full + 8 * slot, parity);
      if constexpr (BY_K)
        parts_load(next, lines + slot * copies::STAGE + mine, pair % LINE / 4, lane % 4);
    }
    products_wait<0>();
    if (lane == 0) barrier_arrive(free + 8 * last);
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
