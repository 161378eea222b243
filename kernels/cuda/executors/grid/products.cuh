/* products.cuh: products of matrices on tensor cores, for cuda/grid: a block takes a tile of the
 * result, in stages through shared memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_PRODUCTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_PRODUCTS_CUH

#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/global_memory.cuh"
#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/device/named_barrier.cuh"
#include "kernels/cuda/executors/grid/offsets.h"

constexpr int THREADS = EP_GRID_THREADS, WARPS = THREADS / WARP;

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

/* Four neighbours that another block wrote; zeros where nothing is. Loads that stand together do
 * not wait for one another. */
static __device__ __forceinline__ four four_there(const float *from, bool there) {
  four f;
  load_l2(f.of, from, there);
  return f;
}

static __device__ __forceinline__ four four_there(const float *from) {
  four f;
  load_l2(f.of, from);
  return f;
}

/* --- meetings -------------------------------------------------------------------------------- */

/* The thread that awaits: of another warp than the one that arrives, which stands still until the
 * block's stores can be seen. */
constexpr int AWAITS = THREADS - 1;

/* The block waits until the counter is at `target`. */
static __device__ __forceinline__ void counter_await(unsigned *counter, unsigned target) {
  if (threadIdx.x == AWAITS) counter_wait(counter, target);
  __syncthreads();
}

/* The block arrives, and waits until the counter is at `target`. */
static __device__ __forceinline__ void counter_meet(unsigned *counter, unsigned target) {
  grid_arrive(counter);
  counter_await(counter, target);
}

/* layers.cuh */
static __device__ __forceinline__ void meeting_await(int &meeting);

/* --- tiles ----------------------------------------------------------------------------------- */

/* [rows, columns], row-major; zero outside. Rows begin on 16 bytes; behind the last column zeros
 * lie, up to a multiple of four. */
struct matrix {
  const float *at;
  long long stride;
  int rows, columns;
};

/* R rows by C columns of a matrix, that GROUP threads bring to shared memory, [R, S], and then
 * others to the right or below. A thread has four columns of every PASS-th row. What lies outside
 * becomes zero. */
template <int R, int C, int S, int GROUP> struct strip {
  static constexpr int ACROSS = C / 4, PASS = GROUP / ACROSS, COUNT = (R + PASS - 1) / PASS;
  const float *from;
  long long stride;
  int rows, columns; /* from the thread's place on */
  static __device__ __forceinline__ int thread_row() { return (int)threadIdx.x % GROUP / ACROSS; }
  static __device__ __forceinline__ int thread_column() { return (int)threadIdx.x % ACROSS * 4; }
  __device__ __forceinline__ strip(const matrix &m, int row, int column) {
    row += thread_row(), column += thread_column();
    from = m.at + row * m.stride + column;
    stride = m.stride;
    rows = m.rows - row, columns = m.columns - column;
  }
  __device__ __forceinline__ void load(float *to) const {
    to += thread_row() * S + thread_column();
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      if (R % PASS == 0 || i < COUNT - 1 || thread_row() + i * PASS < R)
        cp_async_16(to + i * PASS * S, from + i * PASS * stride, i * PASS < rows && columns > 0);
  }
  __device__ __forceinline__ void right(int count) {
    from += count, columns -= count;
  }
  __device__ __forceinline__ void down(int count) {
    from += count * stride, rows -= count;
  }
};

/* How a block takes M by N of a result: its warps lie WM by WN on it, WK groups of them share out
 * the terms of a sum. A group takes K terms a stage, and waits for no other group. The sum goes
 * over the columns of `b`, and of `a`, or over the rows of `a`: A_BY_K. */
