/* What batch_norm makes of each channel: its sums over all pixels, each block a slice of them, and
 * the few figures that come of the sums, a warp a channel. */
#include <math.h>

#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/packs.cuh"
#include "kernels/formulas/norms.h"

/* --- statistics ------------------------------------------------------------------------------ */

/* The sums of each channel about its first number, and of their squares: a mean that is far from
 * zero takes no bits away. */
template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS) statistics(ep_images_norm norm) {
  kernels_overlap();
  constexpr int N = PACK<T>, DEEP = 8;
  int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
  int pixels = (int)norm.pixels;
  float sum[N] = {}, square[N] = {};
  if (channel < norm.pitch) {
    const T *x = (const T *)norm.x + channel;
    float about[N];
    fetch(x, about);
    for (int at = first_of(); at < pixels; at += DEEP * stride_of()) {
      uint4 all[DEEP];
#pragma unroll
      for (int k = 0; k < DEEP; k++)
        if (at + k * stride_of() < pixels)
          all[k] = fetch(x + (int64_t)(at + k * stride_of()) * norm.pitch);
#pragma unroll
      for (int k = 0; k < DEEP; k++) {
        float value[N];
        spread(all[k], value);
        if (at + k * stride_of() >= pixels) break;
#pragma unroll
        for (int i = 0; i < N; i++) {
          float d = value[i] - about[i];
          sum[i] += d;
          square[i] += d * d;
        }
      }
    }
  }
  block_sums(norm.sums, norm.pitch, channel, sum, square);
}

/* --- a channel's figures --------------------------------------------------------------------- */

enum { CHANNELS = 8 }; /* of a block: a warp each */

/* The sum of a row of slices, over a warp. */
static __device__ double slices_sum(const float *row, int slices) {
  double sum = 0;
  for (int i = threadIdx.x; i < slices; i += WARP) sum += (double)row[i];
  return warp_sum(sum);
}

template <typename T> static __global__ void figures_forward(ep_images_norm norm) {
  kernels_overlap();
  int64_t c = (int64_t)blockIdx.x * CHANNELS + threadIdx.y, pitch = norm.pitch;
  int slices = norm.slices;
  if (c >= pitch) return;
  bool is = c < norm.channels; /* beyond them everything stays zero */
  float *running = norm.running + c;
  float about = (float)((const T *)norm.x)[c], weight = is ? 1.0f : 0.0f, bias = 0, x_bias = 0;
  float kept[2] = {};
  if (is) { /* all that is read, before the sums are waited for */
    if (norm.weight) weight = norm.weight[c];
    if (norm.bias) bias = norm.bias[c];
    if (norm.x_bias) x_bias = norm.x_bias[c];
    kept[0] = running[0];
    kept[1] = running[norm.channels];
  }
  double count = (double)norm.pixels;
  double mean = slices_sum(norm.sums + c * slices, slices) / count;
  double variance = slices_sum(norm.sums + (pitch + c) * slices, slices) / count - mean * mean;
  if (threadIdx.x != 0) return;
  float center = (float)mean + about, spread = variance < 0 ? 0.0f : (float)variance;
  float inverse = 1 / sqrtf(spread + norm.eps), scale = weight * inverse;
  float *at = norm.figures + c;
  at[EP_IMAGES_SCALE * pitch] = scale;
  at[EP_IMAGES_SHIFT * pitch] = bias - center * scale;
  at[EP_IMAGES_MEAN * pitch] = center;
  at[EP_IMAGES_INVERSE * pitch] = inverse;
  if (!is) return;
  running[0] = ep_running_mean(kept[0], center + x_bias, norm.momentum);
  running[norm.channels] = ep_running_variance(kept[1], spread, norm.pixels, norm.momentum);
}

static __global__ void figures_back(ep_images_norm norm, float *gradient) {
  kernels_overlap();
  int64_t c = (int64_t)blockIdx.x * CHANNELS + threadIdx.y;
  int slices = norm.slices;
  if (c >= norm.pitch) return;
  double sum = slices_sum(norm.sums + c * slices, slices);
  double product = slices_sum(norm.sums + (norm.pitch + c) * slices, slices);
  if (threadIdx.x != 0) return;
  norm.figures[EP_IMAGES_GRAD * norm.pitch + c] = (float)(sum / (double)norm.pixels);
  norm.figures[EP_IMAGES_PRODUCT * norm.pitch + c] = (float)(product / (double)norm.pixels);
  if (!gradient || c >= norm.channels) return;
  gradient[c] = (float)product;
  if (norm.bias) gradient[norm.channels + c] = (float)sum;
}

/* --- launches -------------------------------------------------------------------------------- */

/* Few enough that adding them up costs nothing, many enough to keep all of a GPU reading: of few
 * pixels a thread has fewer. */
int ep_images_slices(bool half, int64_t pitch, int64_t pixels) {
  const int64_t each = 8, enough = 160;
  const int64_t packs = pitch / ep_images_pack(half);
  const int64_t least = blocks_of(packs, pixels, each).x, most = blocks_of(packs, pixels, 1).x;
  const int64_t blocks = least > enough ? least : most < enough ? most : enough;
  return (int)(blocks < EP_IMAGES_SLICES ? blocks : (int64_t)EP_IMAGES_SLICES);
}

static dim3 figures_blocks(const ep_images_norm *norm) {
  return dim3((unsigned int)((norm->pitch + CHANNELS - 1) / CHANNELS));
}

cudaError_t ep_images_norm_forward(cudaStream_t stream, const ep_images_norm *norm) {
  int64_t packs = norm->pitch / ep_images_pack(norm->half);
  dim3 blocks = blocks_of(packs, norm->pixels, 1);
  blocks.x = (unsigned int)norm->slices;
  with_numbers(norm->half, [&](auto number) {
    typedef decltype(number) T;
    ep_cuda_queue(stream, blocks, threads_of(packs), 0, statistics<T>, *norm);
    ep_cuda_queue(stream, figures_blocks(norm), dim3(WARP, CHANNELS), 0, figures_forward<T>, *norm);
  });
  return cudaGetLastError();
}

cudaError_t ep_images_norm_back(cudaStream_t stream, const ep_images_norm *norm, float *gradient) {
  ep_cuda_queue(stream, figures_blocks(norm), dim3(WARP, CHANNELS), 0, figures_back, *norm,
                gradient);
  return cudaGetLastError();
}
