/* All between a convolution and what follows it, in one pass: what batch_norm makes of each
 * channel, or the bias; what came past; the activation; the pool. The way back computes all of that
 * again from the convolution's output instead of reading it. */
#include <math.h>

#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/packs.cuh"
#include "kernels/formulas/pools.h"

/* Windows side by side, those that hang over the edge included: no output comes of them. */
typedef struct {
  int high, wide, count; /* count: of all rows */
} windows;

static windows windows_of(const ep_images_blend &blend) {
  windows all;
  all.high = (int)((blend.in.height + blend.kernel[0] - 1) / blend.kernel[0]);
  all.wide = (int)((blend.in.width + blend.kernel[1] - 1) / blend.kernel[1]);
  all.count = (int)blend.rows * all.high * all.wide;
  return all;
}

/* One of them: the pixel at its upper left, how much of it lies in the image, and its output, -1
 * for none. */
typedef struct {
  int64_t pixel, output;
  int height, width;
} window;

/* K: its side, 0 for any. */
template <int K>
static __device__ window window_at(const ep_images_blend &blend, const windows &all, int at) {
  if constexpr (K == 1) return {at, at, 1, 1};
  uint32_t each = (uint32_t)(all.high * all.wide), row = (uint32_t)at / each;
  uint32_t rest = (uint32_t)at - row * each, down = rest / (uint32_t)all.wide;
  uint32_t right = rest - down * (uint32_t)all.wide;
  int high = K ? K : blend.kernel[0], wide = K ? K : blend.kernel[1];
  int top = (int)down * high, left = (int)right * wide;
  window w;
  w.pixel = ((int64_t)row * blend.in.height + top) * blend.in.width + left;
  bool whole = down < blend.out.height && right < blend.out.width;
  w.output = whole ? ((int64_t)row * blend.out.height + down) * blend.out.width + right : -1;
  w.height = (int)blend.in.height - top < high ? (int)blend.in.height - top : high;
  w.width = (int)blend.in.width - left < wide ? (int)blend.in.width - left : wide;
  return w;
}

/* What a thread's channels are multiplied by and moved by. */
template <int N> struct affine { float scale[N], shift[N]; };

template <int N>
static __device__ affine<N> affine_of(const ep_images_blend &blend, int64_t channel) {
  affine<N> of;
#pragma unroll
  for (int i = 0; i < N; i++) {
    int64_t c = channel + i;
    if (blend.figures) {
      of.scale[i] = blend.figures[EP_IMAGES_SCALE * blend.pitch + c];
      of.shift[i] = blend.figures[EP_IMAGES_SHIFT * blend.pitch + c];
    } else {
      of.scale[i] = 1;
      of.shift[i] = blend.bias && c < blend.in.channels ? blend.bias[c] : 0.0f;
    }
  }
  return of;
}

/* The others are too much code to stand everywhere. */
static __device__ __noinline__ float any_activation(const ep_op *op, float z) {
  return ep_activation(op, z);
}

static __device__ __noinline__ float any_slope(const ep_op *op, float z, float a) {
  return ep_activation_derivative(op, z, a);
}

/* The most usual activations have kernels of their own, in which they are no calls. */
enum { ANY = -1 };

template <int A> static __device__ float activated(const ep_images_blend &blend, float z) {
  if constexpr (A == ANY) return blend.activates ? any_activation(&blend.activation, z) : z;
  ep_op op = {};
  op.type = (ep_layer_type)A;
  return ep_activation(&op, z);
}

template <int A> static __device__ float slope(const ep_images_blend &blend, float z, float a) {
  if constexpr (A == ANY) return blend.activates ? any_slope(&blend.activation, z, a) : 1.0f;
  ep_op op = {};
  op.type = (ep_layer_type)A;
  return ep_activation_derivative(&op, z, a);
}

/* z of a pixel of which x is read. */
template <typename T>
static __device__ void pixel_take(const ep_images_blend &blend, const affine<PACK<T>> &of,
                                  const uint4 &read, int64_t place, float (&x)[PACK<T>],
                                  float (&z)[PACK<T>]) {
  spread(read, x);
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) z[i] = x[i] * of.scale[i] + of.shift[i];
  if (!blend.past) return;
  float past[PACK<T>];
  fetch((const T *)blend.past + place, past);
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) z[i] += past[i];
}

