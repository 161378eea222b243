/* products.cuh: products of matrices on tensor cores, for cuda/grid: a block takes a tile of the
 * result, in stages through shared memory. */
#ifndef EP_KERNELS_CUDA_GRID_PRODUCTS_CUH
#define EP_KERNELS_CUDA_GRID_PRODUCTS_CUH

#include "kernels/cuda/grid/span.h"
#include "kernels/cuda/tensor.cuh"

constexpr int WARP = 32, THREADS = EP_GRID_THREADS, WARPS = THREADS / WARP;
constexpr unsigned ALL = 0xffffffffu;

struct four {
  float of[4];
};

static __device__ __forceinline__ four four_of(const float *from) {
  float4 v = *(const float4 *)from;
  return {{v.x, v.y, v.z, v.w}};
}

static __device__ __forceinline__ void four_store(float *to, const four &f) {
  *(float4 *)to = make_float4(f.of[0], f.of[1], f.of[2], f.of[3]);
}

/* --- tiles ----------------------------------------------------------------------------------- */

/* [rows, columns], row-major; zero outside. */
struct matrix {
  const float *at;
  long long stride;
  int rows, columns;
  const int *order; /* where row i lies, or NULL */
  bool aligned;     /* any four columns from a multiple of four lie on 16 bytes, or outside */
};

static __device__ __forceinline__ void copy_four(float *to, const float *from, bool there) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}

static __device__ __forceinline__ void copy_one(float *to, const float *from, bool there) {
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from),
               "r"(there ? 4 : 0)
               : "memory");
}

/* As tile_load, for rows that lie anyhow. columns: a power of two. */
static __device__ __noinline__ void tile_load_any(float *to, const matrix from, int row, int column,
                                                  int rows, int columns, int stride, bool cuts) {
  int shift = 31 - __clz(columns);
  while (cuts && shift > 0 && column + (1 << (shift - 1)) >= from.columns) shift--;
  columns = 1 << shift;
#pragma unroll 1
  for (int e = (int)threadIdx.x; e < rows * columns; e += THREADS) {
    int r = e >> shift, c = e & (columns - 1);
    bool there = row + r < from.rows && column + c < from.columns;
    long long line = there ? (from.order ? from.order[row + r] : row + r) : 0;
    copy_one(to + r * stride + c, there ? from.at + line * from.stride + column + c : from.at,
             there);
  }
}

/* Starts the copy of R rows and C columns to shared memory, [R, S]; rows beyond the matrix become
 * zero, and columns as well unless it CUTS them: where they are no terms of a sum, what they give
 * is nobody's. */
template <int R, int C, int S, bool CUTS>
static __device__ __forceinline__ void tile_load(float *to, const matrix &from, int row,
                                                 int column) {
  if (from.aligned) {
    constexpr int ACROSS = C / 4, COUNT = R * ACROSS;
#pragma unroll
    for (int i = 0; i < (COUNT + THREADS - 1) / THREADS; i++) {
      int e = (int)threadIdx.x + i * THREADS, r = e / ACROSS, c = e % ACROSS * 4;
      if (COUNT % THREADS != 0 && e >= COUNT) break;
      if (CUTS && column + c >= from.columns) continue;
      bool there = row + r < from.rows && column + c < from.columns;
      long long line = there ? (from.order ? from.order[row + r] : row + r) : 0;
      copy_four(to + r * S + c, there ? from.at + line * from.stride + column + c : from.at, there);
    }
  } else {
    tile_load_any(to, from, row, column, R, C, S, CUTS);
  }
}

/* How a block takes M by N of a result: its warps lie WM by WN on it, WK of them share out the
 * terms of a sum, K a stage. A_BY_K: a matrix's rows are the terms of the sum; else its columns. */
