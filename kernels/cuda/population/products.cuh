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

/* k along the rows of memory, sixteen columns at a time: a lane has four neighbours, 4 (lane % 4)
 * to
 * + 3, two for each of two steps. */
template <int STRIDE> struct rows_quads {
  const float *from;

  __device__ __forceinline__ explicit rows_quads(const float *matrix)
      : from(matrix + lane_row() * STRIDE + 4 * lane_column()) {}
  __device__ __forceinline__ float4 load(int n, int k) const {
    return *(const float4 *)(from + n * STRIDE + k);
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

/* The same of rows of the data, which lie anywhere. numbers: of 8 COUNT rows. */
template <int STRIDE, int COUNT> struct gathered_quads {
  const float *from[COUNT];

  __device__ __forceinline__ gathered_quads(const float *data, const int *numbers) {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      from[i] = data + (long long)numbers[8 * i + lane_row()] * STRIDE + 4 * lane_column();
  }
  __device__ __forceinline__ float4 load(int n, int k) const {
    return __ldg((const float4 *)(from[n / 8] + k));
  }
};

/* Rows of the data, k down them, 32 columns from `column` on: eight columns from n = 8 i on are
 * every fourth one, from the i-th on, so that a lane has four neighbours of a row. Not PAIRED. */
template <int STRIDE> struct gathered_columns {
  const float *from;
  const int *numbers;

  __device__ __forceinline__ gathered_columns(const float *data, const int *of_rows, int column)
      : from(data + min(column + 4 * lane_row(), STRIDE - 4)), numbers(of_rows + lane_column()) {}
  __device__ __forceinline__ float4 load(int k) const {
    return __ldg((const float4 *)(from + (long long)numbers[k] * STRIDE));
  }
};

/* --- tiles ---------------------------------------------------------------------------------- */

/* A warp's tile: 16 M by 8 N. */
struct tile_shape {
  int m, n;
};

/* The one that divides a matrix of m_tiles by n_tiles and takes the least time: each step a warp
 * multiplies m n times, and loads. most: m n, as registers allow. */
constexpr tile_shape tile_of(int m_tiles, int n_tiles, int warps, int most) {
  tile_shape best = {1, 1};
  int least = -1;
  for (int m = 1; m <= 4; m *= 2)
    for (int n = 1; n <= 4; n *= 2) {
      if (m * n > most || m_tiles % m != 0 || n_tiles % n != 0) continue;
      const int tasks = m_tiles / m * (n_tiles / n);
      const int cost = (tasks + warps - 1) / warps * (2 * m * n + 2 * m + n + 2);
      if (least >= 0 && cost >= least) continue;
      least = cost;
      best = {m, n};
    }
  return best;
}

/* A tile's sums: fragments as in mma.cuh. PRECISE: the products with what TF32 leaves over have
 * sums of their own, so that fewer wait for each other. */
template <bool PRECISE, int M, int N> struct tile_sums {
  float c[M][N][4], rest[PRECISE ? M : 1][PRECISE ? N : 1][4];

  __device__ __forceinline__ tile_sums() : c{}, rest{} {}

  /* += a b^T of eight columns. upper, lower: a's rows 16 i + lane / 4 and those eight below. */
  __device__ __forceinline__ void add(const float2 (&upper)[M], const float2 (&lower)[M],
                                      const float2 (&b)[N]) {
    hi_lo of_b[N][2];
#pragma unroll
    for (int j = 0; j < N; j++) {
      of_b[j][0] = hi_lo_of<PRECISE>(b[j].x);
      of_b[j][1] = hi_lo_of<PRECISE>(b[j].y);
    }
#pragma unroll
    for (int i = 0; i < M; i++) {
      const hi_lo a[4] = {hi_lo_of<PRECISE>(upper[i].x), hi_lo_of<PRECISE>(lower[i].x),
                          hi_lo_of<PRECISE>(upper[i].y), hi_lo_of<PRECISE>(lower[i].y)};
#pragma unroll
      for (int j = 0; j < N; j++) {
        if constexpr (PRECISE) {
          mma_tf32(rest[i][j], a[0].lo, a[1].lo, a[2].lo, a[3].lo, of_b[j][0].hi, of_b[j][1].hi);
          mma_tf32(rest[i][j], a[0].hi, a[1].hi, a[2].hi, a[3].hi, of_b[j][0].lo, of_b[j][1].lo);
        }
        mma_tf32(c[i][j], a[0].hi, a[1].hi, a[2].hi, a[3].hi, of_b[j][0].hi, of_b[j][1].hi);
      }
    }
  }

  /* After the last add. */
  __device__ __forceinline__ void finish() {
    if constexpr (PRECISE) {
#pragma unroll
      for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++)
#pragma unroll
          for (int q = 0; q < 4; q++) c[i][j][q] += rest[i][j][q];
    }
  }
};

/* sums = a b^T of the first `columns` of both, whole eights. */
template <bool PRECISE, int M, int N, class A, class B>
static __device__ __forceinline__ void tile_multiply(tile_sums<PRECISE, M, N> &sums, const A &a,
                                                     const B &b, int columns) {
#pragma unroll 2
  for (int k = 0; k < columns; k += 8) {
    float2 upper[M], lower[M], of_b[N];
#pragma unroll
    for (int j = 0; j < N; j++) of_b[j] = b.load(8 * j, k);
#pragma unroll
    for (int i = 0; i < M; i++) {
      upper[i] = a.load(16 * i, k);
      lower[i] = a.load(16 * i + 8, k);
    }
    sums.add(upper, lower, of_b);
  }
  sums.finish();
}

/* The same of operands that are loaded by quads; columns: whole sixteens. */
template <bool PRECISE, int M, int N, class A, class B>
static __device__ __forceinline__ void tile_multiply_quads(tile_sums<PRECISE, M, N> &sums,
                                                           const A &a, const B &b, int columns) {
#pragma unroll 4
  for (int k = 0; k < columns; k += 16) {
    float4 upper[M], lower[M], of_b[N];
#pragma unroll
    for (int i = 0; i < M; i++) {
      upper[i] = a.load(16 * i, k);
      lower[i] = a.load(16 * i + 8, k);
    }
#pragma unroll
    for (int j = 0; j < N; j++) of_b[j] = b.load(8 * j, k);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float2 u[M], l[M], w[N];
#pragma unroll
      for (int i = 0; i < M; i++) {
        u[i] = half ? make_float2(upper[i].z, upper[i].w) : make_float2(upper[i].x, upper[i].y);
        l[i] = half ? make_float2(lower[i].z, lower[i].w) : make_float2(lower[i].x, lower[i].y);
      }
#pragma unroll
      for (int j = 0; j < N; j++)
        w[j] = half ? make_float2(of_b[j].z, of_b[j].w) : make_float2(of_b[j].x, of_b[j].y);
      sums.add(u, l, w);
    }
  }
  sums.finish();
}

/* sums = a^T b of `rows` rows, whole eights, 32 columns of b as gathered_columns has them. */
template <bool PRECISE, int M, class A, class B>
static __device__ __forceinline__ void tile_multiply_gathered(tile_sums<PRECISE, M, 4> &sums,
                                                              const A &a, const B &b, int rows) {
#pragma unroll 2
  for (int k = 0; k < rows; k += 8) {
    const float4 first = b.load(k), second = b.load(k + 4);
    const float2 of_b[4] = {make_float2(first.x, second.x), make_float2(first.y, second.y),
                            make_float2(first.z, second.z), make_float2(first.w, second.w)};
    float2 upper[M], lower[M];
#pragma unroll
    for (int i = 0; i < M; i++) {
      upper[i] = a.load(16 * i, k);
      lower[i] = a.load(16 * i + 8, k);
    }
    sums.add(upper, lower, of_b);
  }
  sums.finish();
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
