/* conv.cuh: conv2d of one row by a group of threads, in three products: forward, by the input, by
 * the weights. A thread holds a strip of a row for one or two channels in registers; where a layer
 * has too few strips for the group, sums are cut and added up afterwards, in a fixed order.
 * Channels that dropout2d drops are not computed. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_CONV_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_CONV_CUH

#include "kernels/cuda/executors/cnn/row.cuh"

constexpr int WINDOW_IN_REGISTERS = 32;

template <int S> struct conv {
  static constexpr cnn_stage A = stage(S), X = stage(S - 1);
  static constexpr int IC = A.in.channels, H = A.in.height, W = A.in.width;
  static constexpr int OC = A.out.channels, OH = A.out.height, OW = A.out.width;
  static constexpr int KH = A.kernel_height, KW = A.kernel_width, K = KH * KW;
  static constexpr int PITCH = odd_vectors_of(K); /* of the staged weights of one window */
  static constexpr bool WHOLE = vectors_of(K) <= WINDOW_IN_REGISTERS;
  static constexpr int WINDOW = WHOLE ? vectors_of(K) : KW;
  static constexpr bool LISTED = A.list >= 0;
  static constexpr int CHUNKS = parts_of(OW, A.tile);
  static constexpr int OUT_PITCH = odd_vectors_of(A.tile * CHUNKS); /* of the sums' rows */
  static constexpr int IN_PITCH = odd_vectors_of(W);
  static constexpr int PAIR = OC > 1 ? 2 : 1;
  static constexpr int BIASES = OC * IC * PITCH; /* behind the staged weights */
};

/* Begins the copy of a convolution's weights and biases, by the block. */
template <int S> static __device__ __forceinline__ void conv_stage(const args &s, float *to) {
  using C = conv<S>;
  constexpr int COUNT = C::OC * C::IC * C::K;
  to += C::A.staged;
#pragma unroll 2
  for (int i = threadIdx.x; i < COUNT; i += GROUPS * THREADS)
    cp_async<4>(to + i / C::K * C::PITCH + i % C::K, s.parameters + C::A.weight + i);
#pragma unroll 1
  for (int c = threadIdx.x; c < C::OC && C::A.bias >= 0; c += GROUPS * THREADS)
    cp_async<4>(to + C::BIASES + c, s.parameters + C::A.bias + c);
}

/* How many channels are computed, and channel k of them. */
template <int S> static __device__ __forceinline__ int kept_count(const worker &w) {
  using C = conv<S>;
  if constexpr (C::LISTED) return ((const int *)(w.m + C::A.list))[C::OC];
  return C::OC;
}
template <int S> static __device__ __forceinline__ int kept_channel(const worker &w, int k) {
  using C = conv<S>;
  if constexpr (C::LISTED) return ((const int *)(w.m + C::A.list))[k];
  return k;
}

/* The weights of a window: all of them at once, or, when they are too many, row `i` of it. */
template <int S>
static __device__ __forceinline__ void window_read(const worker &w, int oc, int ic,
                                                   float (&to)[conv<S>::WINDOW]) {
  using C = conv<S>;
  if constexpr (C::WHOLE)
    row_read<C::WINDOW / 4>(w.staged + C::A.staged + (oc * C::IC + ic) * C::PITCH, to);
}
template <int S>
static __device__ __forceinline__ void window_row(const worker &w, int oc, int ic, int i,
                                                  float (&to)[conv<S>::WINDOW]) {
  using C = conv<S>;
  if constexpr (!C::WHOLE) {
    const float *row = w.staged + C::A.staged + (oc * C::IC + ic) * C::PITCH + i * C::KW;
#pragma unroll
    for (int j = 0; j < C::KW; j++) to[j] = row[j];
  }
}

/* --- forward --------------------------------------------------------------------------------- */

/* Adds input channel ic's part of a strip of PAIR output channels. */
template <int S>
static __device__ __forceinline__ void strip_add(const worker &w, const int (&oc)[conv<S>::PAIR],
                                                 int ic, int y, int chunk,
                                                 float (&sum)[conv<S>::PAIR][conv<S>::A.tile]) {
  using C = conv<S>;
  constexpr int TILE = C::A.tile, ACROSS = C::A.stride_across;
  constexpr int INPUTS = parts_of((TILE - 1) * ACROSS + C::KW, 4);
  const float *x = w.m + C::X.value.first + ic * C::X.value.plane +
                   y * C::A.stride_down * C::X.value.pitch + chunk * TILE * ACROSS;
  float window[C::PAIR][C::WINDOW];
#pragma unroll
  for (int j = 0; j < C::PAIR; j++) window_read<S>(w, oc[j], ic, window[j]);
#pragma unroll(C::WHOLE ? C::KH : 1)
  for (int i = 0; i < C::KH; i++) {
    float in[4 * INPUTS];
    row_read<INPUTS>(x + i * C::X.value.pitch, in);
#pragma unroll
    for (int j = 0; j < C::PAIR; j++) {
      window_row<S>(w, oc[j], ic, i, window[j]);
#pragma unroll
      for (int k = 0; k < C::KW; k++)
#pragma unroll
        for (int o = 0; o < TILE; o++)
          sum[j][o] = fmaf(window[j][C::WHOLE ? i * C::KW + k : k], in[o * ACROSS + k], sum[j][o]);
    }
  }
}

