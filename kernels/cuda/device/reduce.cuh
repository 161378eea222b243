/* reduce.cuh: sums over the lanes of a warp, each in one fixed order. */
#ifndef EP_KERNELS_CUDA_DEVICE_REDUCE_CUH
#define EP_KERNELS_CUDA_DEVICE_REDUCE_CUH

constexpr int WARP = 32;                    /* lanes */
constexpr unsigned ALL_LANES = 0xffffffffu; /* of a warp, as a mask */

/* shfl.sync.bfly: the sum over LANES neighbouring lanes, a power of two, in each of them. All lanes
 * of the warp call. */
template <int LANES = WARP, typename T> static __device__ __forceinline__ T lanes_sum(T value) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(ALL_LANES, value, distance);
  return value;
}

/* The sum over a warp, in every lane. */
template <typename T> static __device__ __forceinline__ T warp_sum(T value) {
  return lanes_sum<WARP>(value);
}

/* Adds up N numbers over 2 DISTANCE neighbouring lanes, 2 DISTANCE a power of two that divides N:
 * each round a lane gives half of its numbers away and keeps the sum of the other half. of[0 … N /
 * (2 DISTANCE) - 1] of lane l of them end as the sums of numbers l * N / (2 DISTANCE) … All lanes
 * call. */
template <int N, int DISTANCE, int SIZE>
static __device__ __forceinline__ void lanes_scatter(float (&of)[SIZE]) {
  if constexpr (DISTANCE > 0) {
    bool upper = threadIdx.x & DISTANCE;
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      float given = upper ? of[i] : of[i + N / 2], kept = upper ? of[i + N / 2] : of[i];
      of[i] = kept + __shfl_xor_sync(ALL_LANES, given, DISTANCE);
    }
    lanes_scatter<N / 2, DISTANCE / 2>(of);
  }
}

#endif
