/* products.cuh: products of matrices in shared or global memory, a tile of them by each warp, on
 * tensor cores: TF32, or, where PRECISE, float32 as three products of TF32 (mma.cuh). */
#ifndef EP_KERNELS_CUDA_POPULATION_PRODUCTS_CUH
#define EP_KERNELS_CUDA_POPULATION_PRODUCTS_CUH

#include "kernels/cuda/device/mma.cuh"

/* --- operands ------------------------------------------------------------------------------- */

/* An operand is a matrix [n, k]. load(n, k): what a lane has of eight rows from n on and eight
 * columns from k on: of row lane / 4, two columns. Both operands of a product agree in which:
 * `PAIRED` ones are neighbours, 2 (lane % 4) and the next; others are lane % 4 and that + 4. The
 * order of k does not change the sum. */
static __device__ __forceinline__ int lane_row() {
  return threadIdx.x % WARP / 4;
}
static __device__ __forceinline__ int lane_column() {
  return threadIdx.x % 4;
}

/* k along the rows of memory. PAIRED. */
template <int STRIDE> struct rows_operand {
  const float *from;

  __device__ __forceinline__ explicit rows_operand(const float *matrix)
      : from(matrix + lane_row() * STRIDE + 2 * lane_column()) {}
  __device__ __forceinline__ float2 load(int n, int k) const {
    return *(const float2 *)(from + n * STRIDE + k);
  }
};

/* k down the columns of memory. */
template <int STRIDE, bool PAIRED> struct columns_operand {
  const float *from;

  __device__ __forceinline__ explicit columns_operand(const float *matrix)
      : from(matrix + (PAIRED ? 2 : 1) * lane_column() * STRIDE + lane_row()) {}
  __device__ __forceinline__ float2 load(int n, int k) const {
    const float *at = from + k * STRIDE + n;
    return make_float2(at[0], at[(PAIRED ? 1 : 4) * STRIDE]);
  }
};

/* Rows of the data that lie anywhere, k along them. PAIRED. numbers: of 8 COUNT rows. */
template <int STRIDE, int COUNT> struct gathered_rows {
  const float *from[COUNT];

  __device__ __forceinline__ gathered_rows(const float *data, const int *numbers) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      from[i] = data + (long long)numbers[8 * i + lane_row()] * STRIDE + 2 * lane_column();
  }
  __device__ __forceinline__ float2 load(int n, int k) const {
    return __ldg((const float2 *)(from[n / 8] + k));
  }
};

/* The same, k down them. */
template <int STRIDE> struct gathered_columns {
  const float *from;
  const int *numbers;

  __device__ __forceinline__ gathered_columns(const float *data, const int *of_rows)
      : from(data + lane_row()), numbers(of_rows + lane_column()) {}
  __device__ __forceinline__ float2 load(int n, int k) const {
    return make_float2(__ldg(from + (long long)numbers[k] * STRIDE + n),
                       __ldg(from + (long long)numbers[k + 4] * STRIDE + n));
  }
};

/* --- tiles ---------------------------------------------------------------------------------- */

/* A warp's tile: 16 M by 8 N. */
struct tile_shape {
  int m, n;
};

/* As large as leaves a tile for each warp, and divides the matrix of m_tiles by n_tiles. */
constexpr tile_shape tile_of(int m_tiles, int n_tiles, int warps, int n_most) {
  tile_shape tile = {1, n_most};
  while (tile.n > 1 && (n_tiles % tile.n != 0 || m_tiles * (n_tiles / tile.n) < warps)) tile.n /= 2;
  if (n_most > 2)
    while (tile.m < 4 && m_tiles % (2 * tile.m) == 0 &&
           m_tiles / (2 * tile.m) * (n_tiles / tile.n) >= warps)
      tile.m *= 2;
  return tile;
}

/* c += a b^T of columns k_from to k_till of both; c: fragments as in mma.cuh. PRECISE: the products
 * with what TF32 leaves over have sums of their own, so that fewer wait for each other. */
template <bool PRECISE, int M, int N, class A, class B>
static __device__ __forceinline__ void tile_multiply(float (&c)[M][N][4], const A &a, const B &b,
                                                     int k_from, int k_till) {
  float rest[M][N][4] = {};
#pragma unroll 2
  for (int k = k_from; k < k_till; k += 8) {
    hi_lo of_b[N][2];
#pragma unroll
    for (int j = 0; j < N; j++) {
      const float2 two = b.load(8 * j, k);
      of_b[j][0] = hi_lo_of<PRECISE>(two.x);
      of_b[j][1] = hi_lo_of<PRECISE>(two.y);
    }
#pragma unroll
    for (int i = 0; i < M; i++) {
      const float2 upper = a.load(16 * i, k), lower = a.load(16 * i + 8, k);
      const hi_lo of_a[4] = {hi_lo_of<PRECISE>(upper.x), hi_lo_of<PRECISE>(lower.x),
                             hi_lo_of<PRECISE>(upper.y), hi_lo_of<PRECISE>(lower.y)};
#pragma unroll
      for (int j = 0; j < N; j++) {
        if constexpr (PRECISE) {
          mma_tf32(rest[i][j], of_a[0].lo, of_a[1].lo, of_a[2].lo, of_a[3].lo, of_b[j][0].hi,
                   of_b[j][1].hi);
          mma_tf32(rest[i][j], of_a[0].hi, of_a[1].hi, of_a[2].hi, of_a[3].hi, of_b[j][0].lo,
                   of_b[j][1].lo);
        }
        mma_tf32(c[i][j], of_a[0].hi, of_a[1].hi, of_a[2].hi, of_a[3].hi, of_b[j][0].hi,
                 of_b[j][1].hi);
      }
    }
  }
  if constexpr (PRECISE) {
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
      for (int j = 0; j < N; j++)
#pragma unroll
        for (int q = 0; q < 4; q++) c[i][j][q] += rest[i][j][q];
  }
}

/* Calls take(row, column, two) for each pair of neighbours of a tile whose first element is [row,
 * column]. */
template <int M, int N, class TAKE>
static __device__ __forceinline__ void tile_each(const float (&c)[M][N][4], int row, int column,
                                                 const TAKE &take) {
#pragma unroll
  for (int i = 0; i < M; i++)
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        take(row + 16 * i + 8 * half + lane_row(), column + 8 * j + 2 * lane_column(),
             make_float2(c[i][j][2 * half], c[i][j][2 * half + 1]));
}

#endif
