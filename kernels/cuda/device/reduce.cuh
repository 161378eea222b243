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

#endif
