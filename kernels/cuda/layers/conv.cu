/* Convolutions as matrix products whose second matrix is never written down: each block gathers its
 * tile of it, from where the weights' inputs lie, into shared memory. All sums have a fixed order.
 *
 * Forward:  y[channel, place] = sum over taps of W[channel, tap] x[place, tap].
 * Backward: the same, of grad instead of x, each weight's place the other way round.
 * Weights:  W'[channel, tap] = sum over places of grad[channel, place] x[place, tap], the places
 * cut into slices that are summed apart, then added; a bias is a tap that is always 1. */
#include "kernels/cuda/layers/conv_geometry.cuh"
#include "kernels/cuda/layers/conv_staged.cuh"
#include "kernels/cuda/layers/launch.cuh"

/* Threads of a block: 4 along the channels, 32 along the other side. */
enum { THREADS = 128, LINES = 4, DEPTH = 16, CHANNELS_AT_MOST = 32 };
static_assert(THREADS == LINES * WARP, "a warp has one line of channels");

/* A thread block's target is so many blocks in all; more slices would only cost more to add. */
enum { WEIGHT_BLOCKS = 528, WEIGHT_SLICES = 512, SLICE_PLACES = 64 };

/* --- taps ---------------------------------------------------------------------------------- */

int64_t ep_cuda_conv_taps_count(const ep_op *op, bool backward) {
  int64_t channels = (backward ? op->out.channels : op->in.channels) / op->groups;
  return channels * op->kernel[0] * op->kernel[1];
}

void ep_cuda_conv_taps(const ep_op *op, bool backward, ep_cuda_tap *taps) {
  const ep_shape *source = backward ? &op->out : &op->in;
  int area = op->kernel[0] * op->kernel[1];
  int inputs = (int)(op->in.channels / op->groups);
  int64_t count = ep_cuda_conv_taps_count(op, backward);
  for (int64_t tap = 0; tap < count; tap++) {
    int channel = (int)(tap / area), place = (int)(tap % area);
    taps[tap].channel = channel * (int)(source->height * source->width);
    taps[tap].down = place / op->kernel[1] * op->dilation[0];
    taps[tap].right = place % op->kernel[1] * op->dilation[1];
    taps[tap].weight = backward ? channel * inputs * area + place : (int)tap;
  }
}

/* Where a target's pixel stands among the source's, before a tap moves it. */
typedef struct {
  const float *plane; /* the row's and group's first */
  int top, left;
  bool is; /* whether there is such a place */
} site;

template <bool backward>
static __device__ site site_of(const geometry &g, const float *source, int group, int64_t place) {
  int pixels = g.target_height * g.target_width;
  int64_t row = place / pixels;
  int pixel = (int)(place - row * pixels), y = pixel / g.target_width, x = pixel % g.target_width;
  site at;
  at.is = place < g.places;
  at.plane = source + (row * g.groups + group) * g.source_channels * g.source_height *
                          (int64_t)g.source_width;
  at.top = backward ? y + g.padding[0] : y * g.stride[0] - g.padding[0];
  at.left = backward ? x + g.padding[1] : x * g.stride[1] - g.padding[1];
  return at;
}

/* What a tap finds from a site: 0 outside. */
template <bool backward>
static __device__ float gather(const geometry &g, const site &at, const ep_cuda_tap &tap) {
  int y, x;
  bool inside = at.is;
  if (backward) {
    y = at.top - tap.down;
    x = at.left - tap.right;
    if (g.stride[0] > 1) {
      inside &= y % g.stride[0] == 0;
      y = y < 0 ? -1 : y / g.stride[0];
    }
    if (g.stride[1] > 1) {
      inside &= x % g.stride[1] == 0;
      x = x < 0 ? -1 : x / g.stride[1];
    }
  } else {
    y = at.top + tap.down;
    x = at.left + tap.right;
  }
  inside &= (unsigned)y < (unsigned)g.source_height && (unsigned)x < (unsigned)g.source_width;
  return inside ? at.plane[tap.channel + y * g.source_width + x] : 0.0f;
}

/* --- forward and backward ------------------------------------------------------------------ */

