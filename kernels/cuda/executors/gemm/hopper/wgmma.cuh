/* wgmma.cuh: what GPUs of compute capability 9.0 have for matrix products: copies of tiles into
 * the shared memory of a cluster, and products of a whole warpgroup (PTX ISA: wgmma). */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_WGMMA_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GEMM_HOPPER_WGMMA_CUH

#include <cuda_bf16.h>

#include "kernels/cuda/device/tma.cuh"

static __device__ inline uint32_t shared_read(uint32_t from) {
  uint32_t got;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(got) : "r"(from) : "memory");
  return got;
}

/* --- clusters ------------------------------------------------------------------------------ */

/* Arrives at the barrier of that place in block `rank` of the cluster. */
static __device__ inline void barrier_arrive_at(uint32_t barrier, int rank) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(barrier),
               "r"(rank)
               : "memory");
}

static __device__ inline int cluster_rank(void) {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

static __device__ inline void cluster_meet(void) {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

/* Lets the kernel behind this one begin where blocks end, and waits for all of the one before it.
 */
static __device__ inline void kernels_overlap(void) {
  asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
}

/* As tile_load, to the same place in both blocks of a cluster; each one's barrier counts. */
static __device__ inline void tile_load_both(uint32_t to, const void *map, uint32_t barrier,
                                             int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(column), "r"(row), "h"((uint16_t)3)
               : "memory");
}

/* --- products ------------------------------------------------------------------------------ */

/* A matrix in shared memory as a product wants to hear of it, in rows of 128 bytes that the copy
 * has swizzled: eight of them every `next_bytes`, and, where the rows run along the result, 64 of
 * its columns every `wide_bytes`. */
static __device__ inline uint64_t matrix(uint32_t address, uint32_t wide_bytes,
                                         uint32_t next_bytes) {
  return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(wide_bytes >> 4) << 16 |
         (uint64_t)(next_bytes >> 4) << 32 | UINT64_C(1) << 62;
}

static __device__ inline void products_begin(void) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ inline void products_commit(void) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Waits until at most N groups of products are under way. */
template <int N> static __device__ inline void products_wait(void) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* A warpgroup's sums of 64 rows: [64, 2 N]. */
#define EP_SUMS_8(s, i)                                                                       \
  "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3]), "+f"(s[i + 4]), "+f"(s[i + 5]), \
      "+f"(s[i + 6]), "+f"(s[i + 7])
#define EP_SUMS_104(s)                                                                          \
  EP_SUMS_8(s, 0), EP_SUMS_8(s, 8), EP_SUMS_8(s, 16), EP_SUMS_8(s, 24), EP_SUMS_8(s, 32),       \
      EP_SUMS_8(s, 40), EP_SUMS_8(s, 48), EP_SUMS_8(s, 56), EP_SUMS_8(s, 64), EP_SUMS_8(s, 72), \
      EP_SUMS_8(s, 80), EP_SUMS_8(s, 88), EP_SUMS_8(s, 96)
#define EP_SUMS_128(s) EP_SUMS_104(s), EP_SUMS_8(s, 104), EP_SUMS_8(s, 112), EP_SUMS_8(s, 120)
#define EP_PLACES_104                                                                \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103"
#define EP_PLACES_128                                                                              \
  EP_PLACES_104 ", %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, " \
                "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/* A product's text: its kind, the places of its sums, of a and b, of `adds`, and what follows. */
#define EP_PRODUCT(kind, sums, operands, adds, orders)    \
  "{\n.reg .pred adds;\nsetp.ne.b32 adds, " adds ", 0;\n" \
  "wgmma.mma_async.sync.aligned." kind " {" sums "}, " operands ", adds, 1, 1" orders ";\n}"

/* sums (+)= a b, where a has 64 rows, b 2 N columns, both 32 bytes of depth. `runs`: consecutive
 * numbers are of one depth, else of one row or column; float32 (as TF32) never does. The first
 * argument tells the type. */
template <bool a_runs, bool b_runs>
static __device__ inline void multiply(__nv_bfloat16, float (&sums)[104], uint64_t a, uint64_t b,
                                       int adds) {
  asm volatile(
      EP_PRODUCT("m64n208k16.f32.bf16.bf16", EP_PLACES_104, "%104, %105", "%106", ", %107, %108")
      : EP_SUMS_104(sums)
      : "l"(a), "l"(b), "r"(adds), "n"((int)a_runs), "n"((int)b_runs));
}
template <bool a_runs, bool b_runs>
static __device__ inline void multiply(__nv_bfloat16, float (&sums)[128], uint64_t a, uint64_t b,
                                       int adds) {
  asm volatile(
      EP_PRODUCT("m64n256k16.f32.bf16.bf16", EP_PLACES_128, "%128, %129", "%130", ", %131, %132")
      : EP_SUMS_128(sums)
      : "l"(a), "l"(b), "r"(adds), "n"((int)a_runs), "n"((int)b_runs));
}
template <bool a_runs, bool b_runs>
static __device__ inline void multiply(float, float (&sums)[128], uint64_t a, uint64_t b,
                                       int adds) {
  asm volatile(EP_PRODUCT("m64n256k8.f32.tf32.tf32", EP_PLACES_128, "%128, %129", "%130", "")
               : EP_SUMS_128(sums)
               : "l"(a), "l"(b), "r"(adds));
}

/* The same with a in registers: with lane = 4 u + q of warp w, of rows 16 w + u and 16 w + u + 8,
 * each at depth q, then each at q + 4. */
static __device__ inline void multiply(float (&sums)[128], const uint32_t (&a)[4], uint64_t b,
                                       int adds) {
  asm volatile(EP_PRODUCT("m64n256k8.f32.tf32.tf32", EP_PLACES_128,
                          "{%128, %129, %130, %131}, %132", "%133", "")
               : EP_SUMS_128(sums)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

#endif
