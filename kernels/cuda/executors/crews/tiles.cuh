/* tiles.cuh: products of small matrices on tensor cores, for cuda/crews: how their factors lie, so
 * that a lane reads them by whole vectors and no two lanes meet in a bank. A crew's 16 rows are the
 * rows of a product; terms are paired as they lie. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_TILES_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_TILES_CUH

#include "kernels/cuda/device/mbarrier.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/executors/crews/network.cuh"

/* A tile of 8 by 16: the fours of two rows of each four change places. */
static __device__ __forceinline__ int tile_at(int row, int column) {
  return row * 16 + ((column / 4) ^ (row & 2)) * 4 + column % 4;
}
/* Features: tiles of 16 rows by 16. */
static __device__ __forceinline__ int features_at(int row, int feature) {
  return feature / 16 * 256 + row / 8 * 128 + tile_at(row % 8, feature % 16);
}
/* Gradients by outputs, as a factor of the way back: a lane's four numbers of eight outputs. */
static __device__ __forceinline__ int grads_at(int row, int output) {
  int lane = row % 8 * 4 + ((output % 4) ^ (row / 2 & 3));
  return output / 8 * 128 + lane * 4 + row / 8 + output % 8 / 4 * 2;
}
/* The same as a factor of the weights' gradients, in memory with those of all crews. */
static __device__ __forceinline__ int terms_at(int crew, int row, int output) {
  return (output / 8 * CREWS + crew) * 128 + row / 8 * 64 + (output % 8 * 4 + row % 4) * 2 +
         row % 8 / 4;
}

struct lane_place {
  int g, t;
  int line;  /* of a tile: fours of row g */
  int pairs; /* row t, two columns at 2g; those of row t + 4 are 64 further */
  int grads; /* as grads_at has them */
};
static __device__ __forceinline__ lane_place lane_place_make() {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  return {g, t, tile_at(g, 4 * t), tile_at(t, 2 * g), (g * 4 + (t ^ (g / 2))) * 4};
}

static __device__ __forceinline__ void hi_lo_of(hi_lo (&to)[4], float a, float b, float c,
                                                float d) {
  to[0] = hi_lo_of<PRECISE>(a), to[1] = hi_lo_of<PRECISE>(b);
  to[2] = hi_lo_of<PRECISE>(c), to[3] = hi_lo_of<PRECISE>(d);
}

/* c[i] += 16 rows by the eight outputs of tile i, over STEPS tiles of inputs. x: [STEPS, 256];
 * weights: [TILES, DOWN floats], each [STEPS, 128]. */
template <int TILES, int STEPS, int DOWN>
static __device__ __forceinline__ void forward_multiply(float (&c)[TILES][4], const float *x,
                                                        const float *weights) {
  const lane_place lane = lane_place_make();
  x += lane.line, weights += lane.line;
#pragma unroll 4
  for (int k = 0; k < STEPS; k++) {
    float4 low = *(const float4 *)(x + k * 256), high = *(const float4 *)(x + k * 256 + 128);
    hi_lo a[2][4];
    hi_lo_of(a[0], low.x, high.x, low.y, high.y);
    hi_lo_of(a[1], low.z, high.z, low.w, high.w);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      float4 b = *(const float4 *)(weights + i * DOWN + k * 128);
      multiply<PRECISE>(c[i], a[0], hi_lo_of<PRECISE>(b.x), hi_lo_of<PRECISE>(b.y));
      multiply<PRECISE>(c[i], a[1], hi_lo_of<PRECISE>(b.z), hi_lo_of<PRECISE>(b.w));
    }
  }
}

/* c += 16 rows by the 16 inputs of each of two tiles, over STEPS tiles of outputs. grads: [STEPS,
 * 128]; a tile's next is DOWN floats further. c[i][h] has columns 2j + h. */
template <int TILES, int STEPS, int DOWN>
static __device__ __forceinline__ void backward_multiply(float (&c)[TILES][2][4],
                                                         const float *grads,
                                                         const float *const (&weights)[TILES]) {
  const lane_place lane = lane_place_make();
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    float4 of = *(const float4 *)(grads + k * 128 + lane.grads);
    hi_lo a[4];
    hi_lo_of(a, of.x, of.y, of.z, of.w);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
      const float *w = weights[i] + k * DOWN + lane.pairs;
      float2 low = *(const float2 *)w, high = *(const float2 *)(w + 64);
      multiply<PRECISE>(c[i][0], a, hi_lo_of<PRECISE>(low.x), hi_lo_of<PRECISE>(high.x));
      multiply<PRECISE>(c[i][1], a, hi_lo_of<PRECISE>(low.y), hi_lo_of<PRECISE>(high.y));
    }
  }
}
/* What a lane has of such a tile: four inputs from 4t on, of row g or g + 8. */
static __device__ __forceinline__ float4 inputs_of(const float (&c)[2][4], int half) {
  return make_float4(c[0][2 * half], c[1][2 * half], c[0][2 * half + 1], c[1][2 * half + 1]);
}

/* --- barriers of a block --------------------------------------------------------------------- */

/* All threads: wait until `bytes` of other blocks have come in this step. */
static __device__ __forceinline__ void given_await(const row_set &rows, int exchange,
                                                   unsigned bytes) {
  if (threadIdx.x == 0) mbarrier_expect(rows.barrier(exchange), (int)bytes);
  mbarrier_wait_cluster(rows.barrier(exchange), (int)rows.parity);
}

/* Thread 0: fetches floats of memory, which are expected at the barrier. */
static __device__ __forceinline__ void floats_fetch(float *to, const float *from, int floats,
                                                    unsigned barrier) {
  bulk_load(shared_address(to), from, floats * 4, barrier);
}

#endif
