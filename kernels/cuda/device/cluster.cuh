/* cluster.cuh: how the blocks of a cluster give each other numbers: stores into each other's
 * shared memory that count at a barrier there, so that who waits for them waits for nothing else.
 * For cuda/cluster and cuda/crews, whose network.cuh comes first. */
#ifndef EP_KERNELS_CUDA_DEVICE_CLUSTER_CUH
#define EP_KERNELS_CUDA_DEVICE_CLUSTER_CUH

static __device__ __forceinline__ unsigned address_of(const void *shared) {
  return (unsigned)__cvta_generic_to_shared(shared);
}

static __device__ __forceinline__ unsigned block_rank() {
  unsigned rank = 0;
  if constexpr (BLOCKS > 1) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* What lies at `mine` in this block's shared memory, in that of block `rank`. */
static __device__ __forceinline__ unsigned address_in(unsigned mine, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(mine), "r"(rank));
  return there;
}

/* Four numbers to what address_in gave, counted at a barrier of the same block. */
static __device__ __forceinline__ void give(unsigned to, const float4 &value, unsigned barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], "
               "{%1, %2, %3, %4}, [%5];" ::"r"(to),
               "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(barrier)
               : "memory");
}

/* Such stores take as long for 16 bytes as for four. So neighbours swap: of a tile, a lane gets
 * outputs g + 8 (t % 2) of the rows t / 2 * 4 to + 3. */
static __device__ __forceinline__ float4 lane_share(const float (&c)[4]) {
  bool odd = threadIdx.x % 2;
  float a = __shfl_xor_sync(ALL, odd ? c[0] : c[2], 1),
        b = __shfl_xor_sync(ALL, odd ? c[1] : c[3], 1);
  return odd ? make_float4(a, b, c[2], c[3]) : make_float4(c[0], c[1], a, b);
}

/* One warp: waits until this step's `bytes` are there. */
static __device__ __forceinline__ void given_wait(unsigned barrier, unsigned bytes,
                                                  unsigned parity) {
  if (threadIdx.x % WARP == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
  unsigned there = 0;
  while (!there)
    asm volatile("{\n.reg .pred p;\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(there)
                 : "r"(barrier), "r"(parity)
                 : "memory");
}

/* The barrier of all blocks, in two parts: what was stored before the first of them is seen behind
 * the second. */
static __device__ __forceinline__ void blocks_arrive() {
  if constexpr (BLOCKS > 1) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
static __device__ __forceinline__ void blocks_wait() {
  if constexpr (BLOCKS > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#endif
