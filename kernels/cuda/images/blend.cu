/* All between a convolution and what follows it, in one pass: what batch_norm makes of each
 * channel, or the bias; what came past; the activation; the pool. The way back computes all of that
 * again from the convolution's output instead of reading it. */
#include <math.h>

#include "kernels/cuda/images/kernels.h"
#include "kernels/cuda/images/packs.cuh"
#include "kernels/formulas/norms.h"
#include "kernels/formulas/pools.h"

/* Windows side by side, those that hang over the edge included: no output comes of them. */
typedef struct {
  uint32_t high, wide, count; /* count: of all rows */
} windows;

static windows windows_of(const ep_images_blend &blend) {
  windows all;
  all.high = (uint32_t)((blend.in.height + blend.kernel[0] - 1) / blend.kernel[0]);
  all.wide = (uint32_t)((blend.in.width + blend.kernel[1] - 1) / blend.kernel[1]);
  all.count = (uint32_t)blend.rows * all.high * all.wide;
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
static __device__ window window_at(const ep_images_blend &blend, const windows &all, uint32_t at) {
  if constexpr (K == 1) return {at, at, 1, 1};
  uint32_t row = at / (all.high * all.wide), rest = at - row * all.high * all.wide;
  uint32_t down = rest / all.wide, right = rest - down * all.wide;
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
template <typename T> struct affine { float scale[PACK<T>], shift[PACK<T>]; };

template <typename T>
static __device__ affine<T> affine_of(const ep_images_blend &blend, int64_t channel) {
  affine<T> of;
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) {
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

template <bool relu> static __device__ float activated(const ep_images_blend &blend, float z) {
  if (relu) return ep_relu(z);
  return blend.activates ? any_activation(&blend.activation, z) : z;
}

template <bool relu> static __device__ float slope(const ep_images_blend &blend, float z, float a) {
  if (relu) return ep_relu_derivative(z);
  return blend.activates ? any_slope(&blend.activation, z, a) : 1.0f;
}

/* z of a pixel; x: read as well. */
template <typename T>
static __device__ void pixel_read(const ep_images_blend &blend, const affine<T> &of, int64_t place,
                                  float (&x)[PACK<T>], float (&z)[PACK<T>]) {
  fetch((const T *)blend.x + place, x);
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) z[i] = x[i] * of.scale[i] + of.shift[i];
  if (!blend.past) return;
  float past[PACK<T>];
  fetch((const T *)blend.past + place, past);
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) z[i] += past[i];
}

/* The greatest of a window, and which of its pixels that is. */
template <typename T, int K, bool relu>
static __device__ void window_greatest(const ep_images_blend &blend, const affine<T> &of,
                                       const window &w, int64_t channel, float (&most)[PACK<T>],
                                       int (&place)[PACK<T>]) {
  int high = K ? K : blend.kernel[0], wide = K ? K : blend.kernel[1];
#pragma unroll
  for (int down = 0; down < high; down++)
#pragma unroll
    for (int right = 0; right < wide; right++) {
      float x[PACK<T>], z[PACK<T>];
      int64_t pixel = w.pixel + (int64_t)down * blend.in.width + right;
      pixel_read<T>(blend, of, pixel * blend.pitch + channel, x, z);
#pragma unroll
      for (int i = 0; i < PACK<T>; i++) {
        float a = activated<relu>(blend, z[i]);
        bool takes = (down == 0 && right == 0) || ep_max_takes(a, most[i]);
        if (takes) most[i] = a;
        if (takes) place[i] = down * wide + right;
      }
    }
}

/* --- forward --------------------------------------------------------------------------------- */

template <typename T, int K, bool relu>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    forward(const __grid_constant__ ep_images_blend blend, windows all) {
  int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * PACK<T>;
  if (channel >= blend.pitch) return;
  affine<T> of = affine_of<T>(blend, channel);
#pragma unroll(K == 1 ? 4 : 1)
  for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < all.count;
       at += gridDim.x * blockDim.y) {
    window w = window_at<K>(blend, all, at);
    float most[PACK<T>];
    int place[PACK<T>];
    if (w.output < 0) continue;
    window_greatest<T, K, relu>(blend, of, w, channel, most, place);
    store<PACK<T>>((T *)blend.y + w.output * blend.pitch + channel, most);
  }
}