/* The pixels of a window, all read before the first is wanted; of windows of any side none is: they
 * are read where they are wanted. */
template <int K> struct pixels_read { uint4 of[K ? K * K : 1]; };

template <typename T, int K>
static __device__ pixels_read<K> window_read(const ep_images_blend &blend, const window &w,
                                             int64_t channel) {
  pixels_read<K> read = {};
#pragma unroll
  for (int down = 0; down < K; down++)
#pragma unroll
    for (int right = 0; right < K; right++)
      if (down < w.height && right < w.width)
        read.of[down * K + right] =
            fetch((const T *)blend.x +
                  (w.pixel + (int64_t)down * blend.in.width + right) * blend.pitch + channel);
  return read;
}

/* Pixel `at` of a window, in lines of `wide`, at that place. */
template <typename T, int K>
static __device__ uint4 pixel_of(const ep_images_blend &blend, const pixels_read<K> &read, int at,
                                 int64_t place) {
  if constexpr (K != 0) return read.of[at];
  return fetch((const T *)blend.x + place);
}

/* The greatest of a window, the x that it comes of, and which of its pixels that is. */
template <typename T, int K, int A>
static __device__ void window_greatest(const ep_images_blend &blend, const affine<PACK<T>> &of,
                                       const window &w, const pixels_read<K> &read, int64_t channel,
                                       float (&most)[PACK<T>], float (&chosen)[PACK<T>],
                                       int (&place)[PACK<T>]) {
  int high = K ? K : blend.kernel[0], wide = K ? K : blend.kernel[1];
#pragma unroll
  for (int down = 0; down < high; down++)
#pragma unroll
    for (int right = 0; right < wide; right++) {
      float x[PACK<T>], z[PACK<T>];
      int64_t pixel = w.pixel + (int64_t)down * blend.in.width + right;
      const int64_t place_x = pixel * blend.pitch + channel;
      pixel_take<T>(blend, of, pixel_of<T, K>(blend, read, down * wide + right, place_x), place_x,
                    x, z);
#pragma unroll
      for (int i = 0; i < PACK<T>; i++) {
        float a = activated<A>(blend, z[i]);
        bool takes = (down == 0 && right == 0) || ep_max_takes(a, most[i]);
        if (takes) most[i] = a;
        if (takes) chosen[i] = x[i];
        if (takes) place[i] = down * wide + right;
      }
    }
}

/* What the next convolution takes in three parts. */
template <typename T>
static __device__ void parts_store(const ep_images_blend &blend, int64_t pixel, int64_t channel,
                                   const float (&value)[PACK<T>]) {
  if constexpr (sizeof(T) == sizeof(float))
    if (blend.split) split_store(blend.split, pixel, blend.pitch, channel, value);
}

/* --- forward --------------------------------------------------------------------------------- */

template <typename T, int K, int A>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    forward(const __grid_constant__ ep_images_blend blend, windows all) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
  if (channel >= blend.pitch) return;
  affine<N> of = affine_of<N>(blend, channel);
#pragma unroll(K == 1 ? 4 : 1)
  for (int at = first_of(); at < all.count; at += stride_of()) {
    window w = window_at<K>(blend, all, at);
    float most[N], chosen[N];
    int place[N];
    if (w.output < 0) continue;
    window_greatest<T, K, A>(blend, of, w, window_read<T, K>(blend, w, channel), channel, most,
                             chosen, place);
    int64_t to = w.output * blend.pitch + channel;
    store<N>((T *)blend.y + to, most);
    parts_store<T>(blend, w.output, channel, most);
    if (K != 1 && blend.chosen) store<N>((T *)blend.chosen + to, chosen);
  }
}

/* --- back ------------------------------------------------------------------------------------ */

/* What a thread's channels need besides on the way back. */
template <int N> struct normal { float mean[N], inverse[N], grad[N], product[N]; };

