/* conv_staged.cuh: the product of conv.cu for layers whose image fits into shared memory: a block
 * takes a row's image, with its padding, and the weights of some channels, and reads each number
 * from there for every tap that wants it. Backward, the image is grad, spread out by the stride. */
#ifndef EP_KERNELS_CUDA_LAYERS_CONV_STAGED_CUH
#define EP_KERNELS_CUDA_LAYERS_CONV_STAGED_CUH

#include "kernels/cuda/layers/conv_geometry.cuh"
#include "kernels/cuda/layers/launch.cuh"

enum { STAGE_THREADS = 512, STAGE_BYTES = 48 << 10, STAGE_PIXELS = 64 };

/* The image in shared memory: each channel [height, width], target pixel (y, x) with its taps from
 * (y * step, x * step) on. */
typedef struct {
  int height, width;
  int step[2];
  int first[2];  /* the source's place of the image's first */
  int spread[2]; /* image places from one of the source's to the next */
  int groups_of; /* groups of M channels that a block computes */
} stage;

static inline int stage_reach(const ep_op *op, int axis) {
  return (op->kernel[axis] - 1) * op->dilation[axis];
}

static inline stage stage_of(const ep_op *op, const geometry &g, bool backward) {
  stage s = {};
  int target[2] = {g.target_height, g.target_width}, size[2];
  for (int i = 0; i < 2; i++) {
    s.step[i] = backward ? 1 : op->stride[i];
    s.spread[i] = backward ? op->stride[i] : 1;
    s.first[i] = backward ? op->padding[i] - stage_reach(op, i) : -op->padding[i];
    size[i] = (target[i] - 1) * s.step[i] + stage_reach(op, i) + 1;
  }
  s.height = size[0];
  s.width = size[1];
  return s;
}

/* Floats from one tap's weights to the next: M of each group, in steps of 16 bytes. */
template <int M> static __host__ __device__ constexpr int stage_weights(void) {
  return (M + 3) / 4 * 4;
}

/* blockIdx: row, tile of channels, group. Threads go round the pixels of each M channels. */
template <bool backward, int M>
static __global__ void __launch_bounds__(STAGE_THREADS)
    staged(geometry g, stage s, int kernel_height, int kernel_width, int dilation_height,
           int dilation_width, const ep_cuda_tap *taps, const float *weight, const float *bias,
           const float *source, float *target, bool activated, ep_op activation) {
  constexpr int WIDE = stage_weights<M>();
  extern __shared__ float4 shared[];
  int plane = s.height * s.width, images = g.source_channels * plane, group = blockIdx.z;
  int tile = s.groups_of * WIDE, first_channel = blockIdx.y * s.groups_of * M;
  int64_t row = blockIdx.x;
  float *weights = (float *)shared, *image = weights + g.taps * tile;
  const float *from = source + (row * g.groups + group) * g.source_channels * g.source_height *
                                   (int64_t)g.source_width;
#pragma unroll 4
  for (int i = threadIdx.x; i < images; i += blockDim.x) {
    int channel = i / plane, place = i % plane;
    int y = place / s.width + s.first[0], x = place % s.width + s.first[1];
    bool inside = y >= 0 && x >= 0;
    if (backward) {
      inside = inside && y % s.spread[0] == 0 && x % s.spread[1] == 0;
      y /= s.spread[0];
      x /= s.spread[1];
    }
    inside = inside && y < g.source_height && x < g.source_width;
    image[i] = inside ? from[(channel * g.source_height + y) * g.source_width + x] : 0.0f;
  }
  const float *of_group = weight + group * g.weight_group;
#pragma unroll 4
  for (int i = threadIdx.x; i < g.taps * tile; i += blockDim.x) {
    int tap = i / tile, lane = i % tile, m = lane % WIDE;
    int channel = first_channel + lane / WIDE * M + m;
    bool is = m < M && channel < g.target_channels;
    weights[i] = is ? of_group[taps[tap].weight + (int64_t)channel * g.weight_row] : 0.0f;
  }
  __syncthreads();
  int pixels = g.target_height * g.target_width;
  /* Backward, the taps lie the other way round. */
  int row_step = (backward ? -dilation_height : dilation_height) * s.width;
  int column_step = backward ? -dilation_width : dilation_width;
  int start = backward ? (kernel_height - 1) * dilation_height * s.width +
                             (kernel_width - 1) * dilation_width
                       : 0;
  float *to = target + (row * g.groups + group) * (int64_t)g.target_channels * pixels;
  for (int item = threadIdx.x; item < pixels * s.groups_of; item += blockDim.x) {
    int pixel = item % pixels, lane = item / pixels;
    int y = pixel / g.target_width, x = pixel % g.target_width;
    const float *at = image + y * s.step[0] * s.width + x * s.step[1] + start;
    const float *w = weights + lane * WIDE;
    float sums[WIDE] = {};
    for (int channel = 0; channel < g.source_channels; channel++, at += plane)
      for (int i = 0; i < kernel_height; i++) {
        const float *line = at + i * row_step;
#pragma unroll 5
        for (int j = 0; j < kernel_width; j++, w += tile) {
          float value = line[j * column_step];
#pragma unroll
          for (int m = 0; m < WIDE; m += 4) {
            float4 four = *(const float4 *)(w + m);
            sums[m] += four.x * value;
            if (m + 1 < M) sums[m + 1] += four.y * value;
            if (m + 2 < M) sums[m + 2] += four.z * value;
            if (m + 3 < M) sums[m + 3] += four.w * value;
          }
        }
      }
#pragma unroll
    for (int m = 0; m < M; m++) {
      int channel = first_channel + lane * M + m;
      if (channel >= g.target_channels) continue;
      float value = bias ? sums[m] + bias[group * g.target_channels + channel] : sums[m];
      to[(int64_t)channel * pixels + pixel] = activated ? ep_activation(&activation, value) : value;
    }
  }
}

