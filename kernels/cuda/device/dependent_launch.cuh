/* dependent_launch.cuh: launches that overlap the end of the kernel before them in a stream
 * (programmatic dependent launch; compute capability 9.0 and later). */
#ifndef EP_KERNELS_CUDA_DEVICE_DEPENDENT_LAUNCH_CUH
#define EP_KERNELS_CUDA_DEVICE_DEPENDENT_LAUNCH_CUH

/* griddepcontrol.launch_dependents and .wait: the next kernel may begin where blocks of this one
 * end; waits until the kernel before this one is complete and what it wrote is seen. The first
 * statement of a kernel that is launched so, which has no __ldg of what kernels before it write.
 * Earlier capabilities launch none so: nothing. */
static __device__ __forceinline__ void kernels_overlap() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
#endif
}

#endif