template <int N>
static __device__ normal<N> normal_of(const ep_images_blend &blend, int64_t channel) {
  normal<N> of = {};
  if (!blend.figures) return of;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float *at = blend.figures + channel + i;
    of.mean[i] = at[EP_IMAGES_MEAN * blend.pitch];
    of.inverse[i] = at[EP_IMAGES_INVERSE * blend.pitch];
    of.grad[i] = at[EP_IMAGES_GRAD * blend.pitch];
    of.product[i] = at[EP_IMAGES_PRODUCT * blend.pitch];
  }
  return of;
}

template <typename T, int K, int A, bool sums>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    back(const __grid_constant__ ep_images_blend blend, windows all) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
  float sum[N] = {}, product[N] = {};
  if (channel < blend.pitch) {
    affine<N> of = affine_of<N>(blend, channel);
    normal<N> norm = normal_of<N>(blend, channel);
#pragma unroll(K == 1 ? 2 : 1)
    for (int at = first_of(); at < all.count; at += stride_of()) {
      window w = window_at<K>(blend, all, at);
      const pixels_read<K> read = window_read<T, K>(blend, w, channel);
      float grad[N] = {}, most[N], chosen[N];
      int place[N] = {};
      if (w.output >= 0) {
        fetch((const T *)blend.grad + w.output * blend.pitch + channel, grad);
        if (K != 1) window_greatest<T, K, A>(blend, of, w, read, channel, most, chosen, place);
      }
      int high = K ? K : blend.kernel[0], wide = K ? K : blend.kernel[1];
#pragma unroll
      for (int down = 0; down < high; down++)
#pragma unroll
        for (int right = 0; right < wide; right++) {
          float x[N], z[N], by_z[N];
          if (K != 1 && (down >= w.height || right >= w.width)) continue;
          int64_t pixel = w.pixel + (int64_t)down * blend.in.width + right;
          int64_t at_pixel = pixel * blend.pitch + channel;
          pixel_take<T>(blend, of, pixel_of<T, K>(blend, read, down * wide + right, at_pixel),
                        at_pixel, x, z);
#pragma unroll
          for (int i = 0; i < N; i++) {
            float g = place[i] == down * wide + right ? grad[i] : 0.0f;
            float a = activated<A>(blend, z[i]); /* of which some slopes make use */
            float normalized = (x[i] - norm.mean[i]) * norm.inverse[i];
            g *= slope<A>(blend, z[i], a);
            by_z[i] = g;
            if (sums) {
              sum[i] += g;
              product[i] += g * normalized;
            }
            x[i] = g;
            if (blend.normalized)
              x[i] = of.scale[i] * (g - norm.grad[i] - normalized * norm.product[i]);
          }
          if (blend.grad_x) {
            store<N>((T *)blend.grad_x + at_pixel, x);
            parts_store<T>(blend, pixel, channel, x);
          }
          if (blend.grad_past) store<N>((T *)blend.grad_past + at_pixel, by_z);
        }
    }
  }
  if (sums && blend.figures)
    block_sums(blend.sums, blend.pitch, channel, sum, product);
  else if (sums)
    block_sum(blend.sums, blend.pitch, channel, sum);
}

/* The same of what is most usual, a norm, relu and windows of 2 by 2, for the gradient by x alone:
 * what was the greatest tells where the gradient goes, and one product what the norm takes off. */
template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS, 3)
    back_usual(const __grid_constant__ ep_images_blend blend, windows all) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
  if (channel >= blend.pitch) return;
  affine<N> of = affine_of<N>(blend, channel);
  float factor[N], constant[N];
  {
    normal<N> norm = normal_of<N>(blend, channel);
#pragma unroll
    for (int i = 0; i < N; i++) {
      factor[i] = -of.scale[i] * norm.inverse[i] * norm.product[i];
      constant[i] = -of.scale[i] * norm.grad[i] - factor[i] * norm.mean[i];
    }
  }
  for (int at = first_of(); at < all.count; at += stride_of()) {
    window w = window_at<2>(blend, all, at);
    int64_t first = w.pixel * blend.pitch + channel, line = blend.in.width * blend.pitch;
    uint4 pixels[4];
    float grad[N] = {}, chosen[N] = {};
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (i / 2 < w.height && i % 2 < w.width)
        pixels[i] = fetch((const T *)blend.x + first + i / 2 * line + i % 2 * blend.pitch);
    if (w.output >= 0) {
      fetch((const T *)blend.grad + w.output * blend.pitch + channel, grad);
      fetch((const T *)blend.chosen + w.output * blend.pitch + channel, chosen);
    }
#pragma unroll
    for (int i = 0; i < N; i++)
      if (!(chosen[i] * of.scale[i] + of.shift[i] > 0)) grad[i] = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      float x[N];
      if (k / 2 >= w.height || k % 2 >= w.width) continue;
      spread(pixels[k], x);
#pragma unroll
      for (int i = 0; i < N; i++) {
        bool is = x[i] == chosen[i]; /* the first of equals takes it */
        float g = is ? grad[i] : 0.0f;
        if (is) grad[i] = 0;
        x[i] = of.scale[i] * g + (factor[i] * x[i] + constant[i]);
      }
      store<N>((T *)blend.grad_x + first + k / 2 * line + k % 2 * blend.pitch, x);
      parts_store<T>(blend, w.pixel + k / 2 * blend.in.width + k % 2, channel, x);
    }
  }
}