/* --- back ------------------------------------------------------------------------------------ */

/* The sums of this block's threads, channel by channel, into its slice. */
template <int N>
static __device__ void block_sums(const ep_images_blend &blend, int64_t first_channel,
                                  const float (&sum)[N], const float (&product)[N]) {
  __shared__ float of[2][EP_IMAGES_THREADS * N];
  int mine = (threadIdx.y * blockDim.x + threadIdx.x) * N;
#pragma unroll
  for (int i = 0; i < N; i++) {
    of[0][mine + i] = sum[i];
    of[1][mine + i] = product[i];
  }
  __syncthreads();
  int channels = blockDim.x * N;
  for (int t = threadIdx.y * blockDim.x + threadIdx.x; t < 2 * channels;
       t += blockDim.x * blockDim.y) {
    int which = t / channels, c = t % channels;
    float total = 0;
    for (int y = 0; y < (int)blockDim.y; y++) total += of[which][y * channels + c];
    int64_t channel = first_channel + c;
    if (channel < blend.pitch)
      blend.sums[(which * blend.pitch + channel) * gridDim.x + blockIdx.x] = total;
  }
}

/* What a thread's channels need besides on the way back. */
template <typename T> struct normal {
  float mean[PACK<T>], inverse[PACK<T>], grad[PACK<T>], product[PACK<T>];
};

template <typename T>
static __device__ normal<T> normal_of(const ep_images_blend &blend, int64_t channel) {
  normal<T> of = {};
  if (!blend.figures) return of;
#pragma unroll
  for (int i = 0; i < PACK<T>; i++) {
    const float *at = blend.figures + channel + i;
    of.mean[i] = at[EP_IMAGES_MEAN * blend.pitch];
    of.inverse[i] = at[EP_IMAGES_INVERSE * blend.pitch];
    of.grad[i] = at[EP_IMAGES_GRAD * blend.pitch];
    of.product[i] = at[EP_IMAGES_PRODUCT * blend.pitch];
  }
  return of;
}

template <typename T, int K, bool relu, bool sums>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    back(const __grid_constant__ ep_images_blend blend, windows all) {
  constexpr int N = PACK<T>;
  int64_t first_channel = (int64_t)blockIdx.y * blockDim.x * N, channel = first_channel;
  channel += threadIdx.x * N;
  float sum[N] = {}, product[N] = {};
  if (channel < blend.pitch) {
    affine<T> of = affine_of<T>(blend, channel);
    normal<T> norm = normal_of<T>(blend, channel);
    for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < all.count;
         at += gridDim.x * blockDim.y) {
      window w = window_at<K>(blend, all, at);
      float grad[N] = {}, most[N];
      int place[N] = {};
      if (w.output >= 0) {
        fetch((const T *)blend.grad + w.output * blend.pitch + channel, grad);
        if (K != 1) window_greatest<T, K, relu>(blend, of, w, channel, most, place);
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
          pixel_read<T>(blend, of, at_pixel, x, z);
#pragma unroll
          for (int i = 0; i < N; i++) {
            float g = place[i] == down * wide + right ? grad[i] : 0.0f;
            float a = relu ? 0.0f : activated<relu>(blend, z[i]);
            float normalized = (x[i] - norm.mean[i]) * norm.inverse[i];
            g *= slope<relu>(blend, z[i], a);
            by_z[i] = g;
            if (sums) {
              sum[i] += g;
              product[i] += g * normalized;
            }
            x[i] = g;
            if (blend.normalized)
              x[i] = of.scale[i] * (g - norm.grad[i] - normalized * norm.product[i]);
          }
          if (blend.grad_x) store<N>((T *)blend.grad_x + at_pixel, x);
          if (blend.grad_past) store<N>((T *)blend.grad_past + at_pixel, by_z);
        }
    }
  }
  if (sums) block_sums<N>(blend, first_channel, sum, product);
}

/* --- statistics ------------------------------------------------------------------------------ */

/* The sums of each channel about its first number, and of their squares: a mean that is far from
 * zero takes no bits away. */
