/* fragments.cuh: pieces of matrices as the tensor cores take them, in the program's precision:
 * bfloat16, TF32, or float32 as three products of TF32 halves. All pieces are 16 by 16, or 16 by 8
 * for the second factor, which comes in pairs. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_FRAGMENTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_FRAGMENTS_CUH

#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/executors/fused/args.h"

typedef ep_cuda_fused_args args;

constexpr int WARPS = THREADS / WARP;
constexpr bool HALF = PRECISION == EP_PRECISION_BF16, PRECISE = PRECISION == EP_PRECISION_FP32;

template <bool> struct number_of { typedef float type; };
template <> struct number_of<true> { typedef uint16_t type; };
typedef number_of<HALF>::type number;

constexpr int parts_of(int whole, int part) {
  return (whole + part - 1) / part;
}
constexpr int padded(int count) {
  return parts_of(count, 16) * 16;
}
constexpr int pitch_of(int count) {
  return padded(count) + (HALF || padded(count) % 32 != 0 ? 8 : 0);
}

extern __shared__ __align__(128) char block_memory[];

static __device__ __forceinline__ number *numbers_at(int offset) {
  return (number *)(block_memory + offset);
}

/* --- numbers --------------------------------------------------------------------------------- */

static __device__ __forceinline__ void pair_put(number *to, float first, float second) {
  if constexpr (HALF)
    *(unsigned *)to = bf16_pair(first, second);
  else
    *(float2 *)to = make_float2(first, second);
}

static __device__ __forceinline__ float2 pair_get(const number *from) {
  if constexpr (HALF) {
    unsigned pair = *(const unsigned *)from;
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u));
  } else {
    return *(const float2 *)from;
  }
}

static __device__ __forceinline__ void number_put(number *to, float value) {
  if constexpr (HALF)
    *to = (number)bf16_pair(value, 0);
  else
    *to = value;
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* high: bfloat16 in pairs, or float32 of which the tensor cores leave out the low 13 bits. low:
 * what those come to, where the product is to be precise. */
template <int COUNT> struct piece {
  unsigned high[COUNT], low[PRECISE ? COUNT : 1];

  __device__ __forceinline__ void set(int i, float value) {
    high[i] = __float_as_uint(value);
    if constexpr (PRECISE) {
      high[i] &= 0xffffe000u;
      low[i] = __float_as_uint(value - __uint_as_float(high[i]));
    }
  }
};
typedef piece<HALF ? 4 : 8> left;  /* 16 by 16 */
typedef piece<HALF ? 2 : 4> right; /* 16 by 8 */

static __device__ __forceinline__ void half_multiply(float (&c)[4], const unsigned *a,
                                                     const unsigned *b) {
  mma_bf16(c, a[0], a[1], a[2], a[3], b[0], b[1]);
}

static __device__ __forceinline__ void float_multiply(float (&c)[4], const unsigned *a,
                                                      const unsigned *b) {
  mma_tf32(c, a[0], a[1], a[2], a[3], b[0], b[1]);
}

/* c += a b: c[g, 2t], c[g, 2t + 1], and the same of row g + 8. */
static __device__ __forceinline__ void multiply(float (&c)[4], const left &a, const right &b) {
  if constexpr (HALF) {
    half_multiply(c, a.high, b.high);
  } else {
#pragma unroll
    for (int s = 0; s < 2; s++) {
      if constexpr (PRECISE) {
        float_multiply(c, a.low + 4 * s, b.high + 2 * s);
        float_multiply(c, a.high + 4 * s, b.low + 2 * s);
      }
      float_multiply(c, a.high + 4 * s, b.high + 2 * s);
    }
  }
}

/* Adds the sums of a's rows, to each column. */
static __device__ __forceinline__ void ones_multiply(float (&c)[4], const left &a) {
  if constexpr (HALF) {
    const unsigned ones[2] = {0x3f803f80u, 0x3f803f80u};
    half_multiply(c, a.high, ones);
  } else {
    const unsigned ones[2] = {0x3f800000u, 0x3f800000u};
#pragma unroll
    for (int s = 0; s < 2; s++) {
      if constexpr (PRECISE) float_multiply(c, a.low + 4 * s, ones);
      float_multiply(c, a.high + 4 * s, ones);
    }
  }
}

/* Where column `column` of a row lies in it: such that neither loads along rows nor along columns
 * meet in a bank; eight neighbours from a multiple of eight stay neighbours. */
template <int PITCH> constexpr int turned(int row, int column) {
  if (HALF) return column;
  return PITCH % 32 == 0 ? column ^ ((row ^ (row >> 2 & 1)) & 3) << 3 : column ^ (row & 4) << 1;
}

template <int PITCH>
static __device__ __forceinline__ const number *place_of(const number *from, int row, int column) {
  return from + row * PITCH + turned<PITCH>(row, column);
}
template <int PITCH>
static __device__ __forceinline__ number *place_of(number *from, int row, int column) {
  return from + row * PITCH + turned<PITCH>(row, column);
}

/* a[m, k] = from[row + m, column + k]. TF32's products take the terms of a sum in an order of
 * their own, the same for both factors: 2t, 2t + 1 for t, t + 4. */
template <int PITCH>
static __device__ __forceinline__ left left_rows(const number *from, int row, int column) {
  int lane = threadIdx.x % WARP;
  left a;
  if constexpr (HALF) {
    ldmatrix(a.high, from + (row + lane % 16) * PITCH + column + lane / 16 * 8);
  } else {
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const number *at = place_of<PITCH>(from, row + lane / 4, column + 8 * s + lane % 4 * 2);
      float2 upper = pair_get(at), lower = pair_get(at + 8 * PITCH);
      a.set(4 * s, upper.x);
      a.set(4 * s + 1, lower.x);
      a.set(4 * s + 2, upper.y);
      a.set(4 * s + 3, lower.y);
    }
  }
  return a;
}

