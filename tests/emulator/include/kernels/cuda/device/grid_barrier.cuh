/* grid_barrier.cuh, for the emulator: counters in device memory, at which the blocks of a launch
 * meet. */
#ifndef EP_TEST_EMULATOR_GRID_BARRIER_H
#define EP_TEST_EMULATOR_GRID_BARRIER_H

static __device__ __forceinline__ void counter_add(unsigned *counter, EMULATOR_SITE) {
  *(volatile unsigned *)counter = *counter + 1;
  emulator_stored(site);
}

static __device__ __forceinline__ unsigned counter_read(const unsigned *counter) {
  return *(const volatile unsigned *)counter;
}

static __device__ __forceinline__ void counter_wait(const unsigned *counter, unsigned target,
                                                    EMULATOR_SITE) {
  while ((int)(counter_read(counter) - target) < 0) emulator_poll(site);
}

static __device__ __forceinline__ void grid_arrive(unsigned *counter, EMULATOR_SITE) {
  __syncthreads(site);
  if (threadIdx.x == 0) counter_add(counter, site);
}

static __device__ __forceinline__ void grid_wait(const unsigned *counter, unsigned count,
                                                 EMULATOR_SITE) {
  if (threadIdx.x == 0) counter_wait(counter, count, site);
  __syncthreads(site);
}

#endif
