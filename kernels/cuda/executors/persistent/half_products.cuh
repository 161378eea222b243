/* half_products.cuh: the products of products.cuh in bfloat16, 16 terms at a time, for
 * cuda/persistent: weights are float32, rounded on the way; values and gradients come by ldmatrix.
 *
 * Which term is which is nobody's business as long as both operands agree. Where neighbouring terms
 * of a weight are in different lines, a lane's two of eight terms are four apart, so that lanes
 * meet other banks. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_HALF_PRODUCTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_HALF_PRODUCTS_CUH

#include "kernels/cuda/executors/persistent/context.cuh"

/* Whether a lane's two of eight terms are neighbours: a line of weights[m * W_M + k * W_K] has
 * them. */
template <int W_M, int W_K> constexpr bool has_neighbours() {
  return W_K == 1 && W_M > 1;
}

/* a: 16 outputs by 16 terms of weights[m * W_M + k * W_K], from term k on. CLAMPS: terms behind the
 * last of K are the last, since what is in lines behind the weights may be no number. Behind the
 * last neighbours come other weights, or 16 zeros (memory.c). */
template <int M, int K, int W_M, int W_K, bool CLAMPS>
static __device__ __forceinline__ void half_weights(const context &c, const float *weights, int k,
                                                    unsigned (&a)[4]) {
  const int g = c.lane / 4, t = c.lane % 4;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float *of = weights + (g + i % 2 * 8) * W_M;
    const int term = k + i / 2 * 8;
    float pair[2];
    if (M <= 8 && i % 2 == 1) {
      a[i] = 0;
      continue;
    }
    if constexpr (has_neighbours<W_M, W_K>() && W_M % 2 == 0) {
      load(pair, of + term + 2 * t);
    } else if constexpr (has_neighbours<W_M, W_K>()) {
      pair[0] = of[term + 2 * t], pair[1] = of[term + 2 * t + 1];
    } else {
      const int first = term + t, second = first + 4;
      pair[0] = of[(CLAMPS ? min(first, K - 1) : first) * W_K];
      pair[1] = of[(CLAMPS ? min(second, K - 1) : second) * W_K];
    }
    a[i] = bf16_pair(pair[0], pair[1]);
  }
}

/* b of two fragments of eight rows: 16 terms of x[k, LINE], in the order of half_weights. */
template <bool NEIGHBOURS, bool TWO>
static __device__ __forceinline__ void half_values(const context &c, const half_bits *x, int k,
                                                   unsigned (&b)[4]) {
  const int matrix = c.lane / 8, line = c.lane % 8;
  const int term = k + matrix % 2 * 8 + (NEIGHBOURS ? line : line / 2 + line % 2 * 4);
  ldmatrix_transposed(b, x + term * LINE + (TWO ? matrix / 2 * 8 : 0));
}

/* The same of the input's rows. */
template <bool NEIGHBOURS, bool TWO>
static __device__ __forceinline__ void half_values(const context &c, const float *x, int k,
                                                   unsigned (&b)[4]) {
  const int g = c.lane / 4, t = c.lane % 4;
#pragma unroll
  for (int i = 0; i < (TWO ? 4 : 2); i++) {
    const float *from = x + (g + i / 2 * 8) * INPUT_LINE + k + i % 2 * 8 + (NEIGHBOURS ? 2 * t : t);
    b[i] = bf16_pair(from[0], from[NEIGHBOURS ? 1 : 4]);
  }
}