/* Output (c, y, x), with what the layers behind make of it. */
template <int S>
static __device__ __forceinline__ float conv_value(const worker &w, int c, int y, int x,
                                                   float sum) {
  using C = conv<S>;
  if constexpr (C::A.bias >= 0) sum += w.staged[C::A.staged + C::BIASES + c];
  return value_of<S>(w, (c * C::OH + y) * C::OW + x, sum);
}

/* Adds up the parts of all outputs, or sets those that were dropped. */
template <int S> static __device__ __forceinline__ void conv_finish(const worker &w) {
  using C = conv<S>;
  constexpr int PIXELS = C::OH * C::OW, ROWS = C::OC * C::OH;
  if constexpr (C::A.split > 1) {
    group_wait(w);
    share_run<C::OC * PIXELS>(
        w,
        [&](int f) {
          int row = f / C::OW, x = f % C::OW;
          const float *part = w.m + C::A.forward + row * C::OUT_PITCH + x;
          float sum = 0;
#pragma unroll
          for (int i = 0; i < C::A.split; i++) sum += part[i * ROWS * C::OUT_PITCH];
          return conv_value<S>(w, row / C::OH, row % C::OH, x, sum);
        },
        [&](int f, float value) { w.m[at_of(C::A.value, C::A.out, f)] = value; });
  } else if constexpr (C::LISTED) {
    int kept = kept_count<S>(w);
#pragma unroll 1
    for (int i = w.thread; i < (C::OC - kept) * PIXELS; i += THREADS) {
      int c = kept_channel<S>(w, kept + i / PIXELS), y = i % PIXELS / C::OW, x = i % C::OW;
      w.m[at_of(C::A.value, c, y, x)] = conv_value<S>(w, c, y, x, 0);
    }
  }
}

template <int S> static __device__ __forceinline__ void conv_forward(const worker &w) {
  using C = conv<S>;
  constexpr int TILE = C::A.tile, SPLIT = C::A.split, EACH = parts_of(C::IC, SPLIT);
  int kept = kept_count<S>(w), tasks = parts_of(kept, C::PAIR) * SPLIT * C::CHUNKS * C::OH;
#pragma unroll 1
  for (int task = w.thread; task < tasks; task += THREADS) {
    int y = task % C::OH, chunk = task / C::OH % C::CHUNKS;
    int part = task / (C::OH * C::CHUNKS) % SPLIT, pair = task / (C::OH * C::CHUNKS * SPLIT);
    int oc[C::PAIR];
    float sum[C::PAIR][TILE];
#pragma unroll
    for (int j = 0; j < C::PAIR; j++) {
      oc[j] = kept_channel<S>(w, min(pair * C::PAIR + j, kept - 1));
#pragma unroll
      for (int o = 0; o < TILE; o++) sum[j][o] = 0;
    }
    int end = min((part + 1) * EACH, C::IC);
#pragma unroll 1
    for (int ic = part * EACH; ic < end; ic++) strip_add<S>(w, oc, ic, y, chunk, sum);
#pragma unroll
    for (int j = 0; j < C::PAIR; j++) {
      if (pair * C::PAIR + j >= kept) continue;
      if constexpr (SPLIT > 1) {
        float *to =
            w.m + C::A.forward + ((part * C::OC + oc[j]) * C::OH + y) * C::OUT_PITCH + chunk * TILE;
#pragma unroll
        for (int o = 0; o < TILE; o += 4)
          *(float4 *)(to + o) = make_float4(sum[j][o], sum[j][o + 1], sum[j][o + 2], sum[j][o + 3]);
      } else {
#pragma unroll
        for (int o = 0; o < TILE; o++)
          if (chunk * TILE + o < C::OW)
            w.m[at_of(C::A.value, oc[j], y, chunk * TILE + o)] =
                conv_value<S>(w, oc[j], y, chunk * TILE + o, sum[j][o]);
      }
    }
  }
  conv_finish<S>(w);
}

/* --- by the input ---------------------------------------------------------------------------- */

/* A thread has a whole row of the gradient by the input, of one or two input channels: each output
 * adds its window to it. */
