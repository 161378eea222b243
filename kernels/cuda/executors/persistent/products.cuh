/* products.cuh: products of a block's matrices in shared memory on tensor cores, for
 * cuda/persistent: TF32, or, PRECISE, 3xTF32 (mma.cuh), or, HALF, bfloat16 (half_products.cuh).
 *
 * Values are matrices [features, LINE] of a block's rows, the network's input [ROWS, INPUT_LINE],
 * weights [inputs, line]. Rows and columns behind the last are zero or are not stored. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_PRODUCTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_PRODUCTS_CUH

#include "kernels/cuda/executors/persistent/half_products.cuh"

/* How the tiles of 16 outputs by eight rows of a product are shared out: FRAGMENTS neighbouring
 * tiles of rows a warp at a time, SPLITS warps for one tile, which share its terms. */
template <int M, int FRAGMENTS_, int SPLITS_> struct tiling {
  static constexpr int FRAGMENTS = FRAGMENTS_, SPLITS = SPLITS_;
  static constexpr int PER_LINE = ROWS / 8 / FRAGMENTS, TILES = divide_up(M, 16) * PER_LINE;
  static constexpr int TEAMS = WARPS / SPLITS;
  /* The first warp that has less to do than others. */
  static constexpr int FREE = SPLITS == 1 ? TILES % WARPS : 0;
};

/* An operand as it lies there. RAW: it was not rounded when it was stored: TF32 takes it rounded.
 */
template <bool RAW> static __device__ __forceinline__ hi_lo operand_load(const float *from) {
  return hi_lo_of<PRECISE>(RAW ? operand_of<PRECISE>(*from) : *from);
}

/* Sums of a warp's tiles. Where they are few, what 3xTF32 adds to each is added up apart: it would
 * wait for itself. */
template <int TILES> struct tile_sums {
  static constexpr bool APART = PRECISE && TILES <= 2;
  float all[TILES][4] = {}, upper[APART ? TILES : 1][4] = {}, lower[APART ? TILES : 1][4] = {};

  __device__ __forceinline__ void multiply_add(int tile, const hi_lo (&a)[4], const hi_lo &b0,
                                               const hi_lo &b1) {
    if constexpr (APART) {
      mma_tf32(upper[tile], a[0].lo, a[1].lo, a[2].lo, a[3].lo, b0.hi, b1.hi);
      mma_tf32(lower[tile], a[0].hi, a[1].hi, a[2].hi, a[3].hi, b0.lo, b1.lo);
      mma_tf32(all[tile], a[0].hi, a[1].hi, a[2].hi, a[3].hi, b0.hi, b1.hi);
    } else {
      multiply<PRECISE>(all[tile], a, b0, b1);
    }
  }
  __device__ __forceinline__ float of(int tile, int i) const {
    if constexpr (APART) return all[tile][i] + (upper[tile][i] + lower[tile][i]);
    return all[tile][i];
  }
};

/* One warp's part of a tile: every SPLITS-th eight of K terms from `split` on. */
template <class TILING, int M, int K, int W_M, int W_K, int X_K, int X_ROW, bool RAW>
static __device__ __forceinline__ void tile_multiply(const context &c, const float *weights,
                                                     const float *x, int split,
                                                     tile_sums<TILING::FRAGMENTS> &sum) {
  constexpr int STEPS = divide_up(K, 8), EACH = STEPS / TILING::SPLITS,
                LEFT = STEPS % TILING::SPLITS, UNROLL = EACH <= 8 ? (EACH > 0 ? EACH : 1) : 4;
  const int g = c.lane / 4, t = c.lane % 4;
  weights += g * W_M + (split * 8 + t) * W_K;
  x += (split * 8 + t) * X_K + g * X_ROW;
  auto multiply_eight = [&](int i) {
    const float *w = weights + i * (TILING::SPLITS * 8 * W_K);
    const float *from = x + i * (TILING::SPLITS * 8 * X_K);
    hi_lo a[4];
    a[0] = operand_load<true>(w);
    a[2] = operand_load<true>(w + 4 * W_K);
    a[1] = a[3] = hi_lo{0, 0};
    if constexpr (M > 8) {
      a[1] = operand_load<true>(w + 8 * W_M);
      a[3] = operand_load<true>(w + 8 * W_M + 4 * W_K);
    }
#pragma unroll
    for (int j = 0; j < TILING::FRAGMENTS; j++)
      sum.multiply_add(j, a, operand_load<RAW>(from + j * 8 * X_ROW),
                       operand_load<RAW>(from + j * 8 * X_ROW + 4 * X_K));
  };
#pragma unroll UNROLL
  for (int i = 0; i < EACH; i++) multiply_eight(i);
  if constexpr (LEFT > 0)
    if (split < LEFT) multiply_eight(EACH);
}

/* out[m, row] = sum over k < K of weights[m * W_M + k * W_K] * x[k * X_K + row * X_ROW]:
 * take(m, row, values of two neighbouring rows). RAW: of x. All threads call. */
template <class TILING, int M, int K, int W_M, int W_K, int X_K, int X_ROW, bool RAW, class X,
          class TAKE>