template <int M_, int N_, int TERMS, int WM_, int WN_, int WK_, int DEPTH_, bool A_BY_K_>
struct shape {
  static constexpr int M = M_, N = N_, WM = WM_, WN = WN_, WK = WK_, K = TERMS / WK;
  static constexpr int GROUP = WM * WN * WARP, DEPTH = DEPTH_; /* stages of a group */
  static constexpr bool A_BY_K = A_BY_K_, BY_WARPGROUPS = false;
  static constexpr int MF = M / (16 * WM), T = N / (8 * WN);
  /* Strides for which the loads of a warp, two neighbours a thread, meet in no bank. */
  static constexpr int A_STRIDE = A_BY_K ? M + 4 : K + 8, B_STRIDE = K + 8;
  static constexpr int A_FLOATS = (A_BY_K ? K : M) * A_STRIDE, STAGE = A_FLOATS + N * B_STRIDE;
  typedef strip<A_BY_K ? K : M, A_BY_K ? M : K, A_STRIDE, GROUP> a_strip;
  typedef strip<N, K, B_STRIDE, GROUP> b_strip;
  /* The result in shared memory, once for each group. */
  static constexpr int C_STRIDE = M + 4, C_FLOATS = N * C_STRIDE;
  static constexpr int QUADS = N * M / 4;
  /* Fours of the result that a thread ends at once: all of them, where they are few. */
  static constexpr int EACH = (QUADS + THREADS - 1) / THREADS, BATCH = EACH < 4 ? EACH : 4;
  static constexpr bool EARLY = BATCH == EACH;
  static_assert(WM * WN * WK == WARPS && K % 8 == 0, "all warps have as much to do");
  static_assert(WK * C_FLOATS <= EP_GRID_AREA, "what plan.c reserves");
  static_assert(WK * DEPTH * STAGE <= EP_GRID_AREA, "what plan.c reserves");
};

template <bool A_BY_K, bool PRECISE>
using large = shape<PRECISE ? EP_GRID_LARGE_M : EP_GRID_WIDE_M, EP_GRID_LARGE_N, EP_GRID_LARGE_K, 4,
                    1, 2, 2, A_BY_K>;
template <bool A_BY_K>
using small = shape<EP_GRID_SMALL_M, EP_GRID_SMALL_N, EP_GRID_SMALL_K, 1, 1, 8, 3, A_BY_K>;

/* Of eight terms a thread has two neighbours; of 16 outputs g and g + 8, or, BY_K, 2g and 2g + 1.
 */
template <class S, bool PRECISE>
static __device__ __forceinline__ void stage_multiply(float (&c)[S::MF][S::T][4],
                                                      const float *stage) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x % S::GROUP / WARP, g = lane / 4, t = lane % 4;
  int m = warp % S::WM * S::MF * 16, n = warp / S::WM * S::T * 8 + g;
  const float *a =
      stage + (S::A_BY_K ? m + 2 * g + 2 * t * S::A_STRIDE : (m + g) * S::A_STRIDE + 2 * t);
  const float *b = stage + S::A_FLOATS + n * S::B_STRIDE + 2 * t;
#pragma unroll
  for (int k = 0; k < S::K; k += 8) {
    hi_lo of_a[S::MF][4];
#pragma unroll
    for (int i = 0; i < S::MF; i++)
#pragma unroll
      for (int q = 0; q < 2; q++) {
        int offset =
            S::A_BY_K ? (k + q) * S::A_STRIDE + i * 16 : (i * 16 + q * 8) * S::A_STRIDE + k;
        float2 two = *(const float2 *)(a + offset);
        of_a[i][S::A_BY_K ? 2 * q : q] = hi_lo_of<PRECISE>(two.x);
        of_a[i][S::A_BY_K ? 2 * q + 1 : q + 2] = hi_lo_of<PRECISE>(two.y);
      }
#pragma unroll
    for (int j = 0; j < S::T; j++) {
      float2 two = *(const float2 *)(b + j * 8 * S::B_STRIDE + k);
      hi_lo b0 = hi_lo_of<PRECISE>(two.x), b1 = hi_lo_of<PRECISE>(two.y);
#pragma unroll
      for (int i = 0; i < S::MF; i++) multiply<PRECISE>(c[i][j], of_a[i], b0, b1);
    }
  }
}

typedef ep_grid_task task;

template <class S>
static __device__ __forceinline__ task task_of(const ep_grid_cut &cut, unsigned number, int terms) {
  return ep_grid_task_of(&cut, number, terms, S::M, S::N);
}

