/* Numbers on their way into another order, and what acts on each alone. */
#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/packs.cuh"
#include "kernels/formulas/dropout.h"

/* --- images ---------------------------------------------------------------------------------- */

/* A thread four channels of a pixel; neighbours have neighbouring pixels. */
template <typename T>
static __global__ void take(int64_t count, int64_t channels, int64_t pixels, int64_t quads,
                            const float *from, T *to) {
  kernels_overlap();
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

template <typename T>
static __global__ void give(int64_t count, int64_t channels, int64_t pixels, int64_t packs,
                            const T *from, float *to) {
  kernels_overlap();
  constexpr int N = PACK<T>;
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

cudaError_t ep_images_take(cudaStream_t stream, bool half, int64_t rows, int64_t channels,
                           int64_t pitch, int64_t pixels, const float *from, void *to) {
  int64_t quads = pitch / 4, count = rows * pixels * quads;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  with_numbers(half, [&](auto number) {
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, take<decltype(number)>, count, channels,
                  pixels, quads, from, (decltype(number) *)to);
  });
  return cudaGetLastError();
}

cudaError_t ep_images_give(cudaStream_t stream, bool half, int64_t rows, int64_t channels,
                           int64_t pixels, const void *from, float *to) {
  int64_t packs = ep_images_pitch(half, channels) / ep_images_pack(half);
  int64_t count = rows * pixels * packs;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  with_numbers(half, [&](auto number) {
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, give<decltype(number)>, count, channels,
                  pixels, packs, (const decltype(number) *)from, to);
  });
  return cudaGetLastError();
}

/* A thread as many taps of an output's window as a pack has numbers: of C channels they fill C
 * packs. C: 1 … 4. */
template <typename T, int C>
static __global__ void patches(ep_op op, uint32_t count, uint32_t packs, const T *x, T *to) {
  kernels_overlap();
  constexpr int TAPS = PACK<T>;
  const uint32_t wide = (uint32_t)op.kernel[1], chunks = (packs + C - 1) / C;
  const int high = (int)op.in.height, across = (int)op.in.width;
  for (uint32_t at = blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += gridDim.x * EP_IMAGES_THREADS) {
    uint32_t pixel = at / chunks, chunk = at % chunks, line = pixel / (uint32_t)op.out.width;
    int left = (int)(pixel % (uint32_t)op.out.width) * op.stride[1] - op.padding[1];
    int top = (int)(line % (uint32_t)op.out.height) * op.stride[0] - op.padding[0];
    const T *image = x + (int64_t)(line / (uint32_t)op.out.height) * high * across * 4;
    pack<T, TAPS> values[C];
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
      uint32_t tap = chunk * TAPS + i, down = tap / wide;
      int y = top + (int)down * op.dilation[0], z = left + (int)(tap % wide) * op.dilation[1];
      bool is = down < (uint32_t)op.kernel[0] && y >= 0 && y < high && z >= 0 && z < across;
      pack<T, 4> of;
#pragma unroll
      for (int c = 0; c < 4; c++) of.of[c] = (T)0.0f;
      if (is) of = load<T, 4>(image + (y * across + z) * 4);
#pragma unroll
      for (int c = 0; c < C; c++) values[(i * C + c) / TAPS].of[(i * C + c) % TAPS] = of.of[c];
    }
    T *mine = to + ((int64_t)pixel * packs + chunk * C) * TAPS;
#pragma unroll
    for (int c = 0; c < C; c++)
      if (chunk * C + c < packs) *(pack<T, TAPS> *)(mine + c * TAPS) = values[c];
  }
}

template <typename T>
static void patches_launch(cudaStream_t stream, const ep_op *op, int64_t rows, const T *from,
                           T *to) {
  const uint32_t channels = (uint32_t)op->in.channels;
  const int64_t window = channels * op->kernel[0] * op->kernel[1];
  const uint32_t packs = (uint32_t)((window + PACK<T> - 1) / PACK<T>);
  const uint32_t chunks = (packs + channels - 1) / channels;
  const uint32_t count = (uint32_t)(rows * op->out.height * op->out.width) * chunks;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  if (channels == 1)
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, patches<T, 1>, *op, count, packs, from, to);
  else if (channels == 2)
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, patches<T, 2>, *op, count, packs, from, to);
  else if (channels == 3)
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, patches<T, 3>, *op, count, packs, from, to);
  else
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, patches<T, 4>, *op, count, packs, from, to);
}

cudaError_t ep_images_patches(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                              const void *x, void *patched) {
  with_numbers(half, [&](auto number) {
    typedef decltype(number) T;
    patches_launch(stream, op, rows, (const T *)x, (T *)patched);
  });
  return cudaGetLastError();
}

/* --- weights --------------------------------------------------------------------------------- */

