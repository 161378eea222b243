/* global_memory.cuh: loads of device memory that go past the first cache, and prefetches. */
#ifndef EP_KERNELS_CUDA_DEVICE_GLOBAL_MEMORY_CUH
#define EP_KERNELS_CUDA_DEVICE_GLOBAL_MEMORY_CUH

/* ld.global.cg.v4.f32: from the L2 cache, so that what another block wrote before a barrier is
 * seen. `from` lies on 16 bytes. */
static __device__ __forceinline__ void load_l2(float (&to)[4], const float *from) {
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from)
               : "memory");
}

/* The same, or zeros where it is not in bounds. The load is predicated: without a branch, loads
 * that stand together are under way together. */
static __device__ __forceinline__ void load_l2(float (&to)[4], const float *from, bool in_bounds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
               "mov.f32 %0, 0f00000000;\nmov.f32 %1, 0f00000000;\n"
               "mov.f32 %2, 0f00000000;\nmov.f32 %3, 0f00000000;\n"
               "@p ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];\n}"
               : "=&f"(to[0]), "=&f"(to[1]), "=&f"(to[2]), "=&f"(to[3])
               : "l"(from), "r"((int)in_bounds)
               : "memory");
}

/* prefetch.global.L2: brings the line of an address to the L2 cache, some time. */
static __device__ __forceinline__ void prefetch_l2(const void *line) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}

#endif