/* A block: LINES * M channels of a group by 32 * N places. `bias` may be NULL. */
template <bool backward, int M, int N>
static __global__ void __launch_bounds__(THREADS)
    product(geometry g, const ep_cuda_tap *taps, const float *weight, const float *bias,
            const float *source, float *target, bool activated, ep_op activation) {
  constexpr int TILE_M = LINES * M, TILE_N = WARP * N;
  constexpr int KSTEP = THREADS / TILE_N; /* taps that the block gathers at once */
  constexpr int BS = DEPTH / KSTEP, AS = (TILE_M * DEPTH + THREADS - 1) / THREADS;
  static_assert(THREADS % TILE_N == 0 && DEPTH % KSTEP == 0, "a thread gathers for one place");
  __shared__ float a[DEPTH][TILE_M], b[DEPTH][TILE_N];
  int lane = threadIdx.x % WARP, line = threadIdx.x / WARP;
  int group = blockIdx.z, first_channel = blockIdx.y * TILE_M;
  int64_t first_place = (int64_t)blockIdx.x * TILE_N;
  int column = threadIdx.x % TILE_N, first_tap = threadIdx.x / TILE_N;
  site at = site_of<backward>(g, source, group, first_place + column);
  const float *weights = weight + group * g.weight_group;
  float sums[M][N] = {}, next_a[AS], next_b[BS];
  auto fetch = [&](int base) {
#pragma unroll
    for (int i = 0; i < BS; i++) {
      int tap = base + first_tap + i * KSTEP;
      next_b[i] = tap < g.taps ? gather<backward>(g, at, taps[tap]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < AS; i++) {
      int place = threadIdx.x + i * THREADS, tap = base + place % DEPTH;
      int channel = first_channel + place / DEPTH;
      bool is = place < TILE_M * DEPTH && tap < g.taps && channel < g.target_channels;
      next_a[i] = is ? weights[taps[tap].weight + (int64_t)channel * g.weight_row] : 0.0f;
    }
  };
  fetch(0);
  for (int base = 0; base < g.taps; base += DEPTH) {
#pragma unroll
    for (int i = 0; i < BS; i++) b[first_tap + i * KSTEP][column] = next_b[i];
#pragma unroll
    for (int i = 0; i < AS; i++) {
      int place = threadIdx.x + i * THREADS;
      if (place < TILE_M * DEPTH) a[place % DEPTH][place / DEPTH] = next_a[i];
    }
    __syncthreads();
    if (base + DEPTH < g.taps) fetch(base + DEPTH);
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
#pragma unroll
      for (int n = 0; n < N; n++) {
        float value = b[k][lane + n * WARP];
#pragma unroll
        for (int m = 0; m < M; m++) sums[m][n] += a[k][line * M + m] * value;
      }
    __syncthreads();
  }
  int pixels = g.target_height * g.target_width;
#pragma unroll
  for (int n = 0; n < N; n++) {
    int64_t place = first_place + lane + n * WARP, row = place / pixels;
    if (place >= g.places) continue;
    float *to = target + (row * g.groups + group) * g.target_channels * pixels + place % pixels;
#pragma unroll
    for (int m = 0; m < M; m++) {
      int channel = first_channel + line * M + m;
      if (channel >= g.target_channels) continue;
      float value = bias ? sums[m][n] + bias[group * g.target_channels + channel] : sums[m][n];
      to[(int64_t)channel * pixels] = activated ? ep_activation(&activation, value) : value;
    }
  }
}

/* The narrowest of 2, 3, 4, 5, 6, 8 channels a thread that takes all of a group at once. */
static int lines_of(int channels) {
  const int widths[] = {2, 3, 4, 5, 6};
  for (int i = 0; i < 5; i++)
    if (channels <= LINES * widths[i]) return widths[i];
  return 8;
}

template <bool backward, int M>
static void product_launch(cudaStream_t stream, const ep_cuda_conv *conv, const geometry &g) {
  unsigned int tiles = (unsigned int)((g.target_channels + LINES * M - 1) / (LINES * M));
  bool narrow = g.places * tiles * g.groups < (int64_t)4 * WARP * WEIGHT_BLOCKS;
  int width = WARP * (narrow ? 2 : 4);
  dim3 grid((unsigned int)((g.places + width - 1) / width), tiles, (unsigned int)g.groups);
  const float *bias = backward ? NULL : conv->bias, *source = backward ? conv->grad : conv->x;
  float *target = backward ? conv->grad_x : conv->y;
  bool activated = !backward && conv->activated;
  if (narrow)
    product<backward, M, 2><<<grid, THREADS, 0, stream>>>(g, conv->taps, conv->weight, bias, source,
                                                          target, activated, conv->activation);
  else
    product<backward, M, 4><<<grid, THREADS, 0, stream>>>(g, conv->taps, conv->weight, bias, source,
                                                          target, activated, conv->activation);
}

template <bool backward>
static cudaError_t product_run(cudaStream_t stream, const ep_cuda_conv *conv) {
  geometry g = geometry_of(conv, backward);
  if (staged_run<backward>(stream, conv, g)) return cudaGetLastError();
  switch (lines_of(g.target_channels)) {
  case 2: product_launch<backward, 2>(stream, conv, g); break;
  case 3: product_launch<backward, 3>(stream, conv, g); break;
  case 4: product_launch<backward, 4>(stream, conv, g); break;
  case 5: product_launch<backward, 5>(stream, conv, g); break;
  case 6: product_launch<backward, 6>(stream, conv, g); break;
  default: product_launch<backward, 8>(stream, conv, g); break;
  }
  return cudaGetLastError();
}

cudaError_t ep_cuda_conv_forward(cudaStream_t stream, const ep_cuda_conv *conv) {
  return product_run<false>(stream, conv);
}

cudaError_t ep_cuda_conv_backward(cudaStream_t stream, const ep_cuda_conv *conv) {
  return product_run<true>(stream, conv);
}

/* --- weights ------------------------------------------------------------------------------- */

/* A block: LINES * M channels of a group by 32 * N taps, over the places of slice blockIdx.z /
 * groups. columns: the taps, and one for the bias. */
template <int M, int N>
static __global__ void __launch_bounds__(THREADS)
    weights(geometry g, const ep_cuda_tap *taps, const float *x, const float *grad, int columns,
            int slices, float *partials) {
  constexpr int TILE_M = LINES * M, TILE_N = WARP * N, PAD = 1;
  constexpr int JUMP = THREADS / DEPTH; /* channels, or taps, that the block takes at once */
  constexpr int AS = (TILE_M + JUMP - 1) / JUMP, BS = TILE_N / JUMP;
  static_assert(TILE_N % JUMP == 0, "the taps go round evenly");
  __shared__ float a[DEPTH][TILE_M + PAD], b[DEPTH][TILE_N + PAD];
  __shared__ ep_cuda_tap mine[TILE_N];
  int lane = threadIdx.x % WARP, line = threadIdx.x / WARP;
  int group = blockIdx.z % g.groups, slice = blockIdx.z / g.groups;
  int first_channel = blockIdx.y * TILE_M, first_tap = blockIdx.x * TILE_N;
  int depth = threadIdx.x % DEPTH, start = threadIdx.x / DEPTH;
  int64_t first = g.places * slice / slices, last = g.places * (slice + 1) / slices;
  int pixels = g.target_height * g.target_width;
  for (int i = threadIdx.x; i < TILE_N; i += THREADS)
    if (first_tap + i < g.taps) mine[i] = taps[first_tap + i];
  __syncthreads();
  float sums[M][N] = {}, next_a[AS], next_b[BS];
  auto fetch = [&](int64_t base) {
    int64_t place = base + depth;
    site at = site_of<false>(g, x, group, place);
    at.is = place < last;
    int64_t row = place / pixels;
    const float *from =
        grad + (row * g.groups + group) * g.target_channels * pixels + (place - row * pixels);
#pragma unroll
    for (int i = 0; i < AS; i++) {
      int channel = start + i * JUMP;
      bool is = at.is && channel < TILE_M && first_channel + channel < g.target_channels;
      next_a[i] = is ? from[(int64_t)(first_channel + channel) * pixels] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < BS; i++) {
      int tap = start + i * JUMP;
      if (first_tap + tap < g.taps)
        next_b[i] = gather<false>(g, at, mine[tap]);
      else
        next_b[i] = at.is && first_tap + tap == g.taps ? 1.0f : 0.0f;
    }
  };
  fetch(first);
  for (int64_t base = first; base < last; base += DEPTH) {
#pragma unroll
    for (int i = 0; i < AS; i++)
      if (start + i * JUMP < TILE_M) a[depth][start + i * JUMP] = next_a[i];
#pragma unroll
    for (int i = 0; i < BS; i++) b[depth][start + i * JUMP] = next_b[i];
    __syncthreads();
    if (base + DEPTH < last) fetch(base + DEPTH);
#pragma unroll
    for (int k = 0; k < DEPTH; k++)
#pragma unroll
      for (int n = 0; n < N; n++) {
        float value = b[k][lane + n * WARP];
#pragma unroll
        for (int m = 0; m < M; m++) sums[m][n] += a[k][line * M + m] * value;
      }
    __syncthreads();
  }
  float *to = partials + (int64_t)slice * g.groups * g.target_channels * columns;
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int n = 0; n < N; n++) {
      int channel = first_channel + line * M + m, tap = first_tap + lane + n * WARP;
      if (channel < g.target_channels && tap < columns)
        to[(int64_t)(group * g.target_channels + channel) * columns + tap] = sums[m][n];
    }
}

