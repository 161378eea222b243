/* global_memory.cuh, for the emulator: loads of device memory that go past the first cache. */
#ifndef EP_TEST_EMULATOR_GLOBAL_MEMORY_H
#define EP_TEST_EMULATOR_GLOBAL_MEMORY_H

static __device__ __forceinline__ void load_l2(float (&to)[4], const float *from, EMULATOR_SITE) {
  emulator_check_global(from, sizeof to, "load_l2", site);
  for (int i = 0; i < 4; i++) to[i] = ((const volatile float *)from)[i];
}

static __device__ __forceinline__ void load_l2(float (&to)[4], const float *from, bool in_bounds,
                                               EMULATOR_SITE) {
  if (in_bounds) load_l2(to, from, site);
  for (int i = 0; i < 4 && !in_bounds; i++) to[i] = 0;
}

static __device__ __forceinline__ void prefetch_l2(const void *) {}

#endif