/* Launches it with M channels a thread; false when they do not fit or would leave threads idle. */
template <bool backward, int M>
static bool staged_launch(cudaStream_t stream, const ep_cuda_conv *conv, const geometry &g) {
  const ep_op *op = &conv->op;
  stage s = stage_of(op, g, backward);
  int64_t pixels = (int64_t)g.target_height * g.target_width;
  int64_t image = (int64_t)g.source_channels * s.height * s.width;
  int64_t of_group = (int64_t)g.taps * stage_weights<M>();
  int64_t room = STAGE_BYTES / (int64_t)sizeof(float) - image;
  int all = (g.target_channels + M - 1) / M;
  if (pixels < STAGE_PIXELS || room < of_group || conv->rows > (1 << 20)) return false;
  int64_t fit = room / of_group;
  s.groups_of = fit < all ? (int)fit : all;
  dim3 grid((unsigned int)conv->rows, (unsigned int)((all + s.groups_of - 1) / s.groups_of),
            (unsigned int)g.groups);
  if (grid.y > 8) return false; /* the image would be read too often */
  size_t bytes = (size_t)(image + of_group * s.groups_of) * sizeof(float);
  int64_t items = pixels * s.groups_of, rounds = (items + STAGE_THREADS - 1) / STAGE_THREADS;
  int64_t each =
      (items + rounds - 1) / rounds; /* so that the last round is as full as the others */
  unsigned int threads = (unsigned int)((each + WARP - 1) / WARP * WARP);
  staged<backward, M><<<grid, threads, bytes, stream>>>(
      g, s, op->kernel[0], op->kernel[1], op->dilation[0], op->dilation[1], conv->taps,
      conv->weight, backward ? NULL : conv->bias, backward ? conv->grad : conv->x,
      backward ? conv->grad_x : conv->y, !backward && conv->activated, conv->activation);
  return true;
}

/* Of 10, 8, 5 and 4 channels a thread, those that waste least; the fewer where a row has few
 * pixels.
 */
template <bool backward>
static bool staged_run(cudaStream_t stream, const ep_cuda_conv *conv, const geometry &g) {
  int channels = g.target_channels, pixels = g.target_height * g.target_width;
  bool few = pixels * ((channels + 9) / 10) < STAGE_THREADS / 2;
  if (channels % 5 == 0)
    return few && channels > 5  ? staged_launch<backward, 5>(stream, conv, g)
           : channels % 10 == 0 ? staged_launch<backward, 10>(stream, conv, g)
                                : staged_launch<backward, 5>(stream, conv, g);
  return few || channels <= 4 ? staged_launch<backward, 4>(stream, conv, g)
                              : staged_launch<backward, 8>(stream, conv, g);
}

#endif
