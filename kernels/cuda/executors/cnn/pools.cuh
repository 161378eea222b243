/* pools.cuh: pools, and activations that need a place of their own, of one row by a group. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_POOLS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_POOLS_CUH

#include "kernels/cuda/executors/cnn/row.cuh"
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
  static constexpr bool WITHIN = A.padding_down == 0 && A.padding_across == 0;
  static constexpr bool COVERS = TILES && OH * KH == H && OW * KW == W; /* every input is in one */
};

/* An output, and where in its window a maximum was. */
struct pooled {
  float value;
  int place;
};

template <int S> static __device__ __forceinline__ pooled pool_make(const worker &w, int f) {
  using P = pool<S>;
  int c = f / (P::OH * P::OW), oy = f / P::OW % P::OH, ox = f % P::OW;
  int top = oy * P::A.stride_down - P::A.padding_down;
  int left = ox * P::A.stride_across - P::A.padding_across;
  pooled made = {0, -1};
#pragma unroll
  for (int i = 0; i < P::KH; i++)
#pragma unroll
    for (int j = 0; j < P::KW; j++) {
      int y = top + i * P::DOWN, x = left + j * P::ACROSS;
      if (!P::WITHIN && (y < 0 || y >= P::H || x < 0 || x >= P::W)) continue;
      float number = w.m[at_of(P::X.value, c, y, x)];
      if constexpr (!P::MAX) {
        made.value += number;
      } else if (made.place < 0 || ep_max_takes(number, made.value)) {
        made.value = number;
        made.place = i * P::KW + j;
      }
    }
  if constexpr (!P::MAX) made.value /= (float)(P::KH * P::KW);
  made.value = value_of<S>(w, f, made.value);
  return made;
}

template <int S> static __device__ __forceinline__ void pool_forward(const worker &w) {
  using P = pool<S>;
  uint8_t *places = (uint8_t *)(w.m + P::A.places);
  share_run<count_of(P::A.out)>(
      w, [&](int f) { return pool_make<S>(w, f); },
      [&](int f, pooled made) {
        w.m[at_of(P::A.value, P::A.out, f)] = made.value;
        if constexpr (P::MAX) places[f] = (uint8_t)made.place;
      });
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

/* Windows that are tiles: a thread a window. */
template <int S> static __device__ __forceinline__ void tiles_backward(const worker &w) {
  using P = pool<S>;
  const uint8_t *places = bytes_at(w, P::A.places);
  share_run<count_of(P::A.out)>(
      w,
      [&](int f) {
        pooled made = {w.m[at_of(P::A.grad, P::A.out, f)], P::MAX ? places[f] : 0};
        if constexpr (!P::MAX) made.value /= (float)(P::KH * P::KW);
        return made;
      },
      [&](int f, pooled made) {
        int c = f / (P::OH * P::OW), y = f / P::OW % P::OH * P::KH, x = f % P::OW * P::KW;
#pragma unroll
        for (int i = 0; i < P::KH; i++)
#pragma unroll
          for (int j = 0; j < P::KW; j++) {
            float grad = !P::MAX || made.place == i * P::KW + j ? made.value : 0;
            w.m[at_of(P::X.grad, c, y + i, x + j)] = grad_of<S - 1>(
                w, at_of(P::X.value, c, y + i, x + j), (c * P::H + y + i) * P::W + x + j, grad);
          }
      });
}

/* Any others: a thread an input, which asks the windows that it lies in. */
template <int S> static __device__ __forceinline__ void windows_backward(const worker &w) {
  using P = pool<S>;
  const uint8_t *places = bytes_at(w, P::A.places);
#pragma unroll 1
  for (int f = w.thread; f < count_of(P::A.in); f += THREADS) {
    int c = f / (P::H * P::W), y = f / P::W % P::H, x = f % P::W;
    float sum = 0;
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
    if constexpr (!P::MAX) sum /= (float)(P::KH * P::KW);
    grad_put<S - 1>(w, f, sum);
  }
}

template <int S> static __device__ __forceinline__ void pool_backward(const worker &w) {
  if constexpr (pool<S>::COVERS)
    tiles_backward<S>(w);
  else
    windows_backward<S>(w);
}

/* --- one number at a time -------------------------------------------------------------------- */

template <int S> static __device__ __forceinline__ void point_forward(const worker &w) {
  constexpr cnn_stage A = stage(S), X = stage(S - 1);
  share_run<count_of(A.out)>(
      w,
      [&](int f) { return value_of<S>(w, f, op_run<A.op>(w, w.m[at_of(X.value, X.out, f)], f)); },
      [&](int f, float value) { w.m[at_of(A.value, A.out, f)] = value; });
}

template <int S> static __device__ __forceinline__ void point_backward(const worker &w) {
  constexpr cnn_stage A = stage(S), X = stage(S - 1);
  share_run<count_of(A.out)>(
      w,
      [&](int f) {
        float x = w.m[at_of(X.value, X.out, f)], y = w.m[at_of(A.value, A.out, f)];
        float grad = op_back<A.op>(w, w.m[at_of(A.grad, A.out, f)], x, y, f);
        return grad_of<S - 1>(w, at_of(X.value, X.out, f), f, grad);
      },
      [&](int f, float grad) { w.m[at_of(X.grad, X.out, f)] = grad; });
}

#endif
