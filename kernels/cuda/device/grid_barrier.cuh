/* grid_barrier.cuh: counters in device memory, at which the blocks of a launch meet. */
#ifndef EP_KERNELS_CUDA_DEVICE_GRID_BARRIER_CUH
#define EP_KERNELS_CUDA_DEVICE_GRID_BARRIER_CUH

/* red.release.gpu.global.add, by one thread: what the block wrote before its last __syncthreads()
 * is seen by who reads the sum. */
static __device__ __forceinline__ void counter_add(unsigned *counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/* ld.acquire.gpu.global: what was written before the adds that the number counts is seen. */
static __device__ __forceinline__ unsigned counter_read(const unsigned *counter) {
  unsigned count;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(counter) : "memory");
  return count;
}

/* Waits, one thread, until the counter, which may wrap around, is at `target`. */
static __device__ __forceinline__ void counter_wait(const unsigned *counter, unsigned target) {
  while ((int)(counter_read(counter) - target) < 0) continue;
}

/* The block arrives. All threads call. */
static __device__ __forceinline__ void grid_arrive(unsigned *counter) {
  __syncthreads();
  if (threadIdx.x == 0) counter_add(counter);
}

/* The block waits until blocks have arrived `count` times in all. All threads call. */
static __device__ __forceinline__ void grid_wait(const unsigned *counter, unsigned count) {
  if (threadIdx.x == 0) counter_wait(counter, count);
  __syncthreads();
}

#endif
