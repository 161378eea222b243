/* mma.cuh: products on tensor cores by a warp: TF32 once, or, PRECISE, three times on the halves
 * of a float32, which keeps its precision. */
#ifndef EP_KERNELS_CUDA_DEVICE_MMA_CUH
#define EP_KERNELS_CUDA_DEVICE_MMA_CUH

/* A factor as the tensor cores take it: they leave out the low 13 bits. Rounding by cvt took longer
 * than the products, and rounding by adding to the bits turns a NaN into a zero: so the high part
 * is cut off, which is what the low part makes up for. */
struct part {
  unsigned high, low;
};

template <bool PRECISE> static __device__ __forceinline__ part part_of(float value) {
  part p = {__float_as_uint(value), 0};
  if constexpr (PRECISE) {
    p.high &= 0xffffe000u;
    p.low = __float_as_uint(value - __uint_as_float(p.high)) + 0x1000u;
  }
  return p;
}

/* A number that is stored to be a factor: rounded once, where it is for products of one part. */
template <bool PRECISE> static __device__ __forceinline__ float factor_of(float value) {
  if constexpr (!PRECISE) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    value = __uint_as_float(rounded);
  }
  return value;
}

/* Four matrices of eight rows of four numbers in shared memory: lane l has number l % 4 of row l /
 * 4 of each; it gives the address of row l % 8 of matrix l / 8. */
template <bool PRECISE>
static __device__ __forceinline__ void parts_load(part (&to)[4], const float *row) {
  unsigned of[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(of[0]), "=r"(of[1]), "=r"(of[2]), "=r"(of[3])
               : "r"((unsigned)__cvta_generic_to_shared(row))
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; i++) to[i] = part_of<PRECISE>(__uint_as_float(of[i]));
}

static __device__ __forceinline__ void multiply_once(float (&c)[4], unsigned a0, unsigned a1,
                                                     unsigned a2, unsigned a3, unsigned b0,
                                                     unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

/* c += a b: 16 by 8 by 8. With g = lane / 4 and t = lane % 4 a thread has a[g, t], a[g + 8, t],
 * a[g, t + 4], a[g + 8, t + 4]; b[t, g], b[t + 4, g]; c[g, 2t], c[g, 2t + 1] and the same of row
 * g + 8. */
template <bool PRECISE>
static __device__ __forceinline__ void multiply(float (&c)[4], const part (&a)[4], const part &b0,
                                                const part &b1) {
  if constexpr (PRECISE) {
    multiply_once(c, a[0].low, a[1].low, a[2].low, a[3].low, b0.high, b1.high);
    multiply_once(c, a[0].high, a[1].high, a[2].high, a[3].high, b0.low, b1.low);
  }
  multiply_once(c, a[0].high, a[1].high, a[2].high, a[3].high, b0.high, b1.high);
}

#endif
