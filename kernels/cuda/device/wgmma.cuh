/* wgmma.cuh: products of matrices on tensor cores by a warpgroup, 128 threads, from shared memory
 * (compute capability 9.0): wgmma of the PTX ISA. All threads of the warpgroup call together; what
 * a product reads and its sums are left alone until it is waited for.
 *
 * Warp w of the warpgroup has the rows 16 w to 16 w + 15 of the 64 of a. With g = lane / 4 and
 * t = lane % 4, sums 4j to 4j + 3 are [g, 8j + 2t], [g, 8j + 2t + 1], and the same of row g + 8. */
#ifndef EP_KERNELS_CUDA_DEVICE_WGMMA_CUH
#define EP_KERNELS_CUDA_DEVICE_WGMMA_CUH

#include <stdint.h>

/* --- order ----------------------------------------------------------------------------------- */

/* wgmma.fence: orders registers before the products that follow and take them. */
static __device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/* wgmma.commit_group: the products since the last one are a group. */
static __device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* wgmma.wait_group: waits until all groups but the last LEFT are complete. */
template <int LEFT> static __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* setmaxnreg: the warpgroup gives registers back, so that its threads have COUNT each, or waits for
 * that many. */
template <int COUNT> static __device__ __forceinline__ void registers_release() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> static __device__ __forceinline__ void registers_take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* --- operands -------------------------------------------------------------------------------- */

/* The matrix descriptor of an operand in shared memory at `address`: with stride_bytes from one
 * eight of rows to the next, and leading_bytes from one piece of a row to the next. swizzled: rows
 * are lines of 128 bytes whose pieces of 16 bytes have changed places, as tensor maps leave them,
 * and eights begin on 1,024 bytes; else pieces of 16 bytes lie in the order of rows. */
static __device__ __forceinline__ uint64_t wgmma_operand(unsigned address, unsigned leading_bytes,
                                                         unsigned stride_bytes,
                                                         bool swizzled = true) {
  return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(leading_bytes >> 4) << 16 |
         (uint64_t)(stride_bytes >> 4) << 32 | (uint64_t)swizzled << 62;
}

/* --- products -------------------------------------------------------------------------------- */

/* A thread's sums as operands of an instruction: AT(i) is number i. */
#define EP_WGMMA_SUMS_4(AT, i) "+f"(AT(i)), "+f"(AT((i) + 1)), "+f"(AT((i) + 2)), "+f"(AT((i) + 3))
#define EP_WGMMA_SUMS_16(AT, i)                                                       \
  EP_WGMMA_SUMS_4(AT, i), EP_WGMMA_SUMS_4(AT, (i) + 4), EP_WGMMA_SUMS_4(AT, (i) + 8), \
      EP_WGMMA_SUMS_4(AT, (i) + 12)
#define EP_WGMMA_SUMS_52(AT)                                                   \
  EP_WGMMA_SUMS_16(AT, 0), EP_WGMMA_SUMS_16(AT, 16), EP_WGMMA_SUMS_16(AT, 32), \
      EP_WGMMA_SUMS_4(AT, 48)
#define EP_WGMMA_SUMS_64(AT) \
  EP_WGMMA_SUMS_52(AT), EP_WGMMA_SUMS_4(AT, 52), EP_WGMMA_SUMS_4(AT, 56), EP_WGMMA_SUMS_4(AT, 60)
#define EP_WGMMA_SUMS_104(AT)                                               \
  EP_WGMMA_SUMS_64(AT), EP_WGMMA_SUMS_16(AT, 64), EP_WGMMA_SUMS_16(AT, 80), \
      EP_WGMMA_SUMS_4(AT, 96), EP_WGMMA_SUMS_4(AT, 100)
#define EP_WGMMA_SUMS_128(AT)                                                \
  EP_WGMMA_SUMS_104(AT), EP_WGMMA_SUMS_4(AT, 104), EP_WGMMA_SUMS_4(AT, 108), \
      EP_WGMMA_SUMS_16(AT, 112)

/* Their names in the instruction's text. */
#define EP_WGMMA_NAMES_52                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51"
#define EP_WGMMA_NAMES_64 \
  EP_WGMMA_NAMES_52 ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define EP_WGMMA_NAMES_104                                                                        \
  EP_WGMMA_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "    \
                    "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, " \
                    "%93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103"