template <int M_, int N_, int K_, int WM_, int WN_, int WK_, bool A_BY_K_, bool B_BY_K_>
struct shape {
  static constexpr int M = M_, N = N_, K = K_, WM = WM_, WN = WN_, WK = WK_;
  static constexpr bool A_BY_K = A_BY_K_, B_BY_K = B_BY_K_;
  static constexpr int MF = M / (16 * WM), T = N / (8 * WN);
  /* Strides for which the loads of a warp meet in no bank. */
  static constexpr int A_ROWS = A_BY_K ? K : M, A_COLUMNS = A_BY_K ? M : K;
  static constexpr int B_ROWS = B_BY_K ? K : N, B_COLUMNS = B_BY_K ? N : K;
  static constexpr int A_STRIDE = A_COLUMNS + (A_BY_K ? 8 : 4);
  static constexpr int B_STRIDE = B_COLUMNS + (B_BY_K ? 8 : 4);
  static constexpr int A_FLOATS = A_ROWS * A_STRIDE, STAGE = A_FLOATS + B_ROWS * B_STRIDE;
  /* The result in shared memory: [M, N], or [N, M], once for each of WK. */
  static constexpr bool C_BY_M = A_BY_K && B_BY_K;
  static constexpr int C_ROWS = C_BY_M ? M : N, C_COLUMNS = C_BY_M ? N : M;
  static constexpr int C_STRIDE = C_COLUMNS + (C_BY_M ? 8 : 4), C_FLOATS = C_ROWS * C_STRIDE;
  static constexpr int QUADS = C_ROWS * C_COLUMNS / 4;
  /* Fours of the result that a thread ends at once: all of them, where they are few. */
  static constexpr int EACH = (QUADS + THREADS - 1) / THREADS, BATCH = EACH <= 2 ? EACH
                                                                       : C_BY_M  ? 4
                                                                                 : 2;
  static constexpr bool EARLY = BATCH == EACH;
  static_assert(WM * WN * WK == WARPS && K % (8 * WK) == 0, "all warps have as much to do");
  static_assert(WK * C_FLOATS <= EP_GRID_STAGES * STAGE, "the result lies where the stages were");
  static_assert(EP_GRID_STAGES * STAGE <= EP_GRID_AREA, "what plan.c reserves");
};

typedef shape<EP_GRID_LARGE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K, 4, 1, 2, false, false>
    forward_large;
typedef shape<EP_GRID_SMALL_M, EP_GRID_SMALL_N, EP_GRID_SMALL_K, 1, 1, 8, false, false>
    forward_small;
typedef shape<EP_GRID_LARGE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K, 4, 1, 2, true, false>
    backward_large;
typedef shape<EP_GRID_SMALL_M, EP_GRID_SMALL_N, EP_GRID_SMALL_K, 1, 1, 8, true, false>
    backward_small;
typedef shape<EP_GRID_WEIGHTS_LARGE_M, EP_GRID_WEIGHTS_LARGE_N, EP_GRID_WEIGHTS_K, 4, 2, 1, true,
              true>
    weights_large;
typedef shape<EP_GRID_WEIGHTS_SMALL_M, EP_GRID_WEIGHTS_SMALL_N, EP_GRID_WEIGHTS_K, 1, 2, 4, true,
              true>
    weights_small;
static_assert(EP_GRID_STAGES * weights_small::STAGE == EP_GRID_WEIGHTS_SMALL_AREA, "as plan.c has");

template <class S>
static __device__ __forceinline__ void stage_load(float *stage, const matrix &a, const matrix &b,
                                                  int m, int n, int k) {
  tile_load<S::A_ROWS, S::A_COLUMNS, S::A_STRIDE, S::A_BY_K>(stage, a, S::A_BY_K ? k : m,
                                                             S::A_BY_K ? m : k);
  tile_load<S::B_ROWS, S::B_COLUMNS, S::B_STRIDE, S::B_BY_K>(stage + S::A_FLOATS, b,
                                                             S::B_BY_K ? k : n, S::B_BY_K ? n : k);
}

template <class S, bool PRECISE>
static __device__ __forceinline__ void stage_multiply(float (&c)[S::MF][S::T][4],
                                                      const float *stage) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  int m = warp % S::WM * S::MF * 16 + g, n = warp / S::WM % S::WN * S::T * 8 + g;
  const float *a = stage + (S::A_BY_K ? m : m * S::A_STRIDE),
              *b = stage + S::A_FLOATS + (S::B_BY_K ? n : n * S::B_STRIDE);
  constexpr int A_M = S::A_BY_K ? 1 : S::A_STRIDE, A_K = S::A_BY_K ? S::A_STRIDE : 1,
                B_N = S::B_BY_K ? 1 : S::B_STRIDE, B_K = S::B_BY_K ? S::B_STRIDE : 1;
