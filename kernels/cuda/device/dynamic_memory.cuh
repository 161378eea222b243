/* dynamic_memory.cuh: the shared memory that a block asks for at its launch. */
#ifndef EP_KERNELS_CUDA_DEVICE_DYNAMIC_MEMORY_CUH
#define EP_KERNELS_CUDA_DEVICE_DYNAMIC_MEMORY_CUH

extern __shared__ __align__(16) float memory[];

#endif
