/* tagged.cuh, for the emulator: words that carry their own "arrived" flag. */
#ifndef EP_TEST_EMULATOR_TAGGED_H
#define EP_TEST_EMULATOR_TAGGED_H

#include "kernels/cuda/device/shared_memory.cuh"

static __device__ __forceinline__ float4 tagged_load4(const float *from, EMULATOR_SITE) {
  emulator_check_global(from, sizeof(float4), "tagged_load4", site);
  const volatile float *words = from;
  return {words[0], words[1], words[2], words[3]};
}
static __device__ __forceinline__ float2 tagged_load2(const float *from, EMULATOR_SITE) {
  emulator_check_global(from, sizeof(float2), "tagged_load2", site);
  const volatile float *words = from;
  return {words[0], words[1]};
}

static __device__ __forceinline__ void tagged_store2(float *to, float2 value, EMULATOR_SITE) {
  emulator_check_global(to, sizeof(float2), "tagged_store2", site);
  volatile float *words = to;
  words[0] = value.x;
  words[1] = value.y;
  emulator_stored(site);
}
static __device__ __forceinline__ void tagged_store1(float *to, float value, EMULATOR_SITE) {
  emulator_check_global(to, sizeof(float), "tagged_store1", site);
  *(volatile float *)to = value;
  emulator_stored(site);
}

/* Lets other threads run. A word that never comes is a deadlock, which the emulator reports. */
static __device__ __forceinline__ void tagged_poll(int &turns, EMULATOR_SITE) {
  turns++;
  emulator_poll(site);
}

#endif