static __device__ __forceinline__ void product(const context &c, const float *weights, const X *x,
                                               TAKE take) {
  const int team = c.warp % TILING::TEAMS, split = c.warp / TILING::TEAMS;
  const int g = c.lane / 4, t = c.lane % 4;
  float *scratch = memory + SCRATCH;
  if (split < TILING::SPLITS)
#pragma unroll 1
    for (int i = 0; i < divide_up(TILING::TILES, TILING::TEAMS); i++) {
      const int tile = team + i * TILING::TEAMS;
      if (tile >= TILING::TILES) break;
      const int down = tile / TILING::PER_LINE * 16,
                row = tile % TILING::PER_LINE * TILING::FRAGMENTS * 8;
      tile_sums<TILING::FRAGMENTS> sum;
      if constexpr (HALF)
        half_multiply<TILING, M, K, W_M, W_K, X_ROW>(c, weights + down * W_M, x + row * X_ROW,
                                                     split, sum.all);
      else
        tile_multiply<TILING, M, K, W_M, W_K, X_K, X_ROW, RAW>(c, weights + down * W_M,
                                                               x + row * X_ROW, split, sum);
#pragma unroll
      for (int j = 0; j < TILING::FRAGMENTS; j++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int m = down + h * 8 + g, at = row + j * 8 + 2 * t;
          const float of[2] = {sum.of(j, 2 * h), sum.of(j, 2 * h + 1)};
          if (m >= M) continue;
          if constexpr (TILING::SPLITS == 1)
            take(m, at, of);
          else
            store(scratch + (split * M + m) * LINE + at, of);
        }
    }
  if constexpr (TILING::SPLITS > 1) {
    block_sync();
#pragma unroll 1
    for (int i = 0; i < divide_up(M * ROWS / 2, THREADS); i++) {
      const int pair = c.thread + i * THREADS;
      if (pair >= M * ROWS / 2) break;
      const int m = pair / (ROWS / 2), row = pair % (ROWS / 2) * 2;
      float sum[2] = {0, 0};
#pragma unroll
      for (int k = 0; k < TILING::SPLITS; k++) {
        float part[2];
        load(part, scratch + (k * M + m) * LINE + row);
        sum[0] += part[0], sum[1] += part[1];
      }
      take(m, row, sum);
    }
  }
}

/* The sums of one job of weights_product: inputs from `down` on, ACROSS times eight outputs from
 * tile `first` of TILES on. */
template <int K, int TILES, int ACROSS, bool BY_ROWS, bool RAW>
static __device__ __forceinline__ void tile_gradient(const context &c, const float *x,
                                                     const float *grad, int down, int first,
                                                     tile_sums<ACROSS> &sum) {
  constexpr int X_K = BY_ROWS ? 1 : LINE, X_ROW = BY_ROWS ? INPUT_LINE : 1;
  const int g = c.lane / 4, t = c.lane % 4;
  const float *from = x + (down + g) * X_K + 2 * t * X_ROW;
  const float *by = grad + (first * 8 + g) * LINE + 2 * t;
  const bool has_lower = down + 8 < (K + 7) / 8 * 8;
#pragma unroll 4
  for (int r = 0; r < ROWS / 8; r++) {
    float upper[2], lower[2] = {0, 0};
    const float *at = from + r * 8 * X_ROW;
    if constexpr (BY_ROWS) {
      upper[0] = at[0], upper[1] = at[X_ROW];
      if (K > 8 && has_lower) lower[0] = at[8], lower[1] = at[X_ROW + 8];
    } else {
      load(upper, at);
      if (K > 8 && has_lower) load(lower, at + 8 * LINE);
    }
    const hi_lo a[4] = {operand_load<RAW>(&upper[0]), operand_load<RAW>(&lower[0]),
                        operand_load<RAW>(&upper[1]), operand_load<RAW>(&lower[1])};
#pragma unroll
    for (int j = 0; j < ACROSS; j++) {
      if (TILES % ACROSS != 0 && first + j >= TILES) continue;
      float of[2];
      load(of, by + j * 8 * LINE + r * 8);
      sum.multiply_add(j, a, hi_lo_of<PRECISE>(of[0]), hi_lo_of<PRECISE>(of[1]));
    }
  }
}

/* The gradient by weights: g[k, m] = sum over rows of x[k, row] * grad[m, row], a tile of 16 inputs
 * by ACROSS times eight outputs a warp at a time, from warp FIRST on: those before it still have
 * other work. x: [K, LINE], or, BY_ROWS, [ROWS, INPUT_LINE]. take(k, m, values of outputs m and m +
 * 1). All threads call. */
template <int K, int M, int ACROSS, int FIRST, bool BY_ROWS, bool RAW, class X, class TAKE>
static __device__ __forceinline__ void weights_product(const context &c, const X *x,
                                                       const number *grad, TAKE take) {
  constexpr int DOWN = divide_up(K, 16), TILES = divide_up(M, 8), TURNS = divide_up(TILES, ACROSS);
  const int g = c.lane / 4, t = c.lane % 4;
#pragma unroll 1
  for (int i = 0; i < divide_up(DOWN * TURNS, WARPS); i++) {
    const int job = (c.warp + WARPS - FIRST) % WARPS + i * WARPS;
    if (job >= DOWN * TURNS) break;
    const int down = job / TURNS * 16, first = job % TURNS * ACROSS;
    tile_sums<ACROSS> sum;
    if constexpr (HALF)
      half_gradient<TILES, ACROSS>(c, x, grad, down, first, sum.all);
    else
      tile_gradient<K, TILES, ACROSS, BY_ROWS, RAW>(c, x, grad, down, first, sum);
#pragma unroll
    for (int j = 0; j < ACROSS; j++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int k = down + h * 8 + g, m = (first + j) * 8 + 2 * t;
        float of[2] = {sum.of(j, 2 * h), sum.of(j, 2 * h + 1)};
        if (k < K && m < M) take(k, m, of);
      }
  }
}

#endif