/* --- launches -------------------------------------------------------------------------------- */

/* Pixels that a thread has, where that leaves blocks enough for the widest GPU. */
static int64_t pixels_each(int64_t packs, int64_t pixels) {
  const int64_t each = 4, enough = 256;
  return blocks_of(packs, pixels, each).x < enough ? 1 : each;
}

/* The kernels of windows of a side, and of an activation, where they are the usual ones. */
template <typename T, int K, int A>
static void launch(cudaStream_t stream, const ep_images_blend *blend, bool goes_back) {
  windows all = windows_of(*blend);
  int64_t packs = blend->pitch / PACK<T>;
  const int64_t each = K == 1 ? pixels_each(packs, all.count) : 1;
  dim3 threads = threads_of(packs), blocks = blocks_of(packs, all.count, each);
  if (goes_back && blend->sums) {
    blocks.x = (unsigned int)blend->slices;
    ep_cuda_queue(stream, blocks, threads, 0, back<T, K, A, true>, *blend, all);
  } else if (goes_back && K == 2 && A == EP_LAYER_RELU && blend->chosen && blend->normalized) {
    ep_cuda_queue(stream, blocks, threads, 0, back_usual<T>, *blend, all);
  } else if (goes_back) {
    ep_cuda_queue(stream, blocks, threads, 0, back<T, K, A, false>, *blend, all);
  } else {
    ep_cuda_queue(stream, blocks, threads, 0, forward<T, K, A>, *blend, all);
  }
}

template <typename T>
static void blend_launch(cudaStream_t stream, const ep_images_blend *blend, bool goes_back) {
  const int high = blend->kernel[0], wide = blend->kernel[1];
  const int type = blend->activates ? (int)blend->activation.type : ANY;
  if (high == 2 && wide == 2 && type == EP_LAYER_RELU)
    launch<T, 2, EP_LAYER_RELU>(stream, blend, goes_back);
  else if (high == 2 && wide == 2)
    launch<T, 2, ANY>(stream, blend, goes_back);
  else if (high != 1 || wide != 1)
    launch<T, 0, ANY>(stream, blend, goes_back);
  else if (type == EP_LAYER_RELU)
    launch<T, 1, EP_LAYER_RELU>(stream, blend, goes_back);
  else if (type == EP_LAYER_TANH)
    launch<T, 1, EP_LAYER_TANH>(stream, blend, goes_back);
  else if (type == EP_LAYER_GELU)
    launch<T, 1, EP_LAYER_GELU>(stream, blend, goes_back);
  else if (type == EP_LAYER_SILU)
    launch<T, 1, EP_LAYER_SILU>(stream, blend, goes_back);
  else
    launch<T, 1, ANY>(stream, blend, goes_back);
}

static cudaError_t blend_run(cudaStream_t stream, const ep_images_blend *blend, bool goes_back) {
  with_numbers(blend->half,
               [&](auto number) { blend_launch<decltype(number)>(stream, blend, goes_back); });
  return cudaGetLastError();
}

cudaError_t ep_images_blend_forward(cudaStream_t stream, const ep_images_blend *blend) {
  return blend_run(stream, blend, false);
}

cudaError_t ep_images_blend_back(cudaStream_t stream, const ep_images_blend *blend) {
  return blend_run(stream, blend, true);
}
