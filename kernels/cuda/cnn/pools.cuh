/* pools.cuh: pools, and activations that need a place of their own, of one row by a group. */
#ifndef EP_KERNELS_CUDA_CNN_POOLS_CUH
#define EP_KERNELS_CUDA_CNN_POOLS_CUH

#include "kernels/cuda/cnn/row.cuh"
#include "kernels/formulas/pools.h"

template <int S> struct pool {
  static constexpr cnn_stage A = stage(S), X = stage(S - 1);
  static constexpr int H = A.in.height, W = A.in.width, OH = A.out.height, OW = A.out.width;
  static constexpr int KH = A.kernel_height, KW = A.kernel_width;
  static constexpr bool MAX = A.type == EP_LAYER_MAX_POOL2D;
  static constexpr int DOWN = MAX ? A.dilation_down : 1, ACROSS = MAX ? A.dilation_across : 1;
  /* Every input is in one window at most. */
  static constexpr bool TILES = A.stride_down == KH && A.stride_across == KW &&
                                A.padding_down == 0 && A.padding_across == 0 && DOWN == 1 &&
                                ACROSS == 1;
};

template <int S> static __device__ __forceinline__ void pool_forward(const worker &w) {
  using P = pool<S>;
  uint8_t *places = (uint8_t *)(w.m + P::A.places);
  for (int f = w.thread; f < count_of(P::A.out); f += THREADS) {
    int c = f / (P::OH * P::OW), oy = f / P::OW % P::OH, ox = f % P::OW;
    int top = oy * P::A.stride_down - P::A.padding_down;
    int left = ox * P::A.stride_across - P::A.padding_across;
    float value = 0;
    int place = -1;
#pragma unroll
    for (int i = 0; i < P::KH; i++)
#pragma unroll
      for (int j = 0; j < P::KW; j++) {
        int y = top + i * P::DOWN, x = left + j * P::ACROSS;
        if (y < 0 || y >= P::H || x < 0 || x >= P::W) continue;
        float number = w.m[at_of(P::X.value, c, y, x)];
        if constexpr (!P::MAX) {
          value += number;
        } else if (place < 0 || ep_max_takes(number, value)) {
          value = number;
          place = i * P::KW + j;
        }
      }
    if constexpr (P::MAX)
      places[f] = (uint8_t)place;
    else
      value /= (float)(P::KH * P::KW);
    value_put<S>(w, at_of(P::A.value, c, oy, ox), f, value);
  }
}

/* What the window of output (oy, ox) has for its number (i, j). */
template <int S>
static __device__ __forceinline__ float pool_share(const worker &w, const uint8_t *places, int c,
                                                   int oy, int ox, int i, int j) {
  using P = pool<S>;
  float grad = w.m[at_of(P::A.grad, c, oy, ox)];
  if constexpr (!P::MAX) return grad;
  return places[(c * P::OH + oy) * P::OW + ox] == i * P::KW + j ? grad : 0;
}

template <int S> static __device__ __forceinline__ void pool_backward(const worker &w) {
  using P = pool<S>;
  const uint8_t *places = bytes_at(w, P::A.places);
  for (int f = w.thread; f < count_of(P::A.in); f += THREADS) {
    int c = f / (P::H * P::W), y = f / P::W % P::H, x = f % P::W;
    float sum = 0;
    if constexpr (P::TILES) {
      int oy = y / P::KH, ox = x / P::KW;
      if (oy < P::OH && ox < P::OW) sum = pool_share<S>(w, places, c, oy, ox, y % P::KH, x % P::KW);
    } else {
#pragma unroll
      for (int i = 0; i < P::KH; i++)
#pragma unroll
        for (int j = 0; j < P::KW; j++) {
          int top = y + P::A.padding_down - i * P::DOWN, oy = top / P::A.stride_down;
          int left = x + P::A.padding_across - j * P::ACROSS, ox = left / P::A.stride_across;
          if (top >= 0 && top % P::A.stride_down == 0 && oy < P::OH && left >= 0 &&
              left % P::A.stride_across == 0 && ox < P::OW)
            sum += pool_share<S>(w, places, c, oy, ox, i, j);
        }
    }
    if constexpr (!P::MAX) sum /= (float)(P::KH * P::KW);
    grad_put<S - 1>(w, at_of(P::X.value, c, y, x), at_of(P::X.grad, c, y, x), f, sum);
  }
}

/* --- one number at a time -------------------------------------------------------------------- */

template <int S> static __device__ __forceinline__ void point_forward(const worker &w) {
  constexpr cnn_stage A = stage(S), X = stage(S - 1);
  for (int f = w.thread; f < count_of(A.out); f += THREADS)
    value_put<S>(w, at_of(A.value, A.out, f), f, op_run<A.op>(w, w.m[at_of(X.value, X.out, f)], f));
}

template <int S> static __device__ __forceinline__ void point_backward(const worker &w) {
  constexpr cnn_stage A = stage(S), X = stage(S - 1);
  for (int f = w.thread; f < count_of(A.out); f += THREADS) {
    float x = w.m[at_of(X.value, X.out, f)], y = w.m[at_of(A.value, A.out, f)];
    grad_put<S - 1>(w, f, op_back<A.op>(w, w.m[at_of(A.grad, A.out, f)], x, y, f));
  }
}

#endif
