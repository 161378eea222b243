/* updates.cuh: the gradient of a layer's weights and biases for cuda/grid, summed over all rows,
 * and the update in its epilogue. A block's tiles follow one another without a gap: while one is
 * summed, the rows of the next are on their way, and its own weights lie in registers from its
 * start. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_UPDATES_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_UPDATES_CUH

#include "kernels/cuda/executors/grid/panels.cuh"

/* --- tiles ----------------------------------------------------------------------------------- */

/* How a block takes M outputs by N inputs, K rows a stage: its warps lie WM by WN on them. A warp's
 * fragments of the product are laid so that a thread has neighbours: of 16 outputs 2g and 2g + 1,
 * of 16 inputs 4t to 4t + 3. */
template <int M_, int N_, int WM_, int WN_> struct update_shape {
  static constexpr int M = M_, N = N_, K = EP_GRID_WEIGHTS_K, WM = WM_, WN = WN_;
  static constexpr int MF = M / (16 * WM), T = N / (8 * WN), QUADS = MF * T;
  static constexpr int A_STRIDE = M + 8, B_STRIDE = N + 8, A_FLOATS = K * A_STRIDE;
  static constexpr int STAGE = A_FLOATS + K * B_STRIDE;
  typedef strip<K, M, A_STRIDE, THREADS> a_strip;
  typedef strip<K, N, B_STRIDE, THREADS> b_strip;
  static constexpr int SHIFT = N == 128 ? 5 : 4; /* 1 << SHIFT fours in a row */
  static constexpr int SUMS = M * N + M;         /* of a task, in the scratch: by rows, biases */
  static_assert(WM * WN == WARPS && T % 2 == 0, "all warps have as much to do");
  static_assert(4 << SHIFT == N, "a row of fours");
  static_assert(EP_GRID_STAGES * STAGE + M * N <= EP_GRID_WIDE_AREA, "what plan.c reserves");
  /* A thread's quad in the tile. */
  static __device__ __forceinline__ int line(int quad, int thread) {
    return thread / WARP % WM * MF * 16 + quad / T * 16 + thread % WARP / 4 * 2 +
           quad % T / (T / 2);
  }
  static __device__ __forceinline__ int column(int quad, int thread) {
    return thread / WARP / WM * T * 8 + quad % (T / 2) * 16 + thread % 4 * 4;
  }
};

typedef update_shape<EP_GRID_WEIGHTS_LARGE_M, EP_GRID_WEIGHTS_LARGE_N, 4, 2> update_large;
typedef update_shape<EP_GRID_WEIGHTS_SMALL_M, EP_GRID_WEIGHTS_SMALL_N, 2, 4> update_small;
static_assert(EP_GRID_STAGES * update_small::STAGE + update_small::M * update_small::N ==
                  EP_GRID_WEIGHTS_SMALL_AREA,
              "as plan.c has");

template <class S>
static __device__ __forceinline__ four quad_of(const float (&c)[S::MF][S::T][4], int quad) {
  int i = quad / S::T, h = quad % S::T / (S::T / 2) * 2, j = quad % (S::T / 2) * 2;
  return {{c[i][j][h], c[i][j + 1][h], c[i][j][h + 1], c[i][j + 1][h + 1]}};
}

/* The tile, row by row. */
template <class S>
static __device__ __forceinline__ void quads_store(float *to, const float (&c)[S::MF][S::T][4]) {
#pragma unroll
  for (int quad = 0; quad < S::QUADS; quad++)
    four_store(to + S::line(quad, threadIdx.x) * S::N + S::column(quad, threadIdx.x),
               quad_of<S>(c, quad));
}

/* A stage, of which the first `rows` count. */
template <class S, bool PRECISE>
static __device__ __forceinline__ void rows_multiply(float (&c)[S::MF][S::T][4], const float *stage,
                                                     int rows) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
  const float *a = stage + warp % S::WM * S::MF * 16 + 2 * g + t * S::A_STRIDE;
  const float *b = stage + S::A_FLOATS + warp / S::WM * S::T * 8 + 2 * g + t * S::B_STRIDE;
#pragma unroll
  for (int k = 0; k < S::K; k += 8) {
    if (k >= rows) break;
    hi_lo of_a[S::MF][4];
#pragma unroll
    for (int i = 0; i < S::MF; i++)
#pragma unroll
      for (int q = 0; q < 2; q++) {
        float2 two = *(const float2 *)(a + (k + 4 * q) * S::A_STRIDE + i * 16);
        of_a[i][2 * q] = hi_lo_of<PRECISE>(two.x);
        of_a[i][2 * q + 1] = hi_lo_of<PRECISE>(two.y);
      }
#pragma unroll
    for (int j = 0; j < S::T; j += 2) {
      float2 b0 = *(const float2 *)(b + k * S::B_STRIDE + j * 8),
             b1 = *(const float2 *)(b + (k + 4) * S::B_STRIDE + j * 8);
#pragma unroll
      for (int i = 0; i < S::MF; i++) {
        multiply<PRECISE>(c[i][j], of_a[i], hi_lo_of<PRECISE>(b0.x), hi_lo_of<PRECISE>(b1.x));
        multiply<PRECISE>(c[i][j + 1], of_a[i], hi_lo_of<PRECISE>(b0.y), hi_lo_of<PRECISE>(b1.y));
      }
    }
  }
}

