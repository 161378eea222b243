/* bf16.cuh: bfloat16 and float32 numbers by the handful, for the kernels of cuda/gemm. */
#ifndef EP_KERNELS_CUDA_DEVICE_BF16_CUH
#define EP_KERNELS_CUDA_DEVICE_BF16_CUH

#include <cuda_bf16.h>

#include "kernels/formulas/activations.h"

typedef __nv_bfloat16 half_number;

/* Several neighbours, read and written at once. */
template <typename T, int N> struct alignas(sizeof(T) * N) pack { T of[N]; };

template <typename T, int N> static __device__ inline pack<T, N> load(const T *from) {
  return *(const pack<T, N> *)from;
}

/* The same as floats. The second of two bfloat16 is the upper half of its float, the first is when
 * it has moved up. */
template <int N> static __device__ inline void load(const float *from, float (&to)[N]) {
  pack<float, N> all = load<float, N>(from);
#pragma unroll
  for (int i = 0; i < N; i++) to[i] = all.of[i];
}

template <int N> static __device__ inline void load(const half_number *from, float (&to)[N]) {
  if constexpr (N == 1) {
    to[0] = __bfloat162float(*from);
  } else {
    pack<uint32_t, N / 2> all = *(const pack<uint32_t, N / 2> *)from;
#pragma unroll
    for (int i = 0; i < N / 2; i++) {
      to[2 * i] = __uint_as_float(all.of[i] << 16);
      to[2 * i + 1] = __uint_as_float(all.of[i] & 0xffff0000u);
    }
  }
}

template <int N> static __device__ inline void store(float *to, const float (&values)[N]) {
  pack<float, N> all;
  for (int i = 0; i < N; i++) all.of[i] = values[i];
  *(pack<float, N> *)to = all;
}

/* Two to a word: as numbers of their own, they would be written one by one. */
template <int N> static __device__ inline void store(half_number *to, const float (&values)[N]) {
  if constexpr (N == 1) {
    *to = __float2bfloat16_rn(values[0]);
  } else {
    pack<uint32_t, N / 2> all;
    for (int i = 0; i < N / 2; i++) {
      __nv_bfloat162 two = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
      all.of[i] = *(const uint32_t *)&two;
    }
    *(pack<uint32_t, N / 2> *)to = all;
  }
}

/* The nearest number that TF32 has. Tensor cores would cut the other bits off; and bits that are
 * all the same cost less power on their way, which a GPU at its limit turns into clock. */
static __device__ inline float coarse(float value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800 /* what is older has no TF32 */
  asm("{\n.reg .b32 bits;\ncvt.rna.tf32.f32 bits, %0;\nmov.b32 %0, bits;\n}" : "+f"(value));
#endif
  return value;
}

static __device__ inline void slice_rows(int64_t rows, int slice, int slices, int64_t *first,
                                         int64_t *last) {
  *first = rows * slice / slices;
  *last = rows * (slice + 1) / slices;
}

/* dy/dx, from y alone where there is no `before`; relu is told apart early, as the most usual. */
template <bool relu>
static __device__ inline float derivative(const ep_op &op, float y, const float *before) {
  if (relu) return ep_relu_derivative(y);
  return ep_activation_derivative(&op, before ? *before : y, y);
}

#endif
