/* barrier.cuh: a barrier of all blocks of a launch: a word of memory that counts who has come, zero
 * at the launch. */
#ifndef EP_KERNELS_CUDA_BARRIER_CUH
#define EP_KERNELS_CUDA_BARRIER_CUH

/* The block has come. */
static __device__ __forceinline__ void all_arrive(unsigned *barrier) {
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(barrier) : "memory");
}

/* Until blocks have come `count` times in all. */
static __device__ __forceinline__ void all_wait(unsigned *barrier, unsigned count) {
  if (threadIdx.x == 0) {
    unsigned come;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(barrier) : "memory");
    } while ((int)(come - count) < 0);
  }
  __syncthreads();
}

#endif