/* Adds the slices, a warp a parameter, and puts the biases behind the weights. */
static __global__ void slices_add(int64_t channels, int taps, int columns, int slices,
                                  const float *partials, float *gradient) {
  int lane = threadIdx.x % WARP;
  int64_t count = channels * columns, warps = gridDim.x * (THREADS / WARP);
  for (int64_t at = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; at < count; at += warps) {
    float sum = 0;
    for (int slice = lane; slice < slices; slice += WARP) sum += partials[slice * count + at];
    sum = warp_sum(sum);
    int64_t channel = at / columns, tap = at % columns;
    if (lane == 0) gradient[tap < taps ? channel * taps + tap : channels * taps + channel] = sum;
  }
}

static int columns_of(const ep_op *op) {
  return (int)ep_cuda_conv_taps_count(op, false) + (op->bias >= 0);
}

int ep_cuda_conv_slices(const ep_op *op, int64_t rows) {
  int channels = (int)(op->out.channels / op->groups), columns = columns_of(op);
  int height = LINES * lines_of(channels), width = WARP * (columns <= WARP ? 1 : 2);
  int64_t tiles =
      (int64_t)((channels + height - 1) / height) * ((columns + width - 1) / width) * op->groups;
  int64_t most = rows * op->out.height * op->out.width / SLICE_PLACES;
  int64_t slices = (WEIGHT_BLOCKS + tiles - 1) / tiles;
  int64_t grid = 65535 / op->groups; /* what the grid's third side takes */
  if (slices > most) slices = most;
  if (slices > WEIGHT_SLICES) slices = WEIGHT_SLICES;
  if (slices > grid) slices = grid;
  return slices > 1 ? (int)slices : 1;
}