/* A number at its place, or its parts at theirs. */
static __device__ void number_put(const ep_images_order &order, int64_t at, float value,
                                  half_number *to) {
  to[at] = (half_number)value;
}
static __device__ void number_put(const ep_images_order &order, int64_t at, float value,
                                  float *to) {
  if (order.part == 0) {
    to[at] = value;
    return;
  }
  const float high = tf32_rounded(value);
  to[at] = to[at + order.part] = high;
  to[at + 2 * order.part] = value - high;
}

/* Where tap 0 of an input of an output stands. */
static __device__ int64_t place_of(const ep_images_weight &of, const ep_images_order &order,
                                   int64_t out, int64_t in) {
  return out * order.row + out / of.group_outputs * of.in + in;
}

/* This block's: the last that begins at or before it. Each thread reads where one begins. A copy:
 * what a kernel writes might be a field of the list. All threads of the block call. */
static __device__ ep_images_weight weight_of(const ep_images_weight *weights, int count,
                                             bool sums) {
  const int threads = (int)(blockDim.x * blockDim.y);
  int begun = 0;
  for (int first = 0; first < count; first += threads) {
    const int i = first + (int)(threadIdx.y * blockDim.x + threadIdx.x);
    int64_t begin = INT64_MAX;
    if (i < count) begin = sums ? weights[i].first_sum : weights[i].first_block;
    begun += __syncthreads_count(begin <= (int64_t)blockIdx.x);
  }
  return weights[begun - 1];
}

/* What a thread has: an output and an input, and all their taps or one of them. */
typedef struct {
  int64_t out, in, tap, taps; /* taps: the one behind its last; 0: it has none */
} share;

static __device__ share share_of(const ep_images_weight &of) {
  int64_t at = (blockIdx.x - of.first_block) * EP_IMAGES_WEIGHT_THREADS + threadIdx.x;
  share mine = {at / of.in, at % of.in, 0, of.taps};
  if (of.single) {
    mine.tap = mine.out % of.taps;
    mine.taps = mine.tap + 1;
    mine.out /= of.taps;
  }
  if (mine.out >= of.out) mine.taps = 0;
  return mine;
}

/* Taps that a thread reads before it writes the first. */
enum { TAPS_AT_ONCE = 9 };

template <typename T>
static __device__ void share_copy(const ep_images_weight &of, const ep_images_order &order,
                                  const share &mine) {
  const float *from = of.parameters + (mine.out * of.in + mine.in) * of.taps;
  const int64_t first = place_of(of, order, mine.out, mine.in);
  for (int64_t tap = mine.tap; tap < mine.taps; tap += TAPS_AT_ONCE) {
    float values[TAPS_AT_ONCE] = {};
#pragma unroll
    for (int k = 0; k < TAPS_AT_ONCE; k++)
      if (tap + k < mine.taps) values[k] = from[tap + k];
#pragma unroll
    for (int k = 0; k < TAPS_AT_ONCE; k++)
      if (tap + k < mine.taps)
        number_put(order, first + (tap + k) * order.pitch, values[k], (T *)order.numbers);
  }
}

static __global__ void weights_copy(const ep_images_weight *weights, int count) {
  kernels_overlap();
  const ep_images_weight of = weight_of(weights, count, false);
  const share mine = share_of(of);
  if (of.copy.numbers && of.half)
    share_copy<half_number>(of, of.copy, mine);
  else if (of.copy.numbers)
    share_copy<float>(of, of.copy, mine);
  if (of.back_copy.numbers) share_copy<float>(of, of.back_copy, mine);
}

/* The gradient of what a thread has: to[0 …]. */
template <typename T>
static __device__ void share_back(const ep_images_weight &of, const share &mine, float *to) {
  const T *from = (const T *)of.copy_gradient.numbers;
  from += place_of(of, of.copy_gradient, mine.out, mine.in);
  for (int64_t tap = mine.tap; tap < mine.taps; tap += TAPS_AT_ONCE) {
    float values[TAPS_AT_ONCE] = {};
#pragma unroll
    for (int k = 0; k < TAPS_AT_ONCE; k++)
      if (tap + k < mine.taps) values[k] = (float)from[(tap + k) * of.copy_gradient.pitch];
#pragma unroll
    for (int k = 0; k < TAPS_AT_ONCE; k++)
      if (tap + k < mine.taps) to[tap + k - mine.tap] = values[k];
  }
}

/* The gradient of number `at` in the other order, where it is one of the parameters'. */
static __device__ void sum_put(const ep_images_weight &of, int64_t at, float sum) {
  const ep_images_order &order = of.copy_gradient;
  const int64_t out = at / order.row, rest = at % order.row, tap = rest / order.pitch;
  const int64_t in = rest % order.pitch - out / of.group_outputs * of.in;
  if (out < of.out && tap < of.taps && in >= 0 && in < of.in)
    of.gradient[(out * of.in + in) * of.taps + tap] = sum;
}

