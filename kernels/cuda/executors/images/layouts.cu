/* Numbers on their way into another order, and what acts on each alone. */
#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/packs.cuh"
#include "kernels/formulas/dropout.h"

/* --- images ---------------------------------------------------------------------------------- */

/* A thread four channels of a pixel; neighbours have neighbouring pixels. */
static __global__ void take(int64_t count, int64_t channels, int64_t pixels, int64_t quads,
                            const float *from, half_number *to) {
  for (int64_t at = (int64_t)blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * EP_IMAGES_THREADS) {
    int64_t pixel = at % pixels, rest = at / pixels, quad = rest % quads, row = rest / quads;
    float values[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int64_t c = quad * 4 + i;
      values[i] = c < channels ? from[(row * channels + c) * pixels + pixel] : 0.0f;
    }
    store<4>(to + ((row * pixels + pixel) * quads + quad) * 4, values);
  }
}

static __global__ void give(int64_t count, int64_t channels, int64_t pixels, int64_t packs,
                            const half_number *from, float *to) {
  constexpr int N = PACK;
  for (int64_t at = (int64_t)blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * EP_IMAGES_THREADS) {
    int64_t pixel = at % pixels, rest = at / pixels, pack = rest % packs, row = rest / packs;
    float values[N];
    fetch(from + ((row * pixels + pixel) * packs + pack) * N, values);
#pragma unroll
    for (int i = 0; i < N; i++) {
      int64_t c = pack * N + i;
      if (c < channels) to[(row * channels + c) * pixels + pixel] = values[i];
    }
  }
}

cudaError_t ep_images_take(cudaStream_t stream, int64_t rows, int64_t channels, int64_t pitch,
                           int64_t pixels, const float *from, void *to) {
  int64_t quads = pitch / 4, count = rows * pixels * quads;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  take<<<blocks, EP_IMAGES_THREADS, 0, stream>>>(count, channels, pixels, quads, from,
                                                 (half_number *)to);
  return cudaGetLastError();
}

cudaError_t ep_images_give(cudaStream_t stream, int64_t rows, int64_t channels, int64_t pixels,
                           const void *from, float *to) {
  int64_t packs = ep_images_pitch(channels) / PACK;
  int64_t count = rows * pixels * packs;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  give<<<blocks, EP_IMAGES_THREADS, 0, stream>>>(count, channels, pixels, packs,
                                                 (const half_number *)from, to);
  return cudaGetLastError();
}

/* A thread as many taps of an output's window as a pack has numbers: of C channels they fill C
 * packs. C: 1 … 4. */
template <int C>
static __global__ void patches(ep_op op, uint32_t count, uint32_t packs, const half_number *x,
                               half_number *to) {
  constexpr int TAPS = PACK;
  const uint32_t wide = (uint32_t)op.kernel[1], chunks = (packs + C - 1) / C;
  const int high = (int)op.in.height, across = (int)op.in.width;
  for (uint32_t at = blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += gridDim.x * EP_IMAGES_THREADS) {
    uint32_t pixel = at / chunks, chunk = at % chunks, line = pixel / (uint32_t)op.out.width;
    int left = (int)(pixel % (uint32_t)op.out.width) * op.stride[1] - op.padding[1];
    int top = (int)(line % (uint32_t)op.out.height) * op.stride[0] - op.padding[0];
    const half_number *image = x + (int64_t)(line / (uint32_t)op.out.height) * high * across * 4;
    pack<half_number, TAPS> values[C];
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
      uint32_t tap = chunk * TAPS + i, down = tap / wide;
      int y = top + (int)down * op.dilation[0], z = left + (int)(tap % wide) * op.dilation[1];
      bool is = down < (uint32_t)op.kernel[0] && y >= 0 && y < high && z >= 0 && z < across;
      pack<half_number, 4> of;
#pragma unroll
      for (int c = 0; c < 4; c++) of.of[c] = (half_number)0.0f;
      if (is) of = load<half_number, 4>(image + (y * across + z) * 4);
#pragma unroll
      for (int c = 0; c < C; c++) values[(i * C + c) / TAPS].of[(i * C + c) % TAPS] = of.of[c];
    }
    half_number *mine = to + ((int64_t)pixel * packs + chunk * C) * TAPS;
#pragma unroll
    for (int c = 0; c < C; c++)
      if (chunk * C + c < packs) *(pack<half_number, TAPS> *)(mine + c * TAPS) = values[c];
  }
}

