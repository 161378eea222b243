/* products.cuh: products of small matrices on tensor cores, for cuda/cluster: a warp multiplies
 * what lies in shared memory. TF32 once, on numbers that were rounded when they were stored; or
 * three times on the halves of a float32, which keeps its precision. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_PRODUCTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_PRODUCTS_CUH

#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/executors/cluster/network.cuh"

/* Row `row` of a matrix of ROWS, a multiple of eight; of the half of a tile that is not there, the
 * other half instead. */
template <int ROWS> static __device__ __forceinline__ int row_clamp(int row) {
  return ROWS % 16 == 0 || row < ROWS ? row : row - 8;
}

/* c[i] += 16 outputs, from tile FIRST + i on, of this warp's eight rows. weights: [ROWS, COLUMNS +
 * 4], of each eight columns the even ones first; x: [terms, STRIDE], at the warp's rows. BACK: the
 * outputs are the columns of the weights. */
template <int FIRST, int TILES, int ROWS, int COLUMNS, bool BACK>
static __device__ __forceinline__ void product(float (&c)[TILES][4], const float *weights,
                                               const float *x) {
  constexpr int LINE = COLUMNS + 4, STEPS = (BACK ? ROWS : COLUMNS) / 8;
  constexpr bool ALTERNATES = TILES <= 2 && STEPS > 1;
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  float more[ALTERNATES ? TILES : 1][4] = {};
  const float *at =
      BACK ? weights + 2 * t * LINE + FIRST * 16 + g / 2 + g % 2 * 4 : weights + lane / 16 * 4;
  x += 2 * t * STRIDE + g;
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    hi_lo b0 = hi_lo_of<PRECISE>(x[k * 8 * STRIDE]),
          b1 = hi_lo_of<PRECISE>(x[(k * 8 + 1) * STRIDE]);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      hi_lo a[4];
      if constexpr (BACK) {
        const float *w = at + k * 8 * LINE + i * 16;
        a[0] = hi_lo_of<PRECISE>(w[0]), a[1] = hi_lo_of<PRECISE>(w[8]);
        a[2] = hi_lo_of<PRECISE>(w[LINE]), a[3] = hi_lo_of<PRECISE>(w[LINE + 8]);
      } else {
        hi_lo_load<PRECISE>(a, at + row_clamp<ROWS>((FIRST + i) * 16 + lane % 16) * LINE + k * 8);
      }
      if (ALTERNATES && k % 2)
        multiply<PRECISE>(more[i], a, b0, b1);
      else
        multiply<PRECISE>(c[i], a, b0, b1);
    }
  }
  if constexpr (ALTERNATES)
#pragma unroll
    for (int i = 0; i < TILES; i++)
#pragma unroll
      for (int q = 0; q < 4; q++) c[i][q] += more[i][q];
}

#endif