/* Adds a gradient's slices up: numbers across, slices down. */
enum { ADD_ACROSS = 32, ADD_DOWN = 8 };

static __global__ void slices_add(const ep_images_weight *weights, int count) {
  kernels_overlap();
  __shared__ float held[ADD_DOWN][ADD_ACROSS];
  const ep_images_weight of = weight_of(weights, count, true);
  const int64_t numbers = of.copy_gradient.part;
  const int64_t at = (blockIdx.x - of.first_sum) * ADD_ACROSS + threadIdx.x;
  const float *from = (const float *)of.copy_gradient.numbers + at;
  float sum = 0;
  if (at < numbers)
#pragma unroll 8
    for (int slice = threadIdx.y; slice < of.slices; slice += ADD_DOWN)
      sum += from[slice * numbers];
  held[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || at >= numbers) return;
  for (int line = 1; line < ADD_DOWN; line++) sum += held[line][threadIdx.x];
  sum_put(of, at, sum);
}

/* Of gradients without slices: what a block's threads have is one piece of it, and turned in shared
 * memory. */
static __global__ void weights_back(const ep_images_weight *weights, int count) {
  kernels_overlap();
  __shared__ float turned[EP_IMAGES_WEIGHT_THREADS * EP_IMAGES_WEIGHT_TAPS];
  const ep_images_weight of = weight_of(weights, count, false);
  const share mine = share_of(of);
  int64_t first = (blockIdx.x - of.first_block) * EP_IMAGES_WEIGHT_THREADS;
  if (!of.gradient || of.slices > 1) return;
  float *to = turned + threadIdx.x * of.taps;
  if (of.single) to = of.gradient + (mine.out * of.in + mine.in) * of.taps + mine.tap;
  if (of.half)
    share_back<half_number>(of, mine, to);
  else
    share_back<float>(of, mine, to);
  if (of.single) return;
  __syncthreads();
  int64_t all = (of.out * of.in - first) * of.taps, most = EP_IMAGES_WEIGHT_THREADS * of.taps;
  for (int64_t i = threadIdx.x; i < most && i < all; i += EP_IMAGES_WEIGHT_THREADS)
    of.gradient[first * of.taps + i] = turned[i];
}

cudaError_t ep_images_weights_copy(cudaStream_t stream, const ep_images_weights *all) {
  unsigned int blocks = (unsigned int)all->blocks;
  ep_cuda_queue(stream, blocks, EP_IMAGES_WEIGHT_THREADS, 0, weights_copy, all->rows, all->count);
  return cudaGetLastError();
}

/* The blocks that add up a weight's slices. */
static int64_t sums_of(const ep_images_weight *of) {
  if (of->slices <= 1 || !of->gradient) return 0;
  return (of->copy_gradient.part + ADD_ACROSS - 1) / ADD_ACROSS;
}

void ep_images_weights_share(ep_images_weight *rows, ep_images_weights *all) {
  for (int i = 0; i < all->count; i++) {
    const int64_t each = EP_IMAGES_WEIGHT_THREADS;
    const int64_t shares = rows[i].out * rows[i].in * (rows[i].single ? rows[i].taps : 1);
    rows[i].first_block = all->blocks;
    all->blocks += (shares + each - 1) / each;
    if (rows[i].gradient && rows[i].slices <= 1) all->moves = true;
    rows[i].first_sum = all->sums;
    all->sums += sums_of(&rows[i]);
  }
}

cudaError_t ep_images_weights_back(cudaStream_t stream, const ep_images_weights *all) {
  unsigned int blocks = (unsigned int)all->blocks, sums = (unsigned int)all->sums;
  if (sums > 0)
    ep_cuda_queue(stream, sums, dim3(ADD_ACROSS, ADD_DOWN), 0, slices_add, all->rows, all->count);
  if (all->moves)
    ep_cuda_queue(stream, blocks, EP_IMAGES_WEIGHT_THREADS, 0, weights_back, all->rows, all->count);
  return cudaGetLastError();
}

/* --- dropout --------------------------------------------------------------------------------- */

/* Bit i: whether element first + i of the layer is kept. One call of Philox decides four. */
template <int N>
static __device__ uint32_t kept_of(const ep_op &op, uint64_t seed, int64_t step, int64_t first) {
  uint32_t kept = 0;
  for (int64_t quad = first / 4; 4 * quad < first + N; quad++) {
    const ep_random4 words = ep_dropout_words(seed, step, op.layer, quad);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const int i = (int)(4 * quad + k - first);
      if (i >= 0 && i < N && ep_dropout_word_keeps(words.word[k], op.p)) kept |= 1u << i;
    }
  }
  return kept;
}