#pragma unroll
  for (int step = 0; step < S::K / (8 * S::WK); step++) {
    int k = (step * S::WK + warp / (S::WM * S::WN)) * 8 + t;
    part of_a[S::MF][4];
#pragma unroll
    for (int i = 0; i < S::MF; i++)
#pragma unroll
      for (int q = 0; q < 4; q++)
        of_a[i][q] = part_of<PRECISE>(a[(i * 16 + q % 2 * 8) * A_M + (k + q / 2 * 4) * A_K]);
#pragma unroll
    for (int j = 0; j < S::T; j++) {
      part b0 = part_of<PRECISE>(b[j * 8 * B_N + k * B_K]),
           b1 = part_of<PRECISE>(b[j * 8 * B_N + (k + 4) * B_K]);
#pragma unroll
      for (int i = 0; i < S::MF; i++) multiply<PRECISE>(c[i][j], of_a[i], b0, b1);
    }
  }
}

/* c = the sum over k = first … end - 1 of a[m, k] b[k, n]; first: a multiple of S::K from which on
 * `end` cuts off nothing but whole stages, or the matrices' own end. column_sum: of a[m + thread],
 * added when `sums`: for results by M alone. */
template <class S, bool PRECISE>
static __device__ __forceinline__ void product(float (&c)[S::MF][S::T][4], float *area,
                                               const matrix &a, const matrix &b, int m, int n,
                                               int first, int end, bool sums, float &column_sum) {
#pragma unroll
  for (int i = 0; i < S::MF; i++)
#pragma unroll
    for (int j = 0; j < S::T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0;
  int stage = 0, ahead = EP_GRID_STAGES - 1;
  /* The first rounds only load: so that the code of a round is there once, and is fetched once. */
#pragma unroll 1
  for (int k = first - ahead * S::K, loads = 0; k < end; k += S::K) {
    if (k >= first) {
      asm volatile("cp.async.wait_group %0;" ::"n"(EP_GRID_STAGES - 2) : "memory");
      __syncthreads();
    }
    if (k + ahead * S::K < end)
      stage_load<S>(area + loads * S::STAGE, a, b, m, n, k + ahead * S::K);
    loads = (loads + 1) % EP_GRID_STAGES;
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (k < first) continue;
    const float *here = area + stage * S::STAGE;
    stage_multiply<S, PRECISE>(c, here);
    if (S::C_BY_M && sums && threadIdx.x < S::M)
#pragma unroll 16
      for (int i = 0; i < S::K; i++) column_sum += here[i * S::A_STRIDE + threadIdx.x];
    stage = (stage + 1) % EP_GRID_STAGES;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
}

/* --- results --------------------------------------------------------------------------------- */

template <class S>
static __device__ __forceinline__ void result_store(float *area, const float (&c)[S::MF][S::T][4]) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  int m = warp % S::WM * S::MF * 16 + g, n = warp / S::WM % S::WN * S::T * 8 + 2 * t;
  float *to = area + warp / (S::WM * S::WN) * S::C_FLOATS;
#pragma unroll
  for (int i = 0; i < S::MF; i++)
#pragma unroll
    for (int j = 0; j < S::T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        int row = m + i * 16 + q / 2 * 8, column = n + j * 8 + q % 2;
        to[S::C_BY_M ? row * S::C_STRIDE + column : column * S::C_STRIDE + row] = c[i][j][q];
      }
  __syncthreads();
}

/* Four neighbours of the result, added up over the warps that shared out the sum. */
template <class S> static __device__ __forceinline__ four result_at(const float *area, int quad) {
  constexpr int ACROSS = S::C_COLUMNS / 4;
  const float *from = area + quad / ACROSS * S::C_STRIDE + quad % ACROSS * 4;
  four sum = four_of(from);
#pragma unroll
  for (int w = 1; w < S::WK; w++) {
    four more = four_of(from + w * S::C_FLOATS);
#pragma unroll
    for (int i = 0; i < 4; i++) sum.of[i] += more.of[i];
  }
  return sum;
}

/* Waits until the counter, to which this block adds one, is at `target`. */
static __device__ __forceinline__ void counter_wait(unsigned *counter, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned seen;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    } while ((int)(seen - target) < 0);
  }
  __syncthreads();
}

/* A task of a cut product. */
struct task {
  int m, n, first, end; /* of the tile, and of the terms of its sums */
  int group, split;
};

template <class S>
static __device__ __forceinline__ task task_of(const ep_grid_cut &cut, int number, int terms) {
  task of;
  of.split = number % cut.splits;
  of.group = number / cut.splits;
  of.m = of.group % cut.across * S::M;
  of.n = of.group / cut.across * S::N;
  of.first = of.split * cut.chunk;
  of.end = of.first + cut.chunk < terms ? of.first + cut.chunk : terms;
  return of;
}