template <int M>
static void weights_launch(cudaStream_t stream, const ep_cuda_conv *conv, const geometry &g,
                           int columns) {
  int width = WARP * (columns <= WARP ? 1 : 2);
  dim3 grid((unsigned int)((columns + width - 1) / width),
            (unsigned int)((g.target_channels + LINES * M - 1) / (LINES * M)),
            (unsigned int)(g.groups * conv->slices));
  if (columns <= WARP)
    weights<M, 1><<<grid, THREADS, 0, stream>>>(g, conv->taps, conv->x, conv->grad, columns,
                                                conv->slices, conv->partials);
  else
    weights<M, 2><<<grid, THREADS, 0, stream>>>(g, conv->taps, conv->x, conv->grad, columns,
                                                conv->slices, conv->partials);
}

cudaError_t ep_cuda_conv_weights(cudaStream_t stream, const ep_cuda_conv *conv) {
  geometry g = geometry_of(conv, false);
  int columns = columns_of(&conv->op);
  switch (lines_of(g.target_channels)) {
  case 2: weights_launch<2>(stream, conv, g, columns); break;
  case 3: weights_launch<3>(stream, conv, g, columns); break;
  case 4: weights_launch<4>(stream, conv, g, columns); break;
  case 5: weights_launch<5>(stream, conv, g, columns); break;
  case 6: weights_launch<6>(stream, conv, g, columns); break;
  default: weights_launch<8>(stream, conv, g, columns); break;
  }
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  int64_t channels = conv->op.out.channels;
  slices_add<<<ep_cuda_blocks(channels * columns, THREADS / WARP), THREADS, 0, stream>>>(
      channels, g.taps, columns, conv->slices, conv->partials, conv->gradient);
  return cudaGetLastError();
}
