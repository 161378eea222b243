/* Pools, a pack of channels a thread. Forward, of an output; back, of an input, which asks the
 * windows that it lies in: no two threads add to the same number. */
#include <math.h>

#include "kernels/cuda/executors/images/kernels.h"
#include "kernels/cuda/executors/images/packs.cuh"
#include "kernels/formulas/pools.h"

/* Everything about a pool's windows, along one side. */
typedef struct {
  int in, out, kernel, stride, padding, dilation;
  bool adaptive;
} side;

typedef struct {
  ep_layer_type type;
  side down, right;
  int64_t rows, pitch;
} pool;

/* The window of output `at`: its first place, how many it has, and how far they are apart. */
typedef struct {
  int first, count, step;
} run;

static __device__ run run_of(const side &s, int at) {
  if (!s.adaptive) return {at * s.stride - s.padding, s.kernel, s.dilation};
  if (s.out == 1) return {0, s.in, 1};
  int first = (int)ep_adaptive_first(at, s.out, s.in);
  return {first, (int)ep_adaptive_end(at, s.out, s.in) - first, 1};
}

/* The outputs whose windows may hold place `at`: first … last. */
static __device__ void outputs_of(const side &s, int at, int *first, int *last) {
  *first = *last = 0;
  if (s.adaptive && s.out == 1) return;
  if (s.adaptive) {
    *first = (int)ep_adaptive_first(at, s.in, s.out);
    *last = (int)ep_adaptive_end(at, s.in, s.out) - 1;
    return;
  }
  int begin = at + s.padding - (s.kernel - 1) * s.dilation;
  *first = begin <= 0 ? 0 : (begin + s.stride - 1) / s.stride;
  *last = (at + s.padding) / s.stride;
  if (*last >= s.out) *last = s.out - 1;
}

/* Which of the window's places that is; below 0 for none. */
static __device__ int number_in(const run &window, int at) {
  int from = at - window.first;
  if (window.step == 1) return from < window.count ? from : -1;
  if (from < 0 || from % window.step != 0) return -1;
  return from / window.step < window.count ? from / window.step : -1;
}

template <int N> static __device__ int64_t channel_of() {
  return ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
}

/* Where a pixel stands. */
typedef struct {
  int64_t row;
  int down, right;
} position;

static __device__ position position_of(uint32_t at, int height, int width) {
  uint32_t line = at / width;
  return {line / height, (int)(line % height), (int)(at % width)};
}

/* What a mean is divided by: a pool counts its padding, an adaptive one has none. */
static __device__ float shares_of(const run &down, const run &right) {
  return (float)(down.count * right.count);
}

static __device__ bool is_inside(const pool &p, int line, int across) {
  return (unsigned)line < (unsigned)p.down.in && (unsigned)across < (unsigned)p.right.in;
}

/* Pixels of a window that are read before the first is wanted. */
enum { AT_ONCE = 5 };

template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    forward(pool p, uint32_t count, const T *x, T *y, uint8_t *places) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  int64_t channel = channel_of<N>();
  if (channel >= p.pitch) return;
  bool greatest = p.type == EP_LAYER_MAX_POOL2D;
  for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < count;
       at += gridDim.x * blockDim.y) {
    position out = position_of(at, p.down.out, p.right.out);
    run down = run_of(p.down, out.down), right = run_of(p.right, out.right);
    const int pixels = down.count * right.count;
    float most[N] = {};
    int place[N];
    for (int i = 0; i < N; i++) place[i] = -1;
    for (int done = 0, line = 0, across = 0; done < pixels; done += AT_ONCE) {
      uint4 read[AT_ONCE];
      bool is[AT_ONCE];
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        const int in_line = down.first + line * down.step;
        const int in_across = right.first + across * right.step;
        is[k] = done + k < pixels && is_inside(p, in_line, in_across);
        if (is[k])
          read[k] = fetch(x + ((out.row * p.down.in + in_line) * p.right.in + in_across) * p.pitch +
                          channel);
        if (++across < right.count) continue;
        across = 0;
        line++;
      }
#pragma unroll
      for (int k = 0; k < AT_ONCE; k++) {
        if (!is[k]) continue;
        float value[N];
        spread(read[k], value);
#pragma unroll
        for (int i = 0; i < N; i++) {
          bool takes = place[i] < 0 || ep_max_takes(value[i], most[i]);
          if (!greatest)
            most[i] += value[i];
          else if (takes)
            most[i] = value[i];
          if (takes) place[i] = done + k;
        }
      }
    }
    int64_t to = (int64_t)at * p.pitch + channel;
    pack<uint8_t, N> bytes;
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!greatest) most[i] /= shares_of(down, right);
      bytes.of[i] = (uint8_t)place[i];
    }
    if (greatest) *(pack<uint8_t, N> *)(places + to) = bytes;
    store<N>(y + to, most);
  }
}

