/* mbarrier.cuh: barriers in shared memory that count arrivals and bytes of copies: mbarrier of the
 * PTX ISA. A barrier is eight bytes on eight, and is named by its shared address. Its phases have
 * parity 0 and 1 by turns, from 0 on; a phase ends when all arrivals and all bytes that it expects
 * have come. */
#ifndef EP_KERNELS_CUDA_DEVICE_MBARRIER_CUH
#define EP_KERNELS_CUDA_DEVICE_MBARRIER_CUH

/* mbarrier.init, by one thread: each phase expects so many arrivals. */
static __device__ __forceinline__ void mbarrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* fence.mbarrier_init: the thread's mbarrier_init are seen by the cluster and by copies. */
static __device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* mbarrier.arrive. */
static __device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* The same at a barrier of another block of the cluster; barrier: as cluster_address gives it. */
static __device__ __forceinline__ void mbarrier_arrive_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* mbarrier.arrive.expect_tx: arrives, and the phase expects this many bytes more. */
static __device__ __forceinline__ void mbarrier_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/* mbarrier.try_wait.parity: waits for the end of the phase of this parity. What was written in this
 * block before its arrivals, and its bytes, are seen. Before 9.0 mbarrier.test_wait, which does not
 * sleep. */
static __device__ __forceinline__ void mbarrier_wait(unsigned barrier, int parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again_%=:\n"
#if __CUDA_ARCH__ >= 900
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
#else
               "mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
#endif
               "@!done bra again_%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/* mbarrier.try_wait.parity.acquire.cluster: the same, and what other blocks of the cluster wrote
 * before their arrivals and bytes is seen too. */
static __device__ __forceinline__ void mbarrier_wait_cluster(unsigned barrier, int parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again_%=:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again_%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

#endif