/* One warp's part of a tile, as tile_multiply has it. x: at the tile's first row. */
template <class TILING, int M, int K, int W_M, int W_K, int X_ROW, class X>
static __device__ __forceinline__ void half_multiply(const context &c, const float *weights,
                                                     const X *x, int split,
                                                     float (&sum)[TILING::FRAGMENTS][4]) {
  constexpr int STEPS = divide_up(K, TERMS), EACH = STEPS / TILING::SPLITS,
                LEFT = STEPS % TILING::SPLITS;
  constexpr bool CUT = K % TERMS != 0; /* the last step is */
  constexpr int PEELED = CUT && LEFT == 0 && EACH > 0 ? 1 : 0;
  auto multiply_step = [&](int i, auto cut) {
    const int k = (i * TILING::SPLITS + split) * TERMS;
    unsigned a[4];
    half_weights<M, K, W_M, W_K, decltype(cut)::value>(c, weights, k, a);
#pragma unroll
    for (int j = 0; j < TILING::FRAGMENTS; j += 2) {
      constexpr bool TWO = TILING::FRAGMENTS > 1;
      unsigned b[4];
      half_values<has_neighbours<W_M, W_K>(), TWO>(c, x + j * 8 * X_ROW, k, b);
      mma_bf16(sum[j], a[0], a[1], a[2], a[3], b[0], b[1]);
      if constexpr (TWO) mma_bf16(sum[j + 1], a[0], a[1], a[2], a[3], b[2], b[3]);
    }
  };
#pragma unroll 4
  for (int i = 0; i < EACH - PEELED; i++) multiply_step(i, constant<false>());
  if constexpr (PEELED > 0) multiply_step(EACH - 1, constant<true>());
  if constexpr (LEFT > 0)
    if (split < LEFT) multiply_step(EACH, constant<CUT>());
}

/* --- gradients by weights --------------------------------------------------------------------- */

/* a: 16 inputs from `down` on by 16 rows. FULL: else there are eight. */
template <bool FULL>
static __device__ __forceinline__ void half_inputs(const context &c, const half_bits *x, int down,
                                                   int row, unsigned (&a)[4]) {
  const int matrix = c.lane / 8, line = c.lane % 8;
  ldmatrix(a, x + (down + matrix % 2 * 8 + line) * LINE + row + (FULL ? matrix / 2 * 8 : 0));
  if (!FULL) a[2] = a[3] = 0;
}

/* Of the input's rows. */
template <bool FULL>
static __device__ __forceinline__ void half_inputs(const context &c, const float *x, int down,
                                                   int row, unsigned (&a)[4]) {
  const int g = c.lane / 4, t = c.lane % 4;
  a[2] = a[3] = 0;
#pragma unroll
  for (int i = 0; i < (FULL ? 4 : 2); i++) {
    const float *from = x + (row + i / 2 * 8 + 2 * t) * INPUT_LINE + down + g + i % 2 * 8;
    a[i] = bf16_pair(from[0], from[INPUT_LINE]);
  }
}

/* As weights_product has it, the sums of one job: inputs from `down` on, ACROSS times eight outputs
 * from tile `first` of TILES on. */
template <int TILES, int ACROSS, class X>
static __device__ __forceinline__ void half_gradient(const context &c, const X *x,
                                                     const half_bits *grad, int down, int first,
                                                     float (&sum)[ACROSS][4]) {
  const int matrix = c.lane / 8, line = c.lane % 8;
  auto multiply_rows = [&](int row, auto full) {
    constexpr bool FULL = decltype(full)::value;
    unsigned a[4];
    half_inputs<FULL>(c, x, down, row, a);
#pragma unroll
    for (int j = 0; j < ACROSS; j += 2) {
      const int tile = min(first + j + matrix / 2, TILES - 1); /* what is behind is not stored */
      unsigned b[4];
      ldmatrix(b, grad + (tile * 8 + line) * LINE + row + (FULL ? matrix % 2 * 8 : 0));
      if (!FULL) b[1] = b[3] = 0;
      mma_bf16(sum[j], a[0], a[1], a[2], a[3], b[0], b[1]);
      if (j + 1 < ACROSS)
        mma_bf16(sum[j + 1 < ACROSS ? j + 1 : j], a[0], a[1], a[2], a[3], b[2], b[3]);
    }
  };
#pragma unroll 2
  for (int row = 0; row + TERMS <= ROWS; row += TERMS) multiply_rows(row, constant<true>());
  if constexpr (ROWS % TERMS != 0) multiply_rows(ROWS / TERMS * TERMS, constant<false>());
}

#endif
