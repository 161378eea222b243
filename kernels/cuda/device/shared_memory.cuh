/* shared_memory.cuh: addresses of shared memory, as PTX instructions take them. */
#ifndef EP_KERNELS_CUDA_DEVICE_SHARED_MEMORY_CUH
#define EP_KERNELS_CUDA_DEVICE_SHARED_MEMORY_CUH

/* The address, in the window of the block's shared memory, of what a pointer points to. */
static __device__ __forceinline__ unsigned shared_address(const void *of) {
  return (unsigned)__cvta_generic_to_shared(of);
}

/* ld.shared.u32. */
static __device__ __forceinline__ unsigned shared_read(unsigned from) {
  unsigned got;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(from) : "memory");
  return got;
}

#endif