cudaError_t ep_images_patches(cudaStream_t stream, const ep_op *op, int64_t rows, const void *x,
                              void *patched) {
  const half_number *from = (const half_number *)x;
  half_number *to = (half_number *)patched;
  const uint32_t channels = (uint32_t)op->in.channels;
  const int64_t window = channels * op->kernel[0] * op->kernel[1];
  const uint32_t packs = (uint32_t)((window + PACK - 1) / PACK);
  const uint32_t chunks = (packs + channels - 1) / channels;
  const uint32_t count = (uint32_t)(rows * op->out.height * op->out.width) * chunks;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  if (channels == 1)
    patches<1><<<blocks, EP_IMAGES_THREADS, 0, stream>>>(*op, count, packs, from, to);
  else if (channels == 2)
    patches<2><<<blocks, EP_IMAGES_THREADS, 0, stream>>>(*op, count, packs, from, to);
  else if (channels == 3)
    patches<3><<<blocks, EP_IMAGES_THREADS, 0, stream>>>(*op, count, packs, from, to);
  else
    patches<4><<<blocks, EP_IMAGES_THREADS, 0, stream>>>(*op, count, packs, from, to);
  return cudaGetLastError();
}

/* --- weights --------------------------------------------------------------------------------- */

/* This block's: the last that begins at or before it. */
static __device__ const ep_images_weight &weight_of(const ep_images_weight *weights, int count) {
  int i = count - 1;
  while (weights[i].first_block > blockIdx.x) i--;
  return weights[i];
}

/* This thread's pair of an output and an input; false when there is none. */
static __device__ bool pair_of(const ep_images_weight &of, int64_t *out, int64_t *in) {
  int64_t at = (blockIdx.x - of.first_block) * EP_IMAGES_WEIGHT_THREADS + threadIdx.x;
  *out = at / of.in;
  *in = at % of.in;
  return *out < of.out;
}

template <typename T>
static __device__ void pair_copy(const ep_images_weight &of, int64_t out, int64_t in) {
  const float *from = of.parameters + (out * of.in + in) * of.taps;
  T *to = (T *)of.copy + out * of.row + in;
  for (int64_t tap = 0; tap < of.taps; tap++) to[tap * of.pitch] = (T)from[tap];
}

static __global__ void weights_copy(const ep_images_weight *weights, int count) {
  const ep_images_weight &of = weight_of(weights, count);
  int64_t out, in;
  if (!of.copy || !pair_of(of, &out, &in)) return;
  if (of.precise)
    pair_copy<float>(of, out, in);
  else
    pair_copy<half_number>(of, out, in);
}

/* A pair's gradient: to[0 … taps - 1]. */
template <typename T>
static __device__ void pair_back(const ep_images_weight &of, int64_t out, int64_t in, float *to) {
  const T *from = (const T *)of.copy_gradient + out * of.row + in;
  for (int64_t tap = 0; tap < of.taps; tap++) {
    float sum = (float)from[tap * of.pitch];
#pragma unroll 8
    for (int slice = 1; slice < of.slices; slice++)
      sum += (float)from[slice * of.stride + tap * of.pitch];
    to[tap] = sum;
  }
}

/* What a block's threads have is one piece of the gradient: it is turned in shared memory, as far
 * as there is room. */
enum { TURNED_TAPS = 25 };

