/* mma.cuh: products of small matrices on tensor cores by a warp (compute capability 8.0 and later):
 * mma of the PTX ISA. In bfloat16, in TF32, or, PRECISE, in float32 as three products of TF32
 * (3xTF32).
 *
 * Fragments, with g = lane / 4 and t = lane % 4: of c, 16 by 8, a thread has c[g, 2t], c[g, 2t +
 * 1], c[g + 8, 2t], c[g + 8, 2t + 1]; of TF32, a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4]
 * and b[t, g], b[t + 4, g]; of bfloat16 two neighbours along k in each word, a[g, 2t], a[g + 8,
 * 2t], a[g, 2t + 8], a[g + 8, 2t + 8] and b[2t, g], b[2t + 8, g]. */
#ifndef EP_KERNELS_CUDA_DEVICE_MMA_CUH
#define EP_KERNELS_CUDA_DEVICE_MMA_CUH

#include "kernels/cuda/device/mma_instructions.cuh"
#include "kernels/cuda/device/reduce.cuh"

/* Four neighbours of a row of c: of row g + t % 2 * 8, columns t / 2 * 4 to + 3. Lanes next to each
 * other swap halves of what they have. */
static __device__ __forceinline__ float4 fragment_row(const float (&c)[4]) {
  bool odd = threadIdx.x % 2;
  float a = __shfl_xor_sync(ALL_LANES, odd ? c[0] : c[2], 1),
        b = __shfl_xor_sync(ALL_LANES, odd ? c[1] : c[3], 1);
  return odd ? make_float4(a, b, c[2], c[3]) : make_float4(c[0], c[1], a, b);
}

/* --- 3xTF32 ---------------------------------------------------------------------------------- */

/* An operand as the tensor cores take it, which leave out the low 13 bits: hi, and, PRECISE, what
 * is left, lo. hi is cut off, not rounded: rounding by cvt takes longer than the products, and
 * rounding by adding to the bits turns a NaN into a zero. */
struct hi_lo {
  unsigned hi, lo;
};

template <bool PRECISE> static __device__ __forceinline__ hi_lo hi_lo_of(float value) {
  hi_lo of = {__float_as_uint(value), 0};
  if constexpr (PRECISE) {
    of.hi &= 0xffffe000u;
    of.lo = __float_as_uint(value - __uint_as_float(of.hi)) + 0x1000u;
  }
  return of;
}

/* A number as it is stored to be an operand: rounded once, unless it is taken as hi and lo. */
template <bool PRECISE> static __device__ __forceinline__ float operand_of(float value) {
  if constexpr (!PRECISE) value = tf32_rounded(value);
  return value;
}

/* ldmatrix of float32: lane l gets number l % 4 of row l / 4 of each of four matrices of eight rows
 * of four numbers. */
template <bool PRECISE>
static __device__ __forceinline__ void hi_lo_load(hi_lo (&to)[4], const float *row) {
  unsigned of[4];
  ldmatrix(of, row);
#pragma unroll
  for (int i = 0; i < 4; i++) to[i] = hi_lo_of<PRECISE>(__uint_as_float(of[i]));
}

/* c += a b: 16 by 8 by 8. */
template <bool PRECISE>
static __device__ __forceinline__ void multiply(float (&c)[4], const hi_lo (&a)[4], const hi_lo &b0,
                                                const hi_lo &b1) {
  if constexpr (PRECISE) {
    mma_tf32(c, a[0].lo, a[1].lo, a[2].lo, a[3].lo, b0.hi, b1.hi);
    mma_tf32(c, a[0].hi, a[1].hi, a[2].hi, a[3].hi, b0.lo, b1.lo);
  }
  mma_tf32(c, a[0].hi, a[1].hi, a[2].hi, a[3].hi, b0.hi, b1.hi);
}

#endif