template <int GROUP> static __device__ __forceinline__ void group_sync(int group) {
  if constexpr (GROUP == WARP)
    __syncwarp();
  else
    named_barrier_sync<GROUP>(1 + group);
}

/* c = this group's part of the sum over k = of.first … of.end - 1 of a[m, k] b[k, n]; of.first: a
 * multiple of all groups' terms, from which on `end` cuts off nothing but as many, or the matrices'
 * own end. awaits: the ep_grid_meeting of what `b` has, which is awaited when the first of `a` is
 * on its way; none after that. */
template <class S, bool PRECISE>
static __device__ __forceinline__ void product(float (&c)[S::MF][S::T][4], float *area,
                                               const matrix &a, const matrix &b, const task &of,
                                               int &awaits) {
#pragma unroll
  for (int i = 0; i < S::MF; i++)
#pragma unroll
    for (int j = 0; j < S::T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][j][q] = 0;
  constexpr int AHEAD = S::DEPTH - 1, TERMS = S::K * S::WK;
  int group = (int)threadIdx.x / S::GROUP, first = of.first + group * S::K;
  int stages = (of.end - first + TERMS - 1) / TERMS, fetched = 0, slot = 0;
  typename S::a_strip of_a(a, S::A_BY_K ? first : of.m, S::A_BY_K ? of.m : first);
  typename S::b_strip of_b(b, of.n, first);
  float *mine = area + group * S::DEPTH * S::STAGE, *to = mine;
  if (awaits != EP_GRID_NONE) {
#pragma unroll 1
    for (; fetched < AHEAD && fetched < stages; fetched++) {
      of_a.load(mine + fetched * S::STAGE);
      S::A_BY_K ? of_a.down(TERMS) : of_a.right(TERMS);
    }
    meeting_await(awaits);
  }
  /* The first rounds only load: so that the code of a round is there once, and is fetched once. */
#pragma unroll 1
  for (int k = -AHEAD; k < stages; k++) {
    if (k >= 0) {
      cp_async_wait_group<AHEAD - 1>();
      group_sync<S::GROUP>(group);
    }
    int next = k + AHEAD;
    if (next < stages) {
      if (next >= fetched) {
        of_a.load(to);
        S::A_BY_K ? of_a.down(TERMS) : of_a.right(TERMS);
      }
      of_b.load(to + S::A_FLOATS);
      of_b.right(TERMS);
    }
    to = to == mine + AHEAD * S::STAGE ? mine : to + S::STAGE;
    cp_async_commit();
    if (k < 0) continue;
    stage_multiply<S, PRECISE>(c, mine + slot * S::STAGE);
    slot = slot == AHEAD ? 0 : slot + 1;
  }
  cp_async_wait_group<0>();
  __syncthreads();
}

/* --- results --------------------------------------------------------------------------------- */

/* Of what warp `warp` along M has, the first row of those that fragments call g and g + 8. */
template <class S> static __device__ __forceinline__ int result_row(int warp, int g) {
  if constexpr (S::BY_WARPGROUPS && S::A_BY_K) return ep_grid_pair(warp, g);
  return warp * S::MF * 16 + (S::A_BY_K ? 2 * g : g);
}

template <class S>
static __device__ __forceinline__ void result_store(float *area, const float (&c)[S::MF][S::T][4]) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x % S::GROUP / WARP, g = lane / 4, t = lane % 4;
  int m = result_row<S>(warp % S::WM, g), n = warp / S::WM * S::T * 8 + 2 * t;
  float *to = area + (int)threadIdx.x / S::GROUP * S::C_FLOATS;
#pragma unroll
  for (int i = 0; i < S::MF; i++)
#pragma unroll
    for (int j = 0; j < S::T; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) {
        int row = m + i * 16 + q / 2 * (S::A_BY_K ? 1 : 8);
        to[(n + j * 8 + q % 2) * S::C_STRIDE + row] = c[i][j][q];
      }
  __syncthreads();
}

