/* cluster.cuh: blocks of a cluster and each other's shared memory (compute capability 9.0 and
 * later). */
#ifndef EP_KERNELS_CUDA_DEVICE_CLUSTER_CUH
#define EP_KERNELS_CUDA_DEVICE_CLUSTER_CUH

/* %cluster_ctarank: this block's number in its cluster. */
static __device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* mapa.shared::cluster: what lies at shared address `address` of this block, in block `rank`. */
static __device__ __forceinline__ unsigned cluster_address(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

/* barrier.cluster.arrive.release and .wait.acquire: the barrier of all threads of the cluster, in
 * two parts. What was stored before the first is seen behind the second. All threads of a warp call
 * together. */
static __device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/* st.shared::cluster, to what cluster_address gave; seen by that block behind a barrier. */
static __device__ __forceinline__ void cluster_store(unsigned to, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}
static __device__ __forceinline__ void cluster_store(unsigned to, float first, float second) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(first), "f"(second)
               : "memory");
}

/* st.async: the same of four numbers, on 16 bytes. Their bytes count at a barrier (mbarrier.cuh) of
 * that block, and who waits there sees them. */
static __device__ __forceinline__ void cluster_store_async(unsigned to, const float4 &value,
                                                           unsigned barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], "
               "{%1, %2, %3, %4}, [%5];" ::"r"(to),
               "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
               : "memory");
}

#endif