#define EP_WGMMA_NAMES_128                                                                        \
  EP_WGMMA_NAMES_104 ", %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, " \
                     "%116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/* wgmma.mma_async: its shape and types, the names of its sums, of a and b, of `adds`, and whether
 * operands are transposed. */
#define EP_WGMMA(kind, sums, operands, adds, transposed)  \
  "{\n.reg .pred adds;\nsetp.ne.b32 adds, " adds ", 0;\n" \
  "wgmma.mma_async.sync.aligned." kind " {" sums "}, " operands ", adds, 1, 1" transposed ";\n}"

/* In what follows: sums = a b, or, `adds`, sums += a b, where a has 64 rows, b twice as many
 * columns as a thread has sums, and both 32 bytes of k. a and b: as wgmma_operand gives them. */

/* Numbers of type bfloat16, 16 of k. Neighbours in shared memory are of one row of a, or column of
 * b; transposed, of one k. */
#define EP_AT(i) sums[i]
template <bool A_TRANSPOSED, bool B_TRANSPOSED>
static __device__ __forceinline__ void wgmma_bf16(float (&sums)[104], uint64_t a, uint64_t b,
                                                  int adds) {
  asm volatile(
      EP_WGMMA("m64n208k16.f32.bf16.bf16", EP_WGMMA_NAMES_104, "%104, %105", "%106", ", %107, %108")
      : EP_WGMMA_SUMS_104(EP_AT)
      : "l"(a), "l"(b), "r"(adds), "n"((int)A_TRANSPOSED), "n"((int)B_TRANSPOSED));
}
template <bool A_TRANSPOSED, bool B_TRANSPOSED>
static __device__ __forceinline__ void wgmma_bf16(float (&sums)[128], uint64_t a, uint64_t b,
                                                  int adds) {
  asm volatile(
      EP_WGMMA("m64n256k16.f32.bf16.bf16", EP_WGMMA_NAMES_128, "%128, %129", "%130", ", %131, %132")
      : EP_WGMMA_SUMS_128(EP_AT)
      : "l"(a), "l"(b), "r"(adds), "n"((int)A_TRANSPOSED), "n"((int)B_TRANSPOSED));
}

/* Float32 as TF32, 8 of k; neighbours are of one row of a, or column of b. */
static __device__ __forceinline__ void wgmma_tf32(float (&sums)[128], uint64_t a, uint64_t b,
                                                  int adds) {
  asm volatile(EP_WGMMA("m64n256k8.f32.tf32.tf32", EP_WGMMA_NAMES_128, "%128, %129", "%130", "")
               : EP_WGMMA_SUMS_128(EP_AT)
               : "l"(a), "l"(b), "r"(adds));
}

/* a in registers: [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4] of the warp's rows by k. */
static __device__ __forceinline__ void wgmma_tf32(float (&sums)[128], const unsigned (&a)[4],
                                                  uint64_t b, int adds) {
  asm volatile(EP_WGMMA("m64n256k8.f32.tf32.tf32", EP_WGMMA_NAMES_128,
                        "{%128, %129, %130, %131}, %132", "%133", "")
               : EP_WGMMA_SUMS_128(EP_AT)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
#undef EP_AT

/* The same with sums by fours. */
#define EP_AT(i) sums[(i) / 4][(i) % 4]
static __device__ __forceinline__ void wgmma_tf32(float (&sums)[13][4], uint64_t a, uint64_t b,
                                                  int adds) {
  asm volatile(EP_WGMMA("m64n104k8.f32.tf32.tf32", EP_WGMMA_NAMES_52, "%52, %53", "%54", "")
               : EP_WGMMA_SUMS_52(EP_AT)
               : "l"(a), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void wgmma_tf32(float (&sums)[13][4], const unsigned (&a)[4],
                                                  uint64_t b, int adds) {
  asm volatile(
      EP_WGMMA("m64n104k8.f32.tf32.tf32", EP_WGMMA_NAMES_52, "{%52, %53, %54, %55}, %56", "%57", "")
      : EP_WGMMA_SUMS_52(EP_AT)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void wgmma_tf32(float (&sums)[16][4], const unsigned (&a)[4],
                                                  uint64_t b, int adds) {
  asm volatile(
      EP_WGMMA("m64n128k8.f32.tf32.tf32", EP_WGMMA_NAMES_64, "{%64, %65, %66, %67}, %68", "%69", "")
      : EP_WGMMA_SUMS_64(EP_AT)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
#undef EP_AT

#endif
