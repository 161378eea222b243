/* tma.cuh: copies between memory and a block's shared memory by the copy engine of GPUs of
 * compute capability 9.0 and later, which one thread asks for, and the barriers in shared memory
 * that count their bytes (PTX ISA: mbarrier, cp.async.bulk.tensor). A matrix is told by a map:
 * maps.h. */
#ifndef EP_KERNELS_CUDA_DEVICE_TMA_CUH
#define EP_KERNELS_CUDA_DEVICE_TMA_CUH

#include "kernels/cuda/device/tensor_map.h"

static __device__ inline uint32_t shared_address(const void *of) {
  return (uint32_t)__cvta_generic_to_shared(of);
}

/* --- barriers ------------------------------------------------------------------------------ */

static __device__ inline void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

/* Makes barriers known to the cluster, and to copies. */
static __device__ inline void barriers_publish(void) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* Waits for the end of the phase of this parity. */
static __device__ inline void barrier_wait(uint32_t barrier, int parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again_%=:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again_%=;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

static __device__ inline void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives, and expects this many bytes of copies in the phase. */
static __device__ inline void barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/* --- copies -------------------------------------------------------------------------------- */

/* What this thread has written, or knows to be written, to memory or the block's shared memory,
 * copies that follow may read or overwrite. Two fences, since one of all kinds of memory waits
 * until copies that are on their way have come: thousands of cycles. */
static __device__ inline void copies_allow(void) {
  asm volatile("fence.proxy.async.global;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The same, where blocks of a cluster copy into one another's shared memory. */
static __device__ inline void copies_allow_all(void) {
  asm volatile("fence.proxy.async;" ::: "memory");
}

/* The tile of `map` at (column, row) to shared memory `to`; the barrier counts its bytes. */
static __device__ inline void tile_load(uint32_t to, const void *map, uint32_t barrier, int column,
                                        int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(column), "r"(row)
               : "memory");
}

/* The same of several lines, the first of them number `line` of a row (ep_cuda_map_make_lines). */
static __device__ inline void lines_load(uint32_t to, const void *map, uint32_t barrier, int row,
                                         int line) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(line)
               : "memory");
}

/* `bytes` from memory, a multiple of 16 as both addresses are, likewise. */
static __device__ inline void bytes_load(uint32_t to, const void *from, uint32_t barrier,
                                         int bytes) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %3, [%2];" ::"r"(to),
               "l"(from), "r"(barrier), "r"(bytes)
               : "memory");
}

/* The tile back, from shared memory `from`. A thread waits for copies in groups: until all but N,
 * the last, have been read, so that what takes their place may be written; or are in memory. */
static __device__ inline void tile_store(const void *map, int column, int row, uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}
static __device__ inline void bytes_store(void *to, uint32_t from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}
static __device__ inline void stores_commit(void) {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> static __device__ inline void stores_wait_read(void) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
template <int N> static __device__ inline void stores_wait(void) {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

#endif