/* Four neighbours of the result, added up over the warps that shared out the sum. */
template <class S> static __device__ __forceinline__ four result_at(const float *area, int quad) {
  constexpr int ACROSS = S::M / 4;
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

/* What the end of a task needs, fetched before its product where that is little. */
template <class S, class Use> struct early { typename Use::loaded of[S::BATCH]; };

template <class S, class Use>
static __device__ __forceinline__ void task_begin(const Use &use, int splits, early<S, Use> &to) {
  constexpr int ACROSS = S::M / 4;
  if constexpr (S::EARLY) {
    if (splits > 1) return;
#pragma unroll
    for (int i = 0; i < S::BATCH; i++) {
      int e = (int)threadIdx.x + i * THREADS;
      if (e < S::QUADS) use.load(e / ACROSS, e % ACROSS * 4, to.of[i]);
    }
  }
}

/* Leaves a task's sums to others who add up parts: to, [N, M], a row of the batch a line. Turned in
 * shared memory, since storing takes its time by the line of memory, whole or not. */
template <class S>
static __device__ __forceinline__ void parts_leave(const float (&c)[S::MF][S::T][4], float *area,
                                                   float *to) {
  constexpr int ACROSS = S::M / 4, PASS = THREADS / ACROSS;
  const int row = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * 4;
  result_store<S>(area, c);
  const float *from = area + row * S::C_STRIDE + column;
  to += row * S::M + column;
#pragma unroll
  for (int i = 0; i < S::N; i += PASS)
    if (S::N % PASS == 0 || row + i < S::N)
      four_store(to + i * S::M, result_at<S>(from + i * S::C_STRIDE, 0));
  __syncthreads();
}

/* Ends a task: each four neighbours of the tile go to use.store(row, column, sum, use.load(row,
 * column)), rows and columns of the result as it lies in shared memory. Blocks that share a sum
 * exchange their parts through `partials` ([tasks, N, M]), meet at the counter, and share out the
 * tile; their parts are added in the order of the splits. */
template <class S, class Use>
static __device__ __forceinline__ void
task_end(const float (&c)[S::MF][S::T][4], float *area, const ep_grid_cut &cut, const task &of,
         float *partials, unsigned *counters, unsigned turn, const Use &use, early<S, Use> &with) {
  constexpr int ACROSS = S::M / 4, STRIDE = S::QUADS * 4;
  result_store<S>(area, c);
  int first = 0, end = S::QUADS, splits = cut.splits;
  float *group = partials + (long long)of.group * splits * STRIDE;
  if (splits > 1) {
#pragma unroll 2
    for (int e = threadIdx.x; e < S::QUADS; e += THREADS)
      four_store(group + of.split * STRIDE + 4 * e, result_at<S>(area, e));
    counter_meet(counters + cut.counters + of.group, turn * splits);
    int share = (S::QUADS + splits - 1) / splits;
    first = of.split * share;
    end = first + share < S::QUADS ? first + share : S::QUADS;
  }
  /* Loads of a batch stand together, at places that are always there, so that none waits for
   * another. */
#pragma unroll 1
  for (int at = first + (int)threadIdx.x; at < end; at += S::BATCH * THREADS) {
    four sum[S::BATCH];
    int place[S::BATCH];
#pragma unroll
    for (int i = 0; i < S::BATCH; i++) {
      place[i] = at + i * THREADS < end ? at + i * THREADS : at;
      if (!S::EARLY || splits > 1) use.load(place[i] / ACROSS, place[i] % ACROSS * 4, with.of[i]);
      sum[i] = {{0, 0, 0, 0}};
      if (splits == 1) sum[i] = result_at<S>(area, place[i]);
    }
    if (splits > 1) {
#pragma unroll 4
      for (int s = 0; s < splits; s++)
#pragma unroll
        for (int i = 0; i < S::BATCH; i++) {
          four more = four_there(group + s * STRIDE + 4 * place[i], at + i * THREADS < end);
#pragma unroll
          for (int e = 0; e < 4; e++) sum[i].of[e] += more.of[e];
        }
    }
#pragma unroll
    for (int i = 0; i < S::BATCH; i++)
      if (at + i * THREADS < end)
        use.store(place[i] / ACROSS, place[i] % ACROSS * 4, sum[i], with.of[i]);
  }
  __syncthreads();
}

#endif
