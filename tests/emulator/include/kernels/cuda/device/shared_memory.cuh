/* shared_memory.cuh, for the emulator: addresses of shared memory. */
#ifndef EP_TEST_EMULATOR_SHARED_MEMORY_H
#define EP_TEST_EMULATOR_SHARED_MEMORY_H

/* The offset in the block's shared memory, in bytes, of what a pointer points to. */
static __device__ __forceinline__ unsigned shared_address(const void *of, EMULATOR_SITE) {
  return emulator_shared_address(of, site);
}

static __device__ __forceinline__ unsigned shared_read(unsigned from, EMULATOR_SITE) {
  return *(const volatile unsigned *)emulator_shared_pointer(from, 4, "shared_read", site);
}

#endif