/* a[m, k] = from[row + k, column + m]. */
template <int PITCH>
static __device__ __forceinline__ left left_columns(const number *from, int row, int column) {
  int lane = threadIdx.x % WARP;
  left a;
  if constexpr (HALF) {
    ldmatrix_transposed(a.high, from + (row + lane / 16 * 8 + lane % 8) * PITCH + column +
                                    lane / 8 % 2 * 8);
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++)
      a.set(i, *place_of<PITCH>(from, row + i / 2 * 4 + lane % 4, column + i % 2 * 8 + lane / 4));
  }
  return a;
}

/* b[j][k, n] = weights[row + 8j + n, column + k]. */
template <int PITCH>
static __device__ __forceinline__ void right_rows(right (&b)[2], const number *weights, int row,
                                                  int column) {
  int lane = threadIdx.x % WARP;
  if constexpr (HALF) {
    unsigned four[4];
    ldmatrix(four, weights + (row + lane / 16 * 8 + lane % 8) * PITCH + column + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < 4; i++) b[i / 2].high[i % 2] = four[i];
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float2 pair = pair_get(
          place_of<PITCH>(weights, row + i / 2 * 8 + lane / 4, column + i % 2 * 8 + lane % 4 * 2));
      b[i / 2].set(i % 2 * 2, pair.x);
      b[i / 2].set(i % 2 * 2 + 1, pair.y);
    }
  }
}

/* b[j][k, n] = weights[row + k, column + 8j + n]. */
template <int PITCH>
static __device__ __forceinline__ void right_columns(right (&b)[2], const number *weights, int row,
                                                     int column) {
  int lane = threadIdx.x % WARP;
  if constexpr (HALF) {
    unsigned four[4];
    ldmatrix_transposed(four, weights + (row + lane % 16) * PITCH + column + lane / 16 * 8);
#pragma unroll
    for (int i = 0; i < 4; i++) b[i / 2].high[i % 2] = four[i];
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      int k = i / 2 % 2 * 8 + lane % 4 * 2 + i % 2, n = i / 4 * 8 + lane / 4;
      b[i / 4].set(i % 4, *place_of<PITCH>(weights, row + k, column + n));
    }
  }
}

/* b[j][k, n] = from[row + k, column + 8j + n], of rows' numbers. The terms as left_columns has
 * them. */
template <int PITCH>
static __device__ __forceinline__ void right_inputs(right (&b)[2], const number *from, int row,
                                                    int column) {
  if constexpr (HALF) {
    right_columns<PITCH>(b, from, row, column);
  } else {
    int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < 8; i++)
      b[i / 4].set(
          i % 4, *place_of<PITCH>(from, row + i % 4 * 4 + lane % 4, column + i / 4 * 8 + lane / 4));
  }
}

#endif
