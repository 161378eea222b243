/* mma_instructions.cuh, for the emulator: the instructions of tensor cores that mma.cuh is made of.
 * Fragments are laid out as mma.cuh says. */
#ifndef EP_TEST_EMULATOR_MMA_INSTRUCTIONS_H
#define EP_TEST_EMULATOR_MMA_INSTRUCTIONS_H

#include "kernels/cuda/device/shared_memory.cuh"

/* c += a b, 16 by 8 by 8, in float32 and in the order of k. The low 13 bits of a and b are left
 * out. */
static __device__ __forceinline__ void mma_tf32(float (&c)[4], unsigned a0, unsigned a1,
                                                unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                                                EMULATOR_SITE) {
  emulator_product product = {c, {a0, a1, a2, a3}, {b0, b1}};
  emulator_meet(EMULATOR_MMA_TF32, 0xffffffffu, &product, site);
}

/* c += a b, 16 by 8 by 16, in float32 and in the order of k. */
static __device__ __forceinline__ void mma_bf16(float (&c)[4], unsigned a0, unsigned a1,
                                                unsigned a2, unsigned a3, unsigned b0, unsigned b1,
                                                EMULATOR_SITE) {
  emulator_product product = {c, {a0, a1, a2, a3}, {b0, b1}};
  emulator_meet(EMULATOR_MMA_BF16, 0xffffffffu, &product, site);
}

/* Lane l gives the address of row l % 8 of matrix l / 8, and gets word l % 4 of row l / 4 of each,
 * to[0 … 3]. */
static __device__ __forceinline__ void ldmatrix(unsigned *to, const void *row, EMULATOR_SITE) {
  emulator_rows rows = {row, to};
  emulator_meet(EMULATOR_LDMATRIX, 0xffffffffu, &rows, site);
}

static __device__ __forceinline__ void ldmatrix_transposed(unsigned *to, const void *row,
                                                           EMULATOR_SITE) {
  emulator_rows rows = {row, to};
  emulator_meet(EMULATOR_LDMATRIX_TRANSPOSED, 0xffffffffu, &rows, site);
}

/* The nearest number that TF32 has, ties away from zero; infinity and NaN stay. */
static __device__ __forceinline__ float tf32_rounded(float value) {
  unsigned bits = __float_as_uint(value);
  if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & 0xffffe000u;
  return __uint_as_float(bits);
}

/* The nearest numbers that bfloat16 has, ties to even, the first in the lower half. */
static __device__ __forceinline__ unsigned bf16_pair(float first, float second) {
  const float of[2] = {first, second};
  unsigned pair = 0;
  for (int i = 0; i < 2; i++) {
    unsigned bits = __float_as_uint(of[i]);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
      bits |= 0x400000u; /* a NaN stays one */
    else
      bits += 0x7fffu + (bits >> 16 & 1);
    pair |= bits >> 16 << 16 * i;
  }
  return pair;
}

#endif
