/* mma_instructions.cuh: the instructions of tensor cores that mma.cuh is made of: mma, ldmatrix and
 * cvt of the PTX ISA (compute capability 8.0 and later). Fragments are laid out as mma.cuh says. */
#ifndef EP_KERNELS_CUDA_DEVICE_MMA_INSTRUCTIONS_CUH
#define EP_KERNELS_CUDA_DEVICE_MMA_INSTRUCTIONS_CUH

#include "kernels/cuda/device/shared_memory.cuh"

/* Older GPUs compile what follows, and never run it. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define EP_MMA(...) asm(__VA_ARGS__)
#else
#define EP_MMA(...)
#endif

/* mma.m16n8k8 of TF32: c += a b, 16 by 8 by 8. The low 13 bits of a and b are left out. */
static __device__ __forceinline__ void mma_tf32(float (&c)[4], unsigned a0, unsigned a1,
                                                unsigned a2, unsigned a3, unsigned b0,
                                                unsigned b1) {
  EP_MMA("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
         "{%8,%9}, {%0,%1,%2,%3};"
         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* mma.m16n8k16 of bfloat16: c += a b, 16 by 8 by 16. */
static __device__ __forceinline__ void mma_bf16(float (&c)[4], unsigned a0, unsigned a1,
                                                unsigned a2, unsigned a3, unsigned b0,
                                                unsigned b1) {
  EP_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
         "{%8,%9}, {%0,%1,%2,%3};"
         : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* ldmatrix.x4: four matrices of eight rows of 16 bytes in shared memory. Lane l gives the address
 * of row l % 8 of matrix l / 8, and gets word l % 4 of row l / 4 of each, to[0 … 3]. */
static __device__ __forceinline__ void ldmatrix(unsigned *to, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/* ldmatrix.x4.trans: each matrix, of 8 by 8 numbers of 16 bits, is transposed on its way. */
static __device__ __forceinline__ void ldmatrix_transposed(unsigned *to, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/* cvt.rna.tf32.f32: the nearest number that TF32 has, ties away from zero. Before 8.0 the number
 * itself. */
static __device__ __forceinline__ float tf32_rounded(float value) {
  EP_MMA("{\n.reg .b32 bits;\ncvt.rna.tf32.f32 bits, %0;\nmov.b32 %0, bits;\n}" : "+f"(value));
  return value;
}

/* cvt.rn.bf16x2.f32: two numbers as bfloat16 in a word, the first in its lower half; the nearest
 * ones, ties to even. */
static __device__ __forceinline__ unsigned bf16_pair(float first, float second) {
  unsigned pair = 0;
  EP_MMA("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

#undef EP_MMA
#endif