template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    statistics(ep_images_blend blend, uint32_t pixels) {
  constexpr int N = PACK<T>;
  int64_t first_channel = (int64_t)blockIdx.y * blockDim.x * N, channel = first_channel;
  channel += threadIdx.x * N;
  float sum[N] = {}, square[N] = {};
  if (channel < blend.pitch) {
    const T *x = (const T *)blend.x + channel;
    float about[N];
    fetch(x, about);
#pragma unroll 8
    for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < pixels;
         at += gridDim.x * blockDim.y) {
      float value[N];
      fetch(x + (int64_t)at * blend.pitch, value);
#pragma unroll
      for (int i = 0; i < N; i++) {
        float d = value[i] - about[i];
        sum[i] += d;
        square[i] += d * d;
      }
    }
  }
  block_sums<N>(blend, first_channel, sum, square);
}

/* --- a channel's figures --------------------------------------------------------------------- */

enum { CHANNELS = 8 }; /* of a block: a warp each */

/* The sum of a row of slices, over a warp. */
static __device__ double slices_sum(const float *row, int slices) {
  double sum = 0;
  for (int i = threadIdx.x; i < slices; i += EP_CUDA_WARP) sum += (double)row[i];
  return ep_cuda_warp_sum(sum);
}

template <typename T> static __global__ void figures_forward(ep_images_norm norm, int slices) {
  int64_t c = (int64_t)blockIdx.x * CHANNELS + threadIdx.y, pitch = norm.pitch;
  if (c >= pitch) return;
  double count = (double)norm.pixels;
  double mean = slices_sum(norm.sums + c * slices, slices) / count;
  double variance = slices_sum(norm.sums + (pitch + c) * slices, slices) / count - mean * mean;
  if (threadIdx.x != 0) return;
  bool is = c < norm.channels; /* beyond them everything stays zero */
  float center = (float)mean + (float)((const T *)norm.x)[c];
  float spread = variance < 0 ? 0.0f : (float)variance; /* NaN stays */
  float inverse = 1 / sqrtf(spread + norm.eps);
  float scale = is ? (norm.weight ? norm.weight[c] * inverse : inverse) : 0.0f;
  float *at = norm.figures + c;
  at[EP_IMAGES_SCALE * pitch] = scale;
  at[EP_IMAGES_SHIFT * pitch] = (is && norm.bias ? norm.bias[c] : 0.0f) - center * scale;
  at[EP_IMAGES_MEAN * pitch] = center;
  at[EP_IMAGES_INVERSE * pitch] = inverse;
  if (!is) return;
  float *running = norm.running + c;
  if (norm.x_bias) center += norm.x_bias[c];
  running[0] = ep_running_mean(running[0], center, norm.momentum);
  running[norm.channels] =
      ep_running_variance(running[norm.channels], spread, norm.pixels, norm.momentum);
}

static __global__ void figures_back(ep_images_norm norm, int slices, bool bias_alone,
                                    float *gradient) {
  int64_t c = (int64_t)blockIdx.x * CHANNELS + threadIdx.y;
  if (c >= norm.pitch) return;
  double sum = slices_sum(norm.sums + c * slices, slices), product = 0;
  if (!bias_alone) product = slices_sum(norm.sums + (norm.pitch + c) * slices, slices);
  if (threadIdx.x != 0) return;
  if (!bias_alone) {
    norm.figures[EP_IMAGES_GRAD * norm.pitch + c] = (float)(sum / (double)norm.pixels);
    norm.figures[EP_IMAGES_PRODUCT * norm.pitch + c] = (float)(product / (double)norm.pixels);
  }
  if (!gradient || c >= norm.channels) return;
  if (bias_alone) {
    gradient[c] = (float)sum;
    return;
  }
  gradient[c] = (float)product;
  if (norm.bias) gradient[norm.channels + c] = (float)sum;
}

/* --- launches -------------------------------------------------------------------------------- */

static int64_t packs_of(bool half, int64_t pitch) {
  return pitch / (half ? PACK<half_number> : PACK<float>);
}

/* Few enough that adding them up costs nothing, many enough to keep all of a GPU reading. */
int ep_images_slices(bool half, int64_t pitch, int64_t pixels) {
  const int64_t each = 8;
  int64_t blocks = blocks_of(packs_of(half, pitch), pixels, each).x;
  return (int)(blocks < EP_IMAGES_SLICES ? blocks : (int64_t)EP_IMAGES_SLICES);
}