/* A thread a pack of as many neighbouring pixels as a word of bits holds: their elements share
 * calls of Philox. */
enum { DROPPED_PIXELS = 4 };

template <typename T>
static __global__ void dropout(ep_op op, int64_t first, int64_t count, int64_t packs, uint64_t seed,
                               const ep_cuda_clock *clock, bool backward, const T *x, T *y) {
  kernels_overlap();
  constexpr int N = PACK<T>, PIXELS = DROPPED_PIXELS;
  const int64_t pixels = op.out.height * op.out.width, channels = op.out.channels;
  const int64_t chunks = (pixels + PIXELS - 1) / PIXELS;
  int64_t step = backward ? clock->current : clock->epoch * clock->steps_per_epoch + clock->batch;
  float scale = ep_dropout_scale(op.p);
  for (int64_t at = (int64_t)blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * EP_IMAGES_THREADS) {
    const int64_t pack = at % packs, rest = at / packs, row = rest / chunks;
    const int64_t pixel = rest % chunks * PIXELS, channel = (first + row) * channels + pack * N;
    const int64_t place = ((row * pixels + pixel) * packs + pack) * N;
    float values[PIXELS][N] = {};
#pragma unroll
    for (int k = 0; k < PIXELS; k++)
      if (pixel + k < pixels) load<N>(x + place + k * packs * N, values[k]);
    uint32_t kept = 0; /* bit PIXELS * i + k: channel i of pixel k */
    if (op.type == EP_LAYER_DROPOUT2D) {
      const uint32_t whole = kept_of<N>(op, seed, step, channel);
      for (int i = 0; i < N; i++)
        if (whole >> i & 1) kept |= ((1u << PIXELS) - 1) << PIXELS * i;
    } else {
      for (int i = 0; i < N; i++)
        kept |= kept_of<PIXELS>(op, seed, step, (channel + i) * pixels + pixel) << PIXELS * i;
    }
#pragma unroll
    for (int k = 0; k < PIXELS; k++) {
#pragma unroll
      for (int i = 0; i < N; i++)
        values[k][i] = kept >> (PIXELS * i + k) & 1 ? scale * values[k][i] : 0.0f;
      if (pixel + k < pixels) store<N>(y + place + k * packs * N, values[k]);
    }
  }
}

cudaError_t ep_images_dropout(cudaStream_t stream, bool half, const ep_op *op, int64_t first,
                              int64_t rows, uint64_t seed, const ep_cuda_clock *clock,
                              bool backward, const void *x, void *y) {
  int64_t packs = ep_images_pitch(half, op->out.channels) / ep_images_pack(half);
  int64_t pixels = op->out.height * op->out.width;
  int64_t count = rows * ((pixels + DROPPED_PIXELS - 1) / DROPPED_PIXELS) * packs;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  with_numbers(half, [&](auto number) {
    typedef decltype(number) T;
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, dropout<T>, *op, first, count, packs, seed,
                  clock, backward, (const T *)x, (T *)y);
  });
  return cudaGetLastError();
}

/* --- sums ------------------------------------------------------------------------------------ */

template <typename T> static __global__ void add(int64_t packs, const T *other, T *sum) {
  kernels_overlap();
  constexpr int N = PACK<T>;
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

cudaError_t ep_images_add(cudaStream_t stream, bool half, int64_t count, const void *other,
                          void *sum) {
  int64_t packs = count / ep_images_pack(half);
  unsigned int blocks = ep_cuda_blocks(packs, EP_IMAGES_THREADS);
  with_numbers(half, [&](auto number) {
    typedef decltype(number) T;
    ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, add<T>, packs, (const T *)other, (T *)sum);
  });
  return cudaGetLastError();
}

/* --- parts of numbers ------------------------------------------------------------------------ */

/* [pixels, pitch], in packs. */
static __global__ void split(uint32_t count, uint32_t packs, const float *from, float *to) {
  kernels_overlap();
  constexpr int N = PACK<float>;
  for (uint32_t at = blockIdx.x * EP_IMAGES_THREADS + threadIdx.x; at < count;
       at += gridDim.x * EP_IMAGES_THREADS) {
    float value[N];
    fetch(from + (int64_t)at * N, value);
    split_store(to, at / packs, (int64_t)packs * N, at % packs * N, value);
  }
}

cudaError_t ep_images_split(cudaStream_t stream, int64_t pixels, int64_t pitch, const float *from,
                            float *to) {
  const int64_t packs = pitch / PACK<float>, count = pixels * packs;
  unsigned int blocks = ep_cuda_blocks(count, EP_IMAGES_THREADS);
  ep_cuda_queue(stream, blocks, EP_IMAGES_THREADS, 0, split, (uint32_t)count, (uint32_t)packs, from,
                to);
  return cudaGetLastError();
}