template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    back(pool p, uint32_t count, const T *grad, const uint8_t *places, T *grad_x) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  int64_t channel = channel_of<N>();
  if (channel >= p.pitch) return;
  bool greatest = p.type == EP_LAYER_MAX_POOL2D;
  for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < count;
       at += gridDim.x * blockDim.y) {
    position in = position_of(at, p.down.in, p.right.in);
    int top, bottom, left, last;
    outputs_of(p.down, in.down, &top, &bottom);
    outputs_of(p.right, in.right, &left, &last);
    float sum[N] = {};
    for (int line = top; line <= bottom; line++)
      for (int across = left; across <= last; across++) {
        run down = run_of(p.down, line), right = run_of(p.right, across);
        int j = number_in(down, in.down), k = number_in(right, in.right);
        if (j < 0 || k < 0) continue;
        float value[N];
        pack<uint8_t, N> bytes = {};
        int64_t from = ((in.row * p.down.out + line) * p.right.out + across) * p.pitch + channel;
        fetch(grad + from, value);
        if (greatest) bytes = load<uint8_t, N>(places + from);
#pragma unroll
        for (int i = 0; i < N; i++) {
          if (!greatest)
            sum[i] += value[i] / shares_of(down, right);
          else if (bytes.of[i] == j * right.count + k)
            sum[i] += value[i];
        }
      }
    store<N>(grad_x + (int64_t)at * p.pitch + channel, sum);
  }
}

/* Windows that lie side by side: a thread an output, which gives to all of its window; the last of
 * a line, and of a column, clears what lies behind. */
template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS)
    back_apart(pool p, uint32_t count, const T *grad, const uint8_t *places, T *grad_x) {
  kernels_overlap();
  constexpr int N = PACK<T>;
  const int64_t channel = channel_of<N>();
  if (channel >= p.pitch) return;
  const bool greatest = p.type == EP_LAYER_MAX_POOL2D;
  const int height = p.down.kernel, width = p.right.kernel;
  const float share = 1 / (float)(height * width);
  for (uint32_t at = blockIdx.x * blockDim.y + threadIdx.y; at < count;
       at += gridDim.x * blockDim.y) {
    const position out = position_of(at, p.down.out, p.right.out);
    const int top = out.down * height, left = out.right * width;
    const int lines = out.down + 1 < p.down.out ? height : p.down.in - top;
    const int across = out.right + 1 < p.right.out ? width : p.right.in - left;
    float value[N];
    pack<uint8_t, N> bytes = {};
    fetch(grad + (int64_t)at * p.pitch + channel, value);
    if (greatest) bytes = load<uint8_t, N>(places + (int64_t)at * p.pitch + channel);
#pragma unroll
    for (int i = 0; i < N; i++)
      if (!greatest) value[i] *= share;
    T *to = grad_x + ((out.row * p.down.in + top) * p.right.in + left) * p.pitch + channel;
    for (int j = 0; j < lines; j++, to += p.right.in * p.pitch)
      for (int k = 0; k < across; k++) {
        const bool within = j < height && k < width;
        float of[N];
#pragma unroll
        for (int i = 0; i < N; i++)
          of[i] = within && (!greatest || bytes.of[i] == j * width + k) ? value[i] : 0;
        store<N>(to + k * p.pitch, of);
      }
  }
}

