/* cluster.cuh, for the emulator: blocks of a cluster and each other's shared memory. Without
 * cluster_store_async. */
#ifndef EP_TEST_EMULATOR_CLUSTER_H
#define EP_TEST_EMULATOR_CLUSTER_H

static __device__ __forceinline__ unsigned cluster_rank() {
  return emulator_cluster_rank();
}

static __device__ __forceinline__ unsigned cluster_address(unsigned address, unsigned rank,
                                                           EMULATOR_SITE) {
  return emulator_cluster_address(address, rank, site);
}

static __device__ __forceinline__ void cluster_arrive(EMULATOR_SITE) {
  emulator_cluster_arrive(site);
}
static __device__ __forceinline__ void cluster_wait(EMULATOR_SITE) {
  emulator_cluster_wait(site);
}
static __device__ __forceinline__ void cluster_sync(EMULATOR_SITE) {
  emulator_cluster_arrive(site);
  emulator_cluster_wait(site);
}

static __device__ __forceinline__ void cluster_store(unsigned to, float value, EMULATOR_SITE) {
  *(volatile float *)emulator_shared_pointer(to, 4, "cluster_store", site) = value;
  emulator_stored(site);
}
static __device__ __forceinline__ void cluster_store(unsigned to, float first, float second,
                                                     EMULATOR_SITE) {
  volatile float *there = (volatile float *)emulator_shared_pointer(to, 8, "cluster_store", site);
  there[0] = first;
  there[1] = second;
  emulator_stored(site);
}

#endif
