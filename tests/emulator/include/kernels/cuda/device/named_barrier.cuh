/* named_barrier.cuh, for the emulator: barriers of some of a block's warps. Without
 * named_barrier_arrive. */
#ifndef EP_TEST_EMULATOR_NAMED_BARRIER_H
#define EP_TEST_EMULATOR_NAMED_BARRIER_H

template <int THREADS>
static __device__ __forceinline__ void named_barrier_sync(int number, EMULATOR_SITE) {
  emulator_barrier((unsigned)number, THREADS, false, site);
}

#endif