/* A mean of many pixels: a block an output, lines of threads its pixels. */
template <typename T>
static __global__ void __launch_bounds__(EP_IMAGES_THREADS) means(pool p, const T *x, T *y) {
  kernels_overlap();
  constexpr int N = PACK<T>, DEEP = 8;
  __shared__ float held[N][EP_IMAGES_THREADS];
  const int64_t channel = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
  const position out = position_of(blockIdx.x, p.down.out, p.right.out);
  const run down = run_of(p.down, out.down), right = run_of(p.right, out.right);
  const int pixels = channel < p.pitch ? down.count * right.count : 0;
  const int lines = (int)blockDim.y;
  float sum[N] = {};
  for (int i = (int)threadIdx.y; i < pixels; i += DEEP * lines) {
    uint4 read[DEEP] = {};
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
      const int at = i + k * lines;
      const int line = down.first + at / right.count * down.step;
      const int across = right.first + at % right.count * right.step;
      if (at < pixels && is_inside(p, line, across))
        read[k] =
            fetch(x + ((out.row * p.down.in + line) * p.right.in + across) * p.pitch + channel);
    }
#pragma unroll
    for (int k = 0; k < DEEP; k++) { /* zero bytes are zeros */
      float value[N];
      spread(read[k], value);
#pragma unroll
      for (int c = 0; c < N; c++) sum[c] += value[c];
    }
  }
  lines_sum(sum, held);
  if (threadIdx.y > 0 || channel >= p.pitch) return;
#pragma unroll
  for (int c = 0; c < N; c++) sum[c] /= shares_of(down, right);
  store<N>(y + (int64_t)blockIdx.x * p.pitch + channel, sum);
}

static pool pool_of(bool half, const ep_op *op, int64_t rows) {
  bool adaptive = op->type == EP_LAYER_ADAPTIVE_AVG_POOL2D;
  bool dilates = op->type == EP_LAYER_MAX_POOL2D;
  const int64_t in[2] = {op->in.height, op->in.width}, out[2] = {op->out.height, op->out.width};
  side sides[2];
  for (int i = 0; i < 2; i++)
    sides[i] = {(int)in[i],    (int)out[i],    op->kernel[i],
                op->stride[i], op->padding[i], dilates ? op->dilation[i] : 1,
                adaptive};
  return {op->type, sides[0], sides[1], rows, ep_images_pitch(half, op->in.channels)};
}

/* Pixels of a window that are too many for one thread; and where outputs are few. */
enum { MANY_PIXELS = 24, SOME_PIXELS = 12, FEW_OUTPUTS = 1024 };

static int64_t window_of(const pool &p) {
  const side *sides[] = {&p.down, &p.right};
  int64_t pixels = 1;
  for (int i = 0; i < 2; i++)
    pixels *= sides[i]->adaptive ? sides[i]->in / sides[i]->out : sides[i]->kernel;
  return pixels;
}

cudaError_t ep_images_pool_forward(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                                   const void *x, void *y, uint8_t *places) {
  const pool p = pool_of(half, op, rows);
  const int64_t packs = p.pitch / ep_images_pack(half), count = p.rows * p.down.out * p.right.out;
  const int64_t large = count <= FEW_OUTPUTS ? SOME_PIXELS : MANY_PIXELS;
  const bool is_large = op->type != EP_LAYER_MAX_POOL2D && window_of(p) >= large;
  with_numbers(half, [&](auto number) {
    typedef decltype(number) T;
    dim3 blocks = blocks_of(packs, count, 1);
    if (is_large) {
      blocks.x = (unsigned int)count;
      ep_cuda_queue(stream, blocks, threads_of(packs), 0, means<T>, p, (const T *)x, (T *)y);
      return;
    }
    ep_cuda_queue(stream, blocks, threads_of(packs), 0, forward<T>, p, (uint32_t)count,
                  (const T *)x, (T *)y, places);
  });
  return cudaGetLastError();
}

static bool is_apart(const side &s) {
  return !s.adaptive && s.stride == s.kernel && s.padding == 0 && s.dilation == 1;
}

cudaError_t ep_images_pool_back(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                                const void *grad, const uint8_t *places, void *grad_x) {
  const pool p = pool_of(half, op, rows);
  const int64_t packs = p.pitch / ep_images_pack(half), count = p.rows * p.down.in * p.right.in;
  const int64_t outputs = p.rows * p.down.out * p.right.out;
  with_numbers(half, [&](auto number) {
    typedef decltype(number) T;
    if (is_apart(p.down) && is_apart(p.right) && window_of(p) < MANY_PIXELS) {
      ep_cuda_queue(stream, blocks_of(packs, outputs, 1), threads_of(packs), 0, back_apart<T>, p,
                    (uint32_t)outputs, (const T *)grad, places, (T *)grad_x);
      return;
    }
    ep_cuda_queue(stream, blocks_of(packs, count, 1), threads_of(packs), 0, back<T>, p,
                  (uint32_t)count, (const T *)grad, places, (T *)grad_x);
  });
  return cudaGetLastError();
}