static __global__ void weights_back(const ep_images_weight *weights, int count) {
  __shared__ float turned[EP_IMAGES_WEIGHT_THREADS * TURNED_TAPS];
  const ep_images_weight &of = weight_of(weights, count);
  int64_t out, in, first = (blockIdx.x - of.first_block) * EP_IMAGES_WEIGHT_THREADS;
  if (!of.gradient) return;
  bool turns = of.taps <= TURNED_TAPS, is = pair_of(of, &out, &in);
  float *to = of.gradient + first * of.taps;
  float *mine = (turns ? turned : to) + threadIdx.x * of.taps;
  if (is && of.precise)
    pair_back<float>(of, out, in, mine);
  else if (is)
    pair_back<half_number>(of, out, in, mine);
  if (!turns) return;
  __syncthreads();
  int64_t all = (of.out * of.in - first) * of.taps, most = EP_IMAGES_WEIGHT_THREADS * of.taps;
  for (int64_t i = threadIdx.x; i < most && i < all; i += EP_IMAGES_WEIGHT_THREADS)
    to[i] = turned[i];
}

cudaError_t ep_images_weights_copy(cudaStream_t stream, const ep_images_weight *weights, int count,
                                   int64_t blocks) {
  unsigned int all = (unsigned int)blocks;
  weights_copy<<<all, EP_IMAGES_WEIGHT_THREADS, 0, stream>>>(weights, count);
  return cudaGetLastError();
}

cudaError_t ep_images_weights_back(cudaStream_t stream, const ep_images_weight *weights, int count,
                                   int64_t blocks) {
  unsigned int all = (unsigned int)blocks;
  weights_back<<<all, EP_IMAGES_WEIGHT_THREADS, 0, stream>>>(weights, count);
  return cudaGetLastError();
}

/* --- dropout --------------------------------------------------------------------------------- */

static __global__ void dropout(ep_op op, int64_t first, int64_t count, int64_t packs, uint64_t seed,
                               const ep_cuda_clock *clock, bool backward, const half_number *x,
                               half_number *y) {
  constexpr int N = PACK;
  const int64_t pixels = op.out.height * op.out.width, channels = op.out.channels;
  int64_t step = backward ? clock->current : clock->epoch * clock->steps_per_epoch + clock->batch;
  float scale = ep_dropout_scale(op.p);
  for (int64_t at = (int64_t)blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * EP_IMAGES_THREADS) {
    int64_t pack = at % packs, rest = at / packs, pixel = rest % pixels;
    int64_t row = first + rest / pixels;
    float values[N];
    load<N>(x + at * N, values);
#pragma unroll
    for (int i = 0; i < N; i++) {
      int64_t channel = row * channels + pack * N + i;
      int64_t element = op.type == EP_LAYER_DROPOUT2D ? channel : channel * pixels + pixel;
      bool keeps = ep_dropout_keeps(seed, step, op.layer, element, op.p);
      values[i] = keeps ? scale * values[i] : 0.0f;
    }
    store<N>(y + at * N, values);
  }
}

cudaError_t ep_images_dropout(cudaStream_t stream, const ep_op *op, int64_t first, int64_t rows,
                              uint64_t seed, const ep_cuda_clock *clock, bool backward,
                              const void *x, void *y) {
  int64_t packs = ep_images_pitch(op->out.channels) / PACK;
  int64_t count = rows * op->out.height * op->out.width * packs;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  dropout<<<blocks, EP_IMAGES_THREADS, 0, stream>>>(*op, first, count, packs, seed, clock, backward,
                                                    (const half_number *)x, (half_number *)y);
  return cudaGetLastError();
}

/* --- sums ------------------------------------------------------------------------------------ */

static __global__ void add(int64_t packs, const half_number *other, half_number *sum) {
  constexpr int N = PACK;
  for (int64_t at = (int64_t)blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < packs;
       at += (int64_t)gridDim.x * EP_IMAGES_THREADS) {
    float own[N], more[N];
    load<N>(sum + at * N, own);
    fetch(other + at * N, more);
#pragma unroll
    for (int i = 0; i < N; i++) own[i] += more[i];
    store<N>(sum + at * N, own);
  }
}

cudaError_t ep_images_add(cudaStream_t stream, int64_t count, const void *other, void *sum) {
  int64_t packs = count / PACK;
  unsigned int blocks = ep_cuda_blocks(packs, EP_IMAGES_THREADS);
  add<<<blocks, EP_IMAGES_THREADS, 0, stream>>>(packs, (const half_number *)other,
                                                (half_number *)sum);
  return cudaGetLastError();
}
