/* bf16.cuh: bfloat16 and float32 numbers, loaded and stored several at a time. */
#ifndef EP_KERNELS_CUDA_DEVICE_BF16_CUH
#define EP_KERNELS_CUDA_DEVICE_BF16_CUH

#ifndef __CUDACC_RTC__ /* which has no cuda_bf16.h */
#include <cuda_bf16.h>

typedef __nv_bfloat16 half_number;
#endif

#include "kernels/cuda/device/mma.cuh"
#include "kernels/formulas/activations.h"

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

#ifndef __CUDACC_RTC__
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
    for (int i = 0; i < N / 2; i++) all.of[i] = bf16_pair(values[2 * i], values[2 * i + 1]);
    *(pack<uint32_t, N / 2> *)to = all;
  }
}

#endif

#endif
