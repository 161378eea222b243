/* tma.cuh: bulk copies between device memory and shared memory by the TMA of GPUs of compute
 * capability 9.0 and later: cp.async.bulk of the PTX ISA. One thread starts a copy. A barrier
 * (mbarrier.cuh) counts the bytes of a load; stores are waited for in groups. A tile's matrix is
 * described by a tensor map (tensor_map.h). */
#ifndef EP_KERNELS_CUDA_DEVICE_TMA_CUH
#define EP_KERNELS_CUDA_DEVICE_TMA_CUH

#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/tensor_map.h"

/* --- fences --------------------------------------------------------------------------------- */

/* fence.proxy.async: orders what this thread wrote, or saw written, before bulk copies and wgmma
 * that follow and read or overwrite it. */

/* Shared memory of this block. */
static __device__ __forceinline__ void async_fence_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Device memory and shared memory of this block. Two fences: one of all kinds of memory waits until
 * copies under way have come, thousands of cycles. */
static __device__ __forceinline__ void async_fence() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
  async_fence_shared();
}

/* All kinds of memory: where blocks of a cluster copy into one another's shared memory. */
static __device__ __forceinline__ void async_fence_all() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

/* --- loads ---------------------------------------------------------------------------------- */

/* cp.async.bulk.tensor.2d: the tile of `map` at (column, row) to shared memory `to`. */
static __device__ __forceinline__ void tma_load(unsigned to, const void *map, unsigned barrier,
                                                int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(column), "r"(row)
               : "memory");
}

/* The same to blocks 0 and 1 of a cluster, to the same place in both; each one's barrier counts. */
static __device__ __forceinline__ void tma_load_both(unsigned to, const void *map, unsigned barrier,
                                                     int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(column), "r"(row), "h"((unsigned short)3)
               : "memory");
}

/* cp.async.bulk.tensor.3d: several lines of rows from `row` on, the first of them number `line`
 * (ep_cuda_tensor_map_make_lines). */
static __device__ __forceinline__ void tma_load_lines(unsigned to, const void *map,
                                                      unsigned barrier, int row, int line) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(line)
               : "memory");
}

/* cp.async.bulk: `bytes` of device memory, a multiple of 16, as both addresses are. */
static __device__ __forceinline__ void bulk_load(unsigned to, const void *from, int bytes,
                                                 unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/* The same to the blocks of the cluster whose bits are set in `blocks`, to the same place in each;
 * each one's barrier counts. */
static __device__ __forceinline__ void bulk_load_cluster(unsigned to, const void *from, int bytes,
                                                         unsigned barrier, unsigned short blocks) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier), "h"(blocks)
               : "memory");
}

/* --- stores --------------------------------------------------------------------------------- */

/* cp.async.bulk.tensor.2d: a tile from shared memory `from` to the matrix of `map`. What lies
 * outside of the matrix is not written. */
static __device__ __forceinline__ void tma_store(const void *map, int column, int row,
                                                 unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}

/* cp.async.bulk, as bulk_load. */
static __device__ __forceinline__ void bulk_store(void *to, unsigned from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}

/* cp.async.bulk.commit_group: the stores that this thread started since the last one are a group.
 */
static __device__ __forceinline__ void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* cp.async.bulk.wait_group.read: waits until shared memory was read for all of this thread's groups
 * but the last LEFT, and may be written again. */
template <int LEFT> static __device__ __forceinline__ void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
/* cp.async.bulk.wait_group: the same until they are in device memory. */
template <int LEFT> static __device__ __forceinline__ void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(LEFT) : "memory");
}

#endif
