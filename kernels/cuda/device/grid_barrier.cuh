/* grid_barrier.cuh: a barrier of all blocks of a launch: a word of memory that counts who has come,
 * the span's `barrier`, zero at the launch. */
#ifndef EP_KERNELS_CUDA_DEVICE_GRID_BARRIER_CUH
#define EP_KERNELS_CUDA_DEVICE_GRID_BARRIER_CUH

/* The block has come. */
template <class SPAN> static __device__ __forceinline__ void all_arrive(const SPAN &s) {
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(s.barrier) : "memory");
}

/* Until blocks have come `count` times in all. */
template <class SPAN>
static __device__ __forceinline__ void all_wait(const SPAN &s, unsigned count) {
  if (threadIdx.x == 0) {
    unsigned come;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(s.barrier) : "memory");
    } while ((int)(come - count) < 0);
  }
  __syncthreads();
}

#endif