/* Where the copies are: some stages ahead of the products, in the same task or the block's next. */
template <class S> struct copying {
  const ep_grid_cut &cut;
  const matrix &a, &b;
  float *area;
  int number, end, blocks, terms; /* number: of the task to come */
  int stage, left;                /* of the task at hand */
  typename S::a_strip of_a;
  typename S::b_strip of_b;
  __device__ __forceinline__ void next() {
    while (left <= 0 && number < end) { /* a part of a short batch may be empty */
      task at = task_of<S>(cut, number, terms);
      of_a = typename S::a_strip(a, at.first, at.m);
      of_b = typename S::b_strip(b, at.first, at.n);
      left = (at.end - at.first + S::K - 1) / S::K;
      number += blocks;
    }
    if (left > 0) {
      float *to = area + stage * S::STAGE;
      of_a.load(to);
      of_b.load(to + S::A_FLOATS);
      of_a.down(S::K);
      of_b.down(S::K);
      stage = (stage + 1) % EP_GRID_STAGES;
      left--;
    }
    cp_async_commit();
  }
};

/* Ends a task whose sums are in parts, each in the scratch: blocks that share them meet at the
 * counter and share out the tile. sums: [splits, SUMS]. */
template <class S>
static __device__ __noinline__ void sums_end(int l, const task of, int splits, const float *sums,
                                             unsigned *counter) {
  constexpr int QUADS = S::M * S::N / 4;
  counter_meet(counter, now_of().turn * splits);
  if (of.n == 0 && threadIdx.x < S::M && of.split == 0) {
    float bias = 0;
#pragma unroll 1
    for (int s = 0; s < splits; s++) bias += __ldcg(sums + s * S::SUMS + S::M * S::N + threadIdx.x);
    bias_update(l, of.m + (int)threadIdx.x, bias);
  }
  int share = (QUADS / splits + THREADS - 1) / THREADS * THREADS, first = share * of.split;
  tile_update(update_place_of(args_of().layers[l], of.m, of.n), {sums, splits, S::SUMS, S::SHIFT},
              first, first + share < QUADS ? first + share : QUADS);
}

/* A thread's weights of a tile that lies inside the layer, and what they become. from: of its first
 * quad. */
template <class S> static __device__ __forceinline__ int quad_row(int quad) {
  return quad / S::T * 16 + quad % S::T / (S::T / 2);
}

template <class S>
static __device__ __forceinline__ void weights_load(four (&weights)[S::QUADS], const float *from,
                                                    long long stride) {
#pragma unroll
  for (int quad = 0; quad < S::QUADS; quad++)
    weights[quad] = four_of(from + quad_row<S>(quad) * stride + quad % (S::T / 2) * 16);
}

template <class S>
static __device__ __forceinline__ void
weights_update(const four (&weights)[S::QUADS], const float (&c)[S::MF][S::T][4],
               const update_way &way, float decay, float *to, long long stride) {
#pragma unroll
  for (int quad = 0; quad < S::QUADS; quad++) {
    four weight = weights[quad], sum = quad_of<S>(c, quad);
#pragma unroll
    for (int e = 0; e < 4; e++) weight.of[e] = update_plain(way, decay, weight.of[e], sum.of[e]);
    four_store(to + quad_row<S>(quad) * stride + quad % (S::T / 2) * 16, weight);
  }
}

/* The same of any tile. */
template <class S>
static __device__ __forceinline__ void edge_load(four (&weights)[S::QUADS],
                                                 const update_place &place) {
#pragma unroll
  for (int quad = 0; quad < S::QUADS; quad++) {
    int line = S::line(quad, threadIdx.x), column = S::column(quad, threadIdx.x);
    if (place.there(line, column)) place.load(args_of().parameters, line, column, weights[quad]);
  }
}

template <class S>
static __device__ __forceinline__ void
edge_update(const four (&weights)[S::QUADS], const float (&c)[S::MF][S::T][4],
            const update_way &way, const update_place &place) {
#pragma unroll
  for (int quad = 0; quad < S::QUADS; quad++) {
    int line = S::line(quad, threadIdx.x), column = S::column(quad, threadIdx.x);
    if (!place.there(line, column)) continue;
    four weight = weights[quad], sum = quad_of<S>(c, quad);
#pragma unroll
    for (int e = 0; e < 4; e++)
      weight.of[e] = update_plain(way, place.of.weight_decay, weight.of[e], sum.of[e]);
    place.store(args_of().parameters, line, column, weight);
  }
}

