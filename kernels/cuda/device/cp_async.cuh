/* cp_async.cuh: copies from device memory to shared memory that a thread starts and later waits
 * for: cp.async of the PTX ISA (compute capability 8.0 and later). A thread waits for its own
 * copies; a barrier then shows them to others. Where a copy is not in bounds, zeros are written,
 * and nothing is read. */
#ifndef EP_KERNELS_CUDA_DEVICE_CP_ASYNC_CUH
#define EP_KERNELS_CUDA_DEVICE_CP_ASYNC_CUH

#include "kernels/cuda/device/shared_memory.cuh"

/* cp.async.ca, BYTES: 4 or 16, on as many: through the first cache, which keeps the line. */
template <int BYTES> static __device__ __forceinline__ void cp_async(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
               "n"(BYTES)
               : "memory");
}

/* cp.async.ca of 4 bytes. */
static __device__ __forceinline__ void cp_async_4(void *to, const void *from, bool in_bounds) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(in_bounds ? 4 : 0)
               : "memory");
}

/* cp.async.cg of 16 bytes, on 16 bytes: past the first cache. */
static __device__ __forceinline__ void cp_async_16(void *to, const void *from, bool in_bounds) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(in_bounds ? 16 : 0)
               : "memory");
}

/* cp.async.commit_group: the copies that this thread started since the last one are a group. */
static __device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* cp.async.wait_group: waits until all of this thread's groups but the last LEFT are complete. */
template <int LEFT> static __device__ __forceinline__ void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* cp.async.wait_all: waits for all copies of this thread, those in no group too. */
static __device__ __forceinline__ void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* cp.async.mbarrier.arrive.noinc: arrives at a barrier (mbarrier.cuh) when all copies that this
 * thread started so far are complete. The barrier expects an arrival of each such thread. */
static __device__ __forceinline__ void cp_async_arrive(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

#endif
