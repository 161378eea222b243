/* cp_async.cuh, for the emulator: copies from device memory to shared memory that a thread starts
 * and later waits for. They are carried out at the wait, so that a missing one shows. Without
 * cp_async_arrive. */
#ifndef EP_TEST_EMULATOR_CP_ASYNC_H
#define EP_TEST_EMULATOR_CP_ASYNC_H

#include "kernels/cuda/device/shared_memory.cuh"

template <int BYTES>
static __device__ __forceinline__ void cp_async(void *to, const void *from, EMULATOR_SITE) {
  static_assert(BYTES == 4 || BYTES == 16, "as the real one");
  emulator_copy_start(to, from, BYTES, true, site);
}

static __device__ __forceinline__ void cp_async_4(void *to, const void *from, bool in_bounds,
                                                  EMULATOR_SITE) {
  emulator_copy_start(to, from, 4, in_bounds, site);
}

static __device__ __forceinline__ void cp_async_16(void *to, const void *from, bool in_bounds,
                                                   EMULATOR_SITE) {
  emulator_copy_start(to, from, 16, in_bounds, site);
}

static __device__ __forceinline__ void cp_async_commit() {
  emulator_copy_commit();
}

template <int LEFT> static __device__ __forceinline__ void cp_async_wait_group() {
  emulator_copy_wait_group(LEFT);
}

static __device__ __forceinline__ void cp_async_wait_all() {
  emulator_copy_wait_all();
}

#endif