/* The tasks from `number` to `end`, each `blocks` after the last. */
template <class S, bool PRECISE>
static __device__ __noinline__ void update_run(int l, int number, int end, int blocks) {
  const args &s = args_of();
  const now n = now_of();
  const layer of = s.layers[l];
  const ep_grid_cut cut = of.update;
  float *area = block_memory + s.area_at;
  const matrix grad = grad_of(n, of), x = input_of(n, l);
  update_way way = update_way_of();
  constexpr bool FEW = S::QUADS <= 2; /* of a thread: all that may be said of one fits in line */
  bool alone = way.plain && cut.splits == 1;
  bool whole = alone && of.mirror < 0 && of.weight_decay >= 0;
  copying<S> copies{cut, grad, x, area, number, end, blocks, n.rows, 0, 0, {grad, 0, 0}, {x, 0, 0}};
#pragma unroll 1
  for (int i = 1; i < EP_GRID_STAGES; i++) copies.next();
  int stage = 0;
#pragma unroll 1
  for (; number < end; number += blocks) {
    task at = task_of<S>(cut, number, n.rows);
    bool has_bias = at.n == 0 && threadIdx.x < S::M;
    bool inside = whole && at.m + S::M <= of.out && at.n + S::N <= of.in;
    float *place = s.parameters + of.weight + (long long)(at.m + S::line(0, threadIdx.x)) * of.in +
                   at.n + S::column(0, threadIdx.x);
    float c[S::MF][S::T][4] = {}, bias = 0;
    four weights[S::QUADS] = {};
    if (inside)
      weights_load<S>(weights, place, of.in);
    else if (FEW && alone)
      edge_load<S>(weights, update_place_of(of, at.m, at.n));
#pragma unroll 1
    for (int k = at.first; k < at.end; k += S::K) {
      cp_async_wait_group<EP_GRID_STAGES - 2>();
      __syncthreads();
      copies.next();
      const float *here = area + stage * S::STAGE;
      stage = (stage + 1) % EP_GRID_STAGES;
      rows_multiply<S, PRECISE>(c, here, at.end - k);
      if (has_bias)
#pragma unroll 4
        for (int row = 0; row < S::K; row++) bias += here[row * S::A_STRIDE + threadIdx.x];
    }
    if (inside) {
      way.step = state_of().update;
      weights_update<S>(weights, c, way, of.weight_decay, place, of.in);
      int o = at.m + (int)threadIdx.x;
      if (has_bias && of.bias >= 0 && of.bias_decay >= 0)
        s.parameters[of.bias + o] =
            update_plain(way, of.bias_decay, s.parameters[of.bias + o], bias);
    } else if (FEW && alone) {
      way.step = state_of().update;
      edge_update<S>(weights, c, way, update_place_of(of, at.m, at.n));
      if (has_bias) bias_update(l, at.m + (int)threadIdx.x, bias);
    } else if (cut.splits == 1) {
      float *sums = area + EP_GRID_STAGES * S::STAGE;
      quads_store<S>(sums, c);
      if (has_bias) bias_update(l, at.m + (int)threadIdx.x, bias);
      __syncthreads();
      tile_update(update_place_of(s.layers[l], at.m, at.n), {sums, 1, 0, S::SHIFT}, 0,
                  S::M * S::N / 4);
    } else {
      float *sums = n.scratch + of.partials + at.group * cut.splits * S::SUMS;
      float *mine = sums + at.split * S::SUMS;
      quads_store<S>(mine, c);
      if (has_bias) mine[S::M * S::N + threadIdx.x] = bias;
      sums_end<S>(l, at, cut.splits, sums, counters_of() + cut.counters + at.group);
    }
  }
  __syncthreads();
}

constexpr int FEW_UPDATES = 3;

/* The gradient of a layer's weights and biases, summed over all rows, and the update, by `blocks`
 * blocks of which this is number `block`. The first `skip` tasks are others', those of layer `last`
 * the last of them (-1: none); returns the sum of those and its own. Behind panels, a few small
 * tasks are left to the blocks that have no panel, since one takes longer than some of these, where
 * the optimizer keeps nothing. */
template <bool PRECISE>
static __device__ int update(int l, int last, int skip, int block, int blocks) {
  const layer &of = args_of().layers[l];
  if (of.weight_decay < 0 && of.bias_decay < 0) return skip;
  bool by_panels = !PRECISE && WARPGROUPS && of.panels.splits > 0;
  const ep_grid_cut &cut = by_panels ? of.panels : of.update;
  int tasks = cut.across * cut.down * cut.splits, number = block - skip % blocks;
  int idle = blocks - skip % blocks;
  bool behind = last >= 0 && args_of().layers[last].panels.splits > 0;
  if (behind && args_of().slots == 0 && !by_panels && !cut.large && cut.splits == 1 &&
      tasks > idle && tasks <= FEW_UPDATES * idle) {
    if (number >= 0) update_run<update_small, PRECISE>(l, number, tasks, idle);
    return skip + idle;
  }
  if (number < 0) number += blocks;
  if (number >= tasks) return skip + tasks;
  if (by_panels) {
    if constexpr (!PRECISE && WARPGROUPS) panels_update(l, number, tasks, blocks);
  } else if (cut.large)
    update_run<update_large, PRECISE>(l, number, tasks, blocks);
  else
    update_run<update_small, PRECISE>(l, number, tasks, blocks);
  return skip + tasks;
}

#endif
