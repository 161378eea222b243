/* named_barrier.cuh: barriers of some of a block's warps: bar of the PTX ISA. A block has 16, of
 * which __syncthreads() takes number 0. */
#ifndef EP_KERNELS_CUDA_DEVICE_NAMED_BARRIER_CUH
#define EP_KERNELS_CUDA_DEVICE_NAMED_BARRIER_CUH

/* bar.sync: waits until THREADS threads, whole warps, have called this or named_barrier_arrive of
 * the same number. What they wrote before is seen behind it. */
template <int THREADS> static __device__ __forceinline__ void named_barrier_sync(int number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
}

/* bar.arrive: counts as one of them, without waiting. */
template <int THREADS> static __device__ __forceinline__ void named_barrier_arrive(int number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(THREADS) : "memory");
}

#endif
