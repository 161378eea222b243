/* launch.cuh: how a kernel is queued and spreads over the device, and sums in a fixed order. */
#ifndef EP_KERNELS_CUDA_LAYERS_LAUNCH_CUH
#define EP_KERNELS_CUDA_LAYERS_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "kernels/cuda/device/dependent_launch.cuh"
#include "kernels/cuda/device/reduce.cuh"
#include "kernels/cuda/layers/kernels.h"

/* Blocks for `count` things, `each` a block; kernels with more to do than blocks stride on. */
static inline unsigned int ep_cuda_blocks(int64_t count, int64_t each) {
  const int64_t most = 1 << 20;
  int64_t blocks = count / each + (count % each != 0);
  return (unsigned int)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* --- kernels that follow each other ----------------------------------------------------------- */

/* Queues a kernel that begins with kernels_overlap. One of few blocks is in place early: of many,
 * the launch is a small part of the time. */
template <class... OF, class... ARGUMENTS>
static inline void ep_cuda_queue(cudaStream_t stream, dim3 blocks, dim3 threads, size_t shared,
                                 void (*kernel)(OF...), ARGUMENTS... arguments) {
#if CUDART_VERSION >= 12030
  const int64_t many = 1024, count = (int64_t)blocks.x * blocks.y * blocks.z;
  if (count <= many && ep_cuda_kernels_overlap()) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, OF(arguments)...);
    return;
  }
#endif
  kernel<<<blocks, threads, shared, stream>>>(OF(arguments)...);
}

/* Whether four numbers at a time may be read from there, and written. */
static inline bool ep_cuda_has_quads(const float *numbers) {
  return (uintptr_t)numbers % sizeof(float4) == 0;
}

/* Rows of slice `slice` of `slices`: *first … *last - 1; none where there are fewer rows than
 * slices. */
static __device__ inline void slice_rows(int64_t rows, int slice, int slices, int64_t *first,
                                         int64_t *last) {
  *first = rows * slice / slices;
  *last = rows * (slice + 1) / slices;
}

/* The sum over a block of at most 1,024 threads, a multiple of 32, in thread 0. All must call. */
template <typename T> static __device__ inline T ep_cuda_block_sum(T value) {
  __shared__ T of_warp[WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  value = warp_sum(value);
  __syncthreads(); /* of_warp may still be read by an earlier call */
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  T sum = 0;
  if (warp == 0) {
    int warps = blockDim.x / WARP;
    sum = warp_sum(lane < warps ? of_warp[lane] : (T)0);
  }
  return sum;
}

#endif
