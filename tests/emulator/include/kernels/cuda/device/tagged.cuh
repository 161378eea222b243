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

/* In the shared memory of a cluster. */
static __device__ __forceinline__ void tagged_store2(unsigned to, float2 value, EMULATOR_SITE) {
  volatile float *words = (volatile float *)emulator_shared_pointer(to, 8, "tagged_store2", site);
  words[0] = value.x;
  words[1] = value.y;
  emulator_stored(site);
}
static __device__ __forceinline__ void tagged_store1(unsigned to, float value, EMULATOR_SITE) {
  *(volatile float *)emulator_shared_pointer(to, 4, "tagged_store1", site) = value;
  emulator_stored(site);
}
static __device__ __forceinline__ float4 tagged_load4(unsigned from, EMULATOR_SITE) {
  const volatile float *words =
      (volatile float *)emulator_shared_pointer(from, 16, "tagged_load4", site);
  return {words[0], words[1], words[2], words[3]};
}
static __device__ __forceinline__ float2 tagged_load2(unsigned from, EMULATOR_SITE) {
  const volatile float *words =
      (volatile float *)emulator_shared_pointer(from, 8, "tagged_load2", site);
  return {words[0], words[1]};
}

/* Lets other threads run. A word that never comes is a deadlock, which the emulator reports. */
static __device__ __forceinline__ void tagged_poll(int &turns, EMULATOR_SITE) {
  turns++;
  emulator_poll(site);
}

#endif
