/* warpgroups.cuh: products of wide layers by whole warpgroups, in TF32, for cuda/grid on GPUs of
 * compute capability 9.0 (PTX ISA: wgmma): factors come from shared memory without a thread's
 * loads, or, where they lie across, from registers. Other GPUs multiply by warps: products.cuh. */
#ifndef EP_KERNELS_CUDA_GRID_WARPGROUPS_CUH
#define EP_KERNELS_CUDA_GRID_WARPGROUPS_CUH

#include "kernels/cuda/grid/products.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool WARPGROUPS = true;
#else
constexpr bool WARPGROUPS = false;
#endif

/* Floats of a line, which is what the unit swizzles: with its fours in an order that depends on the
 * place of the line among eight. */
constexpr int LINE = EP_GRID_LINE;

/* Two warpgroups, 64 of M each; all terms of a stage are both's. */
template <bool A_BY_K>
struct wide : shape<EP_GRID_LARGE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K, WARPS, 1, 1, 2, A_BY_K> {
  static constexpr bool BY_WARPGROUPS = true;
};

static_assert(wide<true>::MF == 1 && EP_GRID_LARGE_M == 128 && EP_GRID_LARGE_N == 104,
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
#define EP_PLACES_32                                                       \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define EP_PLACES_52                                                                      \
  EP_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, " \
               "%46, %47, %48, %49, %50, %51"

/* c (+)= a b over eight terms, 64 by 104 or 64: warp w of the warpgroup has the rows 16 w to
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

static __device__ __forceinline__ void multiply_64(float (&c)[8][4], const unsigned (&a)[4],
                                                   unsigned long long b, int adds) {
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" EP_PLACES_32
               "}, {%32, %33, %34, %35}, %36, adds, 1, 1;\n}"
               : EP_EIGHT_FOURS(c)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

/* --- the way forward ------------------------------------------------------------------------- */

/* As product() of products.cuh: the sum over a line of terms a stage. Of six stages four are on
 * their way, one is multiplied, and one may still be read by the slower warpgroup. */
static __device__ __forceinline__ void lines_product(float (&c)[1][13][4], float *area,
                                                     const matrix &a, const matrix &b,
                                                     const task &of, int &awaits) {
  typedef wide<false> S;
  constexpr int DEPTH = 6, AHEAD = DEPTH - 2, A_FLOATS = S::M * LINE, STAGE = (S::M + S::N) * LINE;
  static_assert(DEPTH * STAGE + 8 * LINE <= EP_GRID_DESCENT_AREA, "what plan.c reserves");
  strip<S::M, LINE, LINE, THREADS, true> of_a(a, of.m, of.first);
  strip<S::N, LINE, LINE, THREADS, true> of_b(b, of.n, of.first);
  float *lines = lines_begin(area), *to = lines;
  int stages = (of.end - of.first + LINE - 1) / LINE, fetched = 0, slot = 0;
  if (awaits != EP_GRID_NONE) {
#pragma unroll 1
    for (; fetched < AHEAD && fetched < stages; fetched++, of_a.right(LINE))
      of_a.load(lines + fetched * STAGE);
    meeting_await(awaits);
  }
#pragma unroll
  for (int j = 0; j < S::T; j++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[0][j][q] = 0;
#pragma unroll 1
  for (int k = -AHEAD; k < stages; k++) {
    if (k >= 0) {
      asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
      lines_publish();
      __syncthreads();
    }
    int next = k + AHEAD;
    if (next < stages) {
      if (next >= fetched) {
        of_a.load(to);
        of_a.right(LINE);
      }
      of_b.load(to + A_FLOATS);
      of_b.right(LINE);
    }
    to = to == lines + (DEPTH - 1) * STAGE ? lines : to + STAGE;
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (k < 0) continue;
    const float *here = lines + slot * STAGE, *half = here + threadIdx.x / 128 * 64 * LINE;
    slot = slot == DEPTH - 1 ? 0 : slot + 1;
    products_begin();
#pragma unroll
    for (int term = 0; term < LINE; term += 8)
      multiply_104(c[0], lines_of(half + term), lines_of(here + A_FLOATS + term));
    products_commit();
    products_wait<1>();
  }
  products_wait<0>();
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
}

#endif