template <int S> static __device__ __forceinline__ void conv_back_input(const worker &w) {
  using C = conv<S>;
  constexpr int PAIR = C::A.back_tile, TILES = parts_of(C::IC, PAIR), SPLIT = C::A.back_split;
  constexpr int ACROSS = C::A.stride_across, DOWN = C::A.stride_down;
  int kept = kept_count<S>(w);
#pragma unroll 1
  for (int task = w.thread; task < C::H * TILES * SPLIT; task += THREADS) {
    int y = task % C::H, tile = task / C::H % TILES, part = task / (C::H * TILES);
    int ic[PAIR];
    float sum[PAIR][vectors_of(C::W)];
#pragma unroll
    for (int j = 0; j < PAIR; j++) {
      ic[j] = min(tile + j * TILES, C::IC - 1);
#pragma unroll
      for (int x = 0; x < vectors_of(C::W); x++) sum[j][x] = 0;
    }
#pragma unroll 1
    for (int k = part; k < kept; k += SPLIT) {
      int oc = kept_channel<S>(w, k);
      float window[PAIR][C::WINDOW];
#pragma unroll
      for (int j = 0; j < PAIR; j++) window_read<S>(w, oc, ic[j], window[j]);
#pragma unroll(C::WHOLE ? C::KH : 1)
      for (int i = 0; i < C::KH; i++) {
        int top = y + C::A.padding_down - i, from = top / DOWN;
        if (top < 0 || top % DOWN != 0 || from >= C::OH) continue;
        float grad[vectors_of(C::OW)];
        row_read<parts_of(C::OW, 4)>(
            w.m + C::A.grad.first + oc * C::A.grad.plane + from * C::A.grad.pitch, grad);
#pragma unroll
        for (int j = 0; j < PAIR; j++) {
          window_row<S>(w, oc, ic[j], i, window[j]);
#pragma unroll
          for (int a = 0; a < C::KW; a++)
#pragma unroll
            for (int o = 0; o < C::OW; o++) {
              constexpr int LEFT = C::A.padding_across;
              int x = o * ACROSS + a - LEFT;
              if (x >= 0 && x < C::W)
                sum[j][x] = fmaf(window[j][C::WHOLE ? i * C::KW + a : a], grad[o], sum[j][x]);
            }
        }
      }
    }
#pragma unroll
    for (int j = 0; j < PAIR; j++) {
      if (tile + j * TILES >= C::IC) continue;
      if constexpr (SPLIT > 1) {
        float *to = w.m + C::A.back + ((part * C::IC + ic[j]) * C::H + y) * C::IN_PITCH;
#pragma unroll
        for (int x = 0; x < C::W; x += 4)
          *(float4 *)(to + x) = make_float4(sum[j][x], sum[j][x + 1], sum[j][x + 2], sum[j][x + 3]);
      } else {
#pragma unroll
        for (int x = 0; x < C::W; x++)
          w.m[at_of(C::X.grad, ic[j], y, x)] = grad_of<S - 1>(
              w, at_of(C::X.value, ic[j], y, x), (ic[j] * C::H + y) * C::W + x, sum[j][x]);
      }
    }
  }
}

template <int S> static __device__ __forceinline__ void conv_back_input_finish(const worker &w) {
  using C = conv<S>;
  constexpr int ROWS = C::IC * C::H;
  if constexpr (C::A.back_split > 1)
    share_run<ROWS * C::W>(
        w,
        [&](int f) {
          int row = f / C::W, x = f % C::W;
          const float *part = w.m + C::A.back + row * C::IN_PITCH + x;
          float sum = 0;
#pragma unroll
          for (int i = 0; i < C::A.back_split; i++) sum += part[i * ROWS * C::IN_PITCH];
          return grad_of<S - 1>(w, at_of(C::X.value, C::A.in, f), f, sum);
        },
        [&](int f, float grad) { w.m[at_of(C::X.grad, C::A.in, f)] = grad; });
}

/* --- by the weights -------------------------------------------------------------------------- */

/* This group's sum over its rows of the gradient by parameter `at`, or by two, the second in y. */
template <int STEP>
static __device__ __forceinline__ void partial_put(const worker &w, int at, float2 grad) {
  float *to = w.s.partials + (long long)w.slot * vectors_of(CONVOLVED) + at;
  if (BATCH_ROWS > WORKERS && w.adds) {
    grad.x += to[0];
    if (STEP == 2) grad.y += to[1];
  }
  if (STEP == 2)
    *(float2 *)to = grad;
  else
    *to = grad.x;
}

