/* launch.cuh: how a kernel spreads over the device, and sums in a fixed order. */
#ifndef EP_KERNELS_CUDA_LAYERS_LAUNCH_CUH
#define EP_KERNELS_CUDA_LAYERS_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stdint.h>

enum { EP_CUDA_WARP = 32 };

/* Blocks for `count` things, `each` a block; kernels with more to do than blocks stride on. */
static inline unsigned int ep_cuda_blocks(int64_t count, int64_t each) {
  const int64_t most = 1 << 20;
  int64_t blocks = count / each + (count % each != 0);
  return (unsigned int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* The sum over a warp, in every lane. All 32 lanes must call. */
template <typename T> static __device__ inline T ep_cuda_warp_sum(T value) {
  for (int distance = EP_CUDA_WARP / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

/* The sum over a block of at most 1,024 threads, a multiple of 32, in thread 0. All must call. */
template <typename T> static __device__ inline T ep_cuda_block_sum(T value) {
  __shared__ T of_warp[EP_CUDA_WARP];
  int lane = threadIdx.x % EP_CUDA_WARP, warp = threadIdx.x / EP_CUDA_WARP;
  value = ep_cuda_warp_sum(value);
  __syncthreads(); /* of_warp may still be read by an earlier call */
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  T sum = 0;
  if (warp == 0) {
    int warps = blockDim.x / EP_CUDA_WARP;
    sum = ep_cuda_warp_sum(lane < warps ? of_warp[lane] : (T)0);
  }
  return sum;
}

#endif