/* The kernels of a type; of windows of a side, and of relu, where they are the usual ones. */
template <typename T, int K, bool relu>
static void launch(cudaStream_t stream, const ep_images_blend *blend, bool goes_back) {
  windows all = windows_of(*blend);
  int64_t packs = blend->pitch / PACK<T>;
  dim3 threads = threads_of(packs), blocks = blocks_of(packs, all.count, K == 1 ? 4 : 1);
  if (goes_back && blend->sums) {
    int64_t pixels = blend->rows * blend->in.height * blend->in.width;
    blocks.x = (unsigned int)ep_images_slices(blend->half, blend->pitch, pixels);
    back<T, K, relu, true><<<blocks, threads, 0, stream>>>(*blend, all);
  } else if (goes_back) {
    back<T, K, relu, false><<<blocks, threads, 0, stream>>>(*blend, all);
  } else {
    forward<T, K, relu><<<blocks, threads, 0, stream>>>(*blend, all);
  }
}

template <typename T>
static cudaError_t blend_run(cudaStream_t stream, const ep_images_blend *blend, bool goes_back) {
  int high = blend->kernel[0], wide = blend->kernel[1];
  bool relu = blend->activates && blend->activation.type == EP_LAYER_RELU;
  if (high == 1 && wide == 1 && relu)
    launch<T, 1, true>(stream, blend, goes_back);
  else if (high == 1 && wide == 1)
    launch<T, 1, false>(stream, blend, goes_back);
  else if (high == 2 && wide == 2 && relu)
    launch<T, 2, true>(stream, blend, goes_back);
  else
    launch<T, 0, false>(stream, blend, goes_back);
  return cudaGetLastError();
}

cudaError_t ep_images_blend_forward(cudaStream_t stream, const ep_images_blend *blend) {
  if (blend->half) return blend_run<half_number>(stream, blend, false);
  return blend_run<float>(stream, blend, false);
}

cudaError_t ep_images_blend_back(cudaStream_t stream, const ep_images_blend *blend) {
  if (blend->half) return blend_run<half_number>(stream, blend, true);
  return blend_run<float>(stream, blend, true);
}

static dim3 figures_blocks(const ep_images_norm *norm) {
  return dim3((unsigned int)((norm->pitch + CHANNELS - 1) / CHANNELS));
}

template <typename T>
static cudaError_t norm_forward(cudaStream_t stream, const ep_images_norm *norm) {
  int64_t packs = norm->pitch / PACK<T>;
  int slices = ep_images_slices(norm->half, norm->pitch, norm->pixels);
  ep_images_blend blend = {};
  blend.pitch = norm->pitch;
  blend.x = norm->x;
  blend.sums = norm->sums;
  dim3 blocks = blocks_of(packs, norm->pixels, 1);
  blocks.x = (unsigned int)slices;
  statistics<T><<<blocks, threads_of(packs), 0, stream>>>(blend, (uint32_t)norm->pixels);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  figures_forward<T>
      <<<figures_blocks(norm), dim3(EP_CUDA_WARP, CHANNELS), 0, stream>>>(*norm, slices);
  return cudaGetLastError();
}

cudaError_t ep_images_norm_forward(cudaStream_t stream, const ep_images_norm *norm) {
  if (norm->half) return norm_forward<half_number>(stream, norm);
  return norm_forward<float>(stream, norm);
}

static cudaError_t sums_back(cudaStream_t stream, const ep_images_norm *norm, bool bias_alone,
                             float *gradient) {
  int slices = ep_images_slices(norm->half, norm->pitch, norm->pixels);
  figures_back<<<figures_blocks(norm), dim3(EP_CUDA_WARP, CHANNELS), 0, stream>>>(
      *norm, slices, bias_alone, gradient);
  return cudaGetLastError();
}

cudaError_t ep_images_norm_back(cudaStream_t stream, const ep_images_norm *norm, float *gradient) {
  return sums_back(stream, norm, false, gradient);
}

cudaError_t ep_images_bias_back(cudaStream_t stream, const ep_images_norm *norm, float *gradient) {
  return sums_back(stream, norm, true, gradient);
}