template <int S> static __device__ __forceinline__ void conv_back_weights(const worker &w) {
  using C = conv<S>;
  constexpr int SPLIT = C::A.rows_split, TILE = C::A.weights_tile, ACROSS = C::A.stride_across;
  constexpr int INPUTS = parts_of((C::OW - 1) * ACROSS + C::KW, 4);
  int kept = kept_count<S>(w), tasks = parts_of(kept, TILE) * SPLIT * C::IC * C::KH;
#pragma unroll 1
  for (int task = w.thread; task < tasks; task += THREADS) {
    int i = task % C::KH, ic = task / C::KH % C::IC;
    int part = task / (C::KH * C::IC) % SPLIT, tile = task / (C::KH * C::IC * SPLIT);
    int oc[TILE];
    float sum[TILE][C::KW];
#pragma unroll
    for (int j = 0; j < TILE; j++) {
      oc[j] = kept_channel<S>(w, min(tile * TILE + j, kept - 1));
#pragma unroll
      for (int k = 0; k < C::KW; k++) sum[j][k] = 0;
    }
#pragma unroll 1
    for (int y = part; y < C::OH; y += SPLIT) {
      float in[4 * INPUTS];
      row_read<INPUTS>(w.m + C::X.value.first + ic * C::X.value.plane +
                           (y * C::A.stride_down + i) * C::X.value.pitch,
                       in);
#pragma unroll
      for (int j = 0; j < TILE; j++) {
        float grad[vectors_of(C::OW)];
        row_read<parts_of(C::OW, 4)>(
            w.m + C::A.grad.first + oc[j] * C::A.grad.plane + y * C::A.grad.pitch, grad);
#pragma unroll
        for (int o = 0; o < C::OW; o++)
#pragma unroll
          for (int k = 0; k < C::KW; k++) sum[j][k] = fmaf(grad[o], in[o * ACROSS + k], sum[j][k]);
      }
    }
#pragma unroll
    for (int j = 0; j < TILE; j++) {
      if (tile * TILE + j >= kept) continue;
      int at = (oc[j] * C::IC + ic) * C::K + i * C::KW;
#pragma unroll
      for (int k = 0; k < C::KW; k++)
        w.m[C::A.weights + part * C::OC * C::IC * C::K + at + k] = sum[j][k];
    }
  }
}

/* Of the bias, eight threads a channel. */
template <int S> static __device__ __forceinline__ void conv_back_bias(const worker &w) {
  using C = conv<S>;
  constexpr int EACH = 8, WEIGHTS = C::IC * C::K;
  int kept = kept_count<S>(w);
  if constexpr (C::A.bias >= 0) {
#pragma unroll 1
    for (int first = 0; first < kept * EACH; first += THREADS) {
      int task = first + w.thread, k = task / EACH;
      float sum = 0;
      int c = k < kept ? kept_channel<S>(w, k) : 0;
#pragma unroll 1
      for (int y = task % EACH; y < C::OH && k < kept; y += EACH) {
        float grad[vectors_of(C::OW)];
        row_read<parts_of(C::OW, 4)>(
            w.m + C::A.grad.first + c * C::A.grad.plane + y * C::A.grad.pitch, grad);
#pragma unroll
        for (int o = 0; o < C::OW; o++) sum += grad[o];
      }
      sum = lanes_sum<EACH>(sum);
      if (task % EACH == 0 && k < kept) partial_put<1>(w, C::A.bias + c, {sum, 0});
    }
  }
  if constexpr (C::A.bias >= 0 && C::LISTED)
    for (int k = kept + w.thread; k < C::OC; k += THREADS)
      partial_put<1>(w, C::A.bias + kept_channel<S>(w, k), {0, 0});
}

/* Adds up the parts of all weights; those of dropped channels have none. */
template <int S> static __device__ __forceinline__ void conv_back_weights_finish(const worker &w) {
  using C = conv<S>;
  constexpr int EACH = C::IC * C::K, WEIGHTS = C::OC * EACH;
  constexpr bool BY_TWO = EACH % 2 == 0 && C::A.weight % 2 == 0;
  constexpr int STEP = BY_TWO ? 2 : 1;
  share_run<WEIGHTS / STEP>(
      w,
      [&](int at) {
        int f = at * STEP;
        float2 sum = {0, 0};
        bool there = true;
        if constexpr (C::LISTED) there = keeps<C::A.dropout>(w, f / EACH * C::OH * C::OW);
        if (there)
#pragma unroll
          for (int i = 0; i < C::A.rows_split; i++) {
            const float *part = w.m + C::A.weights + i * WEIGHTS + f;
            float2 two = BY_TWO ? *(const float2 *)part : make_float2(*part, 0);
            sum.x += two.x, sum.y += two.y;
          }
        return sum;
      },
      [&](int at, float2 sum) { partial_put<STEP>(w, C::A.weight + at * STEP, sum); });
}

template <int S> static __device__ __forceinline__ void conv_backward(const worker &w) {
  if constexpr (S > FIRST_STAGE) conv_back_input<S>(w);
  conv_back_weights<S>(w);
  conv_back_bias<S>(w);
  group_wait(w);
  if constexpr (S > FIRST_STAGE) conv_back_input_finish<S>(w);
  conv_back_weights_finish<S>(w);
}

#endif