/* What the end of a task needs, fetched before its product where that is little. */
template <class S, class Use> struct early {
  typename Use::loaded of[S::BATCH];
  float extra;
};

template <class S, class Use>
static __device__ __forceinline__ void task_begin(const Use &use, int splits, bool has_extra,
                                                  early<S, Use> &to) {
  constexpr int ACROSS = S::C_COLUMNS / 4;
  to.extra = has_extra && threadIdx.x < S::M ? use.extra_load(threadIdx.x) : 0;
  if constexpr (S::EARLY) {
    if (splits > 1) return;
#pragma unroll
    for (int i = 0; i < S::BATCH; i++) {
      int e = (int)threadIdx.x + i * THREADS;
      if (e < S::QUADS) use.load(e / ACROSS, e % ACROSS * 4, to.of[i]);
    }
  }
}

/* This block's part of a sum goes to the others, and theirs come. group: [splits, STRIDE]. */
template <class S>
static __device__ __forceinline__ void parts_exchange(float *area, const task &of, int splits,
                                                      float *group, unsigned *counter,
                                                      unsigned turn, bool has_extra, float &extra) {
  constexpr int STRIDE = S::QUADS * 4 + (S::C_BY_M ? S::M : 0);
  float *mine = group + of.split * STRIDE;
#pragma unroll 2
  for (int e = threadIdx.x; e < S::QUADS; e += THREADS)
    four_store(mine + 4 * e, result_at<S>(area, e));
  if (has_extra) mine[S::QUADS * 4 + threadIdx.x] = extra;
  counter_wait(counter, turn * splits);
  if (!has_extra || of.split != 0) return;
  extra = 0;
#pragma unroll 1
  for (int s = 0; s < splits; s++) extra += __ldcg(group + s * STRIDE + S::QUADS * 4 + threadIdx.x);
}

/* Ends a task: each four neighbours of the tile go to use.store(row, column, sum, use.load(row,
 * column)), rows and columns of the result as it lies in shared memory. Blocks that share a sum
 * exchange their parts through `partials` ([tasks, …]), meet at the counter, and share out the
 * tile; their parts are added in the order of the splits. extra: a number of each of the first
 * threads, which goes to use.extra(sum) on the same way. */
template <class S, class Use>
static __device__ __forceinline__ void
task_end(const float (&c)[S::MF][S::T][4], float *area, const ep_grid_cut &cut, const task &of,
         float *partials, unsigned *counters, unsigned turn, bool has_extra, float extra,
         const Use &use, early<S, Use> &with) {
  constexpr int ACROSS = S::C_COLUMNS / 4, STRIDE = S::QUADS * 4 + (S::C_BY_M ? S::M : 0);
  result_store<S>(area, c);
  int first = 0, end = S::QUADS, splits = cut.splits;
  float *group = partials + (long long)of.group * splits * STRIDE;
  has_extra = has_extra && threadIdx.x < S::M;
  if (splits > 1) {
    parts_exchange<S>(area, of, splits, group, counters + cut.counters + of.group, turn, has_extra,
                      extra);
    int share = (S::QUADS + splits - 1) / splits;
    first = of.split * share;
    end = first + share < S::QUADS ? first + share : S::QUADS;
  }
  if (has_extra && of.split == 0) use.extra(threadIdx.x, extra, with.extra);
#pragma unroll 1
  for (int at = first + (int)threadIdx.x; at < end; at += S::BATCH * THREADS) {
    four sum[S::BATCH];
#pragma unroll
    for (int i = 0; i < S::BATCH; i++) {
      int e = at + i * THREADS;
      if (e >= end) continue;
      if (!S::EARLY || splits > 1) use.load(e / ACROSS, e % ACROSS * 4, with.of[i]);
      if (splits == 1) {
        sum[i] = result_at<S>(area, e);
      } else {
        sum[i] = {{0, 0, 0, 0}};
#pragma unroll 4
        for (int s = 0; s < splits; s++) {
          float4 more = __ldcg((const float4 *)(group + s * STRIDE) + e);
          sum[i].of[0] += more.x, sum[i].of[1] += more.y;
          sum[i].of[2] += more.z, sum[i].of[3] += more.w;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < S::BATCH; i++) {
      int e = at + i * THREADS;
      if (e < end) use.store(e / ACROSS, e % ACROSS * 4, sum[i], with.of[i]);
    }
  }
  __syncthreads();
}

#endif
