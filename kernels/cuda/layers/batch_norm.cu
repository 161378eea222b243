/* batch_norm. Sums of a channel are taken by several blocks, each a slice of the rows; the last one
 * that is done adds them up and makes the channel's figures. Sums are double, about the channel's
 * first number: a mean of many numbers, and a variance about it, lose little. */
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/operator.h"
#include "kernels/formulas/norms.h"

enum {
  LINES = 16, /* warps of a block */
  THREADS = LINES * WARP,
  COLUMN_LINES = 32
};

/* --- who has what -------------------------------------------------------------------------- */

/* Of vectors [rows, channels] a block has a tile of channels, of which a warp has as many rows at
 * once as fit into its lanes; of images [rows, channels, pixels] it has one channel. */
static __host__ __device__ inline bool has_pixels(const ep_op &op) {
  return op.in.height * op.in.width > 1;
}

/* Channels of a tile: of few rows as many as memory gives at once, so that there are more blocks.
 */
static __host__ __device__ inline int across_of(const ep_op &op, int64_t rows) {
  const int64_t few_rows = 4096, most = rows < few_rows ? 8 : WARP;
  if (has_pixels(op)) return 1;
  return (int)(op.in.channels < most ? op.in.channels : most);
}
static int64_t tiles_of(const ep_op &op, int64_t rows) {
  return (op.in.channels + across_of(op, rows) - 1) / across_of(op, rows);
}

/* Slices of the rows in which a thread has `each` numbers or more, for `blocks` blocks at most. */
static int64_t slices_of(const ep_op &op, int64_t rows, int64_t each, int64_t blocks) {
  const int64_t numbers = rows * op.in.height * op.in.width, tiles = tiles_of(op, rows);
  const int64_t at_once = LINES * (WARP / across_of(op, rows)) * each;
  int64_t slices = (numbers + at_once - 1) / at_once;
  if (slices > blocks / tiles) slices = blocks / tiles;
  if (slices > rows) slices = rows;
  return slices < 1 ? 1 : slices;
}

/* Of those that are summed up. The last one adds up all, which takes longer than a few slices save.
 */
static int64_t sum_slices_of(const ep_op &op, int64_t rows) {
  const int64_t few = 4, most = 256, enough = 528; /* blocks that keep a GPU reading */
  const int64_t slices = slices_of(op, rows, 16, enough);
  if (slices <= few && slices_of(op, rows, 16, INT64_MAX) <= few) return 1;
  return slices < most ? slices : most;
}

/* A thread's share of its block's slice. */
struct share {
  int across, down, lane, line;
  int64_t channel;
  bool exists;

  __device__ share(const ep_op &op, int64_t rows)
      : across(across_of(op, rows)), down(WARP / across), lane(threadIdx.x % WARP),
        line(threadIdx.x / WARP), channel((int64_t)blockIdx.x * across + lane % across),
        exists(lane < across * down && channel < op.in.channels) {}

  __device__ int part() const { return line * down + lane / across; }
  __device__ int parts() const { return LINES * down; }

  /* take(place) of each number. */
  template <class TAKE> __device__ void each(const ep_op &op, int64_t rows, TAKE take) const {
    int64_t first, last;
    slice_rows(rows, (int)blockIdx.y, (int)gridDim.y, &first, &last);
    if (!exists) return;
    const int64_t channels = op.in.channels;
    if (!has_pixels(op)) {
#pragma unroll 8
      for (int64_t row = first + part(); row < last; row += parts()) take(row * channels + channel);
      return;
    }
    const int pixels = (int)(op.in.height * op.in.width), rows_on = THREADS / pixels,
              pixels_on = THREADS % pixels;
    int64_t row = first + threadIdx.x / pixels;
    int pixel = threadIdx.x % pixels;
#pragma unroll 4
    while (row < last) {
      take((row * channels + channel) * pixels + pixel);
      row += rows_on;
      pixel += pixels_on;
      if (pixel >= pixels) pixel -= pixels, row++;
    }
  }
};

/* --- sums ---------------------------------------------------------------------------------- */

/* What is saved: a channel's mean and 1 / deviation, what is taken off each number on the way back;
 * how many blocks of a tile are done, zero between launches; and the slices' sums, [slices,
 * channels] of two. */
struct scratch {
  float *figures, *taken_off;
  unsigned *done;
  double2 *sums;

  __device__ explicit scratch(const ep_cuda_norm &norm) {
    const int64_t channels = norm.op.in.channels;
    figures = norm.saved;
    taken_off = norm.saved + 2 * channels;
    done = (unsigned *)(norm.saved + 4 * channels);
    sums = (double2 *)(norm.saved + (5 * channels + 3) / 4 * 4);
  }
};

/* The sums over a block of both numbers of a thread, channel by channel: in thread c that of
 * channel c of the tile. All threads call. */
static __device__ double2 tile_sum(const share &mine, double2 value) {
  __shared__ double2 all[THREADS], sums[WARP];
  __syncthreads(); /* they may still be read by an earlier call */
  if (mine.lane < mine.across * mine.down)
    all[mine.part() * mine.across + mine.lane % mine.across] = value;
  __syncthreads();
  for (int c = mine.line; c < mine.across; c += LINES) {
    double2 sum = make_double2(0, 0);
    for (int part = mine.lane; part < mine.parts(); part += WARP) {
      sum.x += all[part * mine.across + c].x;
      sum.y += all[part * mine.across + c].y;
    }
    sum.x = warp_sum(sum.x);
    sum.y = warp_sum(sum.y);
    if (mine.lane == 0) sums[c] = sum;
  }
  __syncthreads();
  return sums[threadIdx.x % mine.across];
}

/* Leaves a slice's sums. In the block that is the last of its tile, thread c gets all slices' sums
 * of channel c: true there, where that channel exists. All threads call. */
static __device__ bool slices_sum(const share &mine, const scratch &at, int64_t channels,
                                  double2 value, double2 &sum) {
  __shared__ bool is_last;
  const int slices = (int)gridDim.y;
  const bool mine_exists = (int)threadIdx.x < mine.across && mine.exists;
  sum = tile_sum(mine, value);
  if (slices > 1) {
    if (mine_exists) at.sums[blockIdx.y * channels + mine.channel] = sum;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      is_last = atomicAdd(&at.done[blockIdx.x], 1u) == (unsigned)slices - 1;
      if (is_last) at.done[blockIdx.x] = 0;
    }
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    double2 of_slices = make_double2(0, 0);
    if (mine.exists)
      for (int slice = mine.part(); slice < slices; slice += mine.parts()) {
        const double2 of = __ldcg(&at.sums[slice * channels + mine.channel]);
        of_slices.x += of.x, of_slices.y += of.y;
      }
    sum = tile_sum(mine, of_slices);
  }
  return mine_exists;
}

/* --- forward ------------------------------------------------------------------------------- */

static __device__ void running_move(const ep_cuda_norm &norm, int64_t channel, float mean,
                                    float variance, int64_t count) {
  if (!norm.running) return;
  float *running = norm.running + channel, momentum = norm.op.momentum;
  running[0] = ep_running_mean(running[0], mean, momentum);
  running[norm.op.in.channels] =
      ep_running_variance(running[norm.op.in.channels], variance, count, momentum);
}

/* The batch's mean and 1 / deviation of each channel into the figures, and into the running ones.
 */
static __global__ void __launch_bounds__(THREADS) statistics(ep_cuda_norm norm) {
  kernels_overlap();
  const share mine(norm.op, norm.rows);
  const scratch at(norm);
  const int64_t channels = norm.op.in.channels, pixels = norm.op.in.height * norm.op.in.width;
  const double about = mine.exists ? (double)norm.x[mine.channel * pixels] : 0;
  double2 value = make_double2(0, 0), sum;
  mine.each(norm.op, norm.rows, [&](int64_t place) {
    const double d = (double)norm.x[place] - about;
    value.x += d, value.y += d * d;
  });
  if (!slices_sum(mine, at, channels, value, sum)) return;
  const int64_t count = norm.rows * pixels;
  const double center = sum.x / (double)count, square = sum.y / (double)count - center * center;
  const float mean = (float)(about + center), variance = square < 0 ? 0 : (float)square;
  at.figures[mine.channel] = mean;
  at.figures[channels + mine.channel] = 1 / sqrtf(variance + norm.op.eps);
  running_move(norm, mine.channel, mean, variance, count);
}

/* Evaluation: by the running figures. */
static __global__ void __launch_bounds__(THREADS) forward(ep_cuda_norm norm) {
  kernels_overlap();
  const share mine(norm.op, norm.rows);
  const int64_t channels = norm.op.in.channels, c = mine.channel;
  if (!mine.exists) return;
  const float *figures = norm.training ? norm.saved : norm.running;
  const float mean = figures[c], second = figures[channels + c];
  const float inverse = norm.training ? second : 1 / sqrtf(second + norm.op.eps);
  const float weight = norm.weight ? norm.weight[c] : 1, bias = norm.bias ? norm.bias[c] : 0;
  mine.each(norm.op, norm.rows, [&](int64_t place) {
    const float value = (norm.x[place] - mean) * inverse * weight;
    norm.y[place] = norm.bias ? value + bias : value;
  });
}

/* --- backward ------------------------------------------------------------------------------ */

/* The sums of grad and of grad times the normalized number: the parameters' gradient, and, over
 * their count, what is taken off each number's. */
static __global__ void __launch_bounds__(THREADS) sums(ep_cuda_norm norm) {
  kernels_overlap();
  const share mine(norm.op, norm.rows);
  const scratch at(norm);
  const int64_t channels = norm.op.in.channels, c = mine.channel;
  const float mean = mine.exists ? at.figures[c] : 0;
  const float inverse = mine.exists ? at.figures[channels + c] : 0;
  double2 value = make_double2(0, 0), sum;
  mine.each(norm.op, norm.rows, [&](int64_t place) {
    const double grad = (double)norm.grad[place];
    value.x += grad;
    value.y += grad * (double)((norm.x[place] - mean) * inverse);
  });
  if (!slices_sum(mine, at, channels, value, sum)) return;
  const double count = (double)(norm.rows * norm.op.in.height * norm.op.in.width);
  at.taken_off[c] = (float)(sum.x / count);
  at.taken_off[channels + c] = (float)(sum.y / count);
  if (!norm.gradient) return;
  norm.gradient[c] = (float)sum.y;
  if (norm.bias) norm.gradient[channels + c] = (float)sum.x;
}

static __global__ void __launch_bounds__(THREADS) backward(ep_cuda_norm norm) {
  kernels_overlap();
  const share mine(norm.op, norm.rows);
  const scratch at(norm);
  const int64_t channels = norm.op.in.channels, c = mine.channel;
  if (!mine.exists) return;
  const float mean = at.figures[c], inverse = at.figures[channels + c];
  const float of_sum = at.taken_off[c], of_product = at.taken_off[channels + c];
  const float scale = norm.weight ? norm.weight[c] * inverse : inverse;
  mine.each(norm.op, norm.rows, [&](int64_t place) {
    const float normal = (norm.x[place] - mean) * inverse;
    norm.grad[place] = scale * (norm.grad[place] - of_sum - normal * of_product);
  });
}

/* --- vectors of few rows: all in one launch, 32 features a block ---------------------------- */

/* The sums over a block's lines of each lane's column, in all lines, in a fixed order. */
static __device__ double column_sum(double value) {
  __shared__ double of_line[COLUMN_LINES][WARP + 1];
  __syncthreads(); /* it may still be read by an earlier call */
  of_line[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll 8
  for (int line = 0; line < COLUMN_LINES; line++) sum += of_line[line][threadIdx.x];
  return sum;
}

/* Training: statistics and outputs in one. */
static __global__ void __launch_bounds__(COLUMN_LINES *WARP) columns_forward(ep_cuda_norm norm) {
  kernels_overlap();
  const int64_t channels = norm.op.in.channels;
  const int64_t channel = (int64_t)blockIdx.x * WARP + threadIdx.x;
  const bool exists = channel < channels;
  double sum = 0, square = 0;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES)
      sum += (double)norm.x[row * channels + channel];
  const double center = column_sum(sum) / (double)norm.rows;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
      const double d = (double)norm.x[row * channels + channel] - center;
      square += d * d;
    }
  const float mean = (float)center;
  const float variance = (float)(column_sum(square) / (double)norm.rows);
  const float inverse = 1 / sqrtf(variance + norm.op.eps);
  if (!exists) return;
  const float weight = norm.weight ? norm.weight[channel] : 1;
  const float bias = norm.bias ? norm.bias[channel] : 0;
#pragma unroll 4
  for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
    const float value = (norm.x[row * channels + channel] - mean) * inverse * weight;
    norm.y[row * channels + channel] = norm.bias ? value + bias : value;
  }
  if (threadIdx.y != 0) return;
  norm.saved[channel] = mean;
  norm.saved[channels + channel] = inverse;
  running_move(norm, channel, mean, variance, norm.rows);
}

/* Both sums, and the gradient by the input. */
static __global__ void __launch_bounds__(COLUMN_LINES *WARP) columns_backward(ep_cuda_norm norm) {
  kernels_overlap();
  const int64_t channels = norm.op.in.channels;
  const int64_t channel = (int64_t)blockIdx.x * WARP + threadIdx.x;
  const bool exists = channel < channels;
  const float mean = exists ? norm.saved[channel] : 0;
  const float inverse = exists ? norm.saved[channels + channel] : 0;
  double sum = 0, product = 0;
  if (exists)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
      const int64_t at = row * channels + channel;
      sum += (double)norm.grad[at];
      product += (double)norm.grad[at] * (double)((norm.x[at] - mean) * inverse);
    }
  sum = column_sum(sum);
  product = column_sum(product);
  if (!exists) return;
  if (threadIdx.y == 0 && norm.gradient) {
    norm.gradient[channel] = (float)product;
    if (norm.bias) norm.gradient[channels + channel] = (float)sum;
  }
  const float of_sum = (float)(sum / (double)norm.rows);
  const float of_product = (float)(product / (double)norm.rows);
  const float scale = norm.weight ? norm.weight[channel] * inverse : inverse;
#pragma unroll 4
  for (int64_t row = threadIdx.y; row < norm.rows; row += COLUMN_LINES) {
    const int64_t at = row * channels + channel;
    const float normal = (norm.x[at] - mean) * inverse;
    norm.grad[at] = scale * (norm.grad[at] - of_sum - normal * of_product);
  }
}

/* Of more rows, or of fewer features, several launches of many blocks are faster. */
static bool has_columns(const ep_cuda_norm &norm) {
  const int64_t rows_most = 64 * COLUMN_LINES, channels_least = 16 * WARP;
  return !has_pixels(norm.op) && norm.training && norm.rows <= rows_most &&
         norm.op.in.channels >= channels_least;
}

static unsigned int column_blocks(const ep_cuda_norm &norm) {
  return ep_cuda_blocks(norm.op.in.channels, WARP);
}

/* --- launches ------------------------------------------------------------------------------ */

static dim3 sum_blocks(const ep_cuda_norm &norm) {
  return dim3((unsigned int)tiles_of(norm.op, norm.rows),
              (unsigned int)sum_slices_of(norm.op, norm.rows));
}
/* Of those that have no sums to leave. */
static dim3 blocks_of(const ep_cuda_norm &norm) {
  const int64_t each = 4, enough = 4096;
  return dim3((unsigned int)tiles_of(norm.op, norm.rows),
              (unsigned int)slices_of(norm.op, norm.rows, each, enough));
}

static cudaError_t forward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = ep_cuda_norm_of(call);
  if (has_columns(norm)) {
    ep_cuda_queue(call->stream, column_blocks(norm), dim3(WARP, COLUMN_LINES), 0, columns_forward,
                  norm);
    return cudaGetLastError();
  }
  if (norm.training) ep_cuda_queue(call->stream, sum_blocks(norm), THREADS, 0, statistics, norm);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  ep_cuda_queue(call->stream, blocks_of(norm), THREADS, 0, forward, norm);
  return cudaGetLastError();
}

static cudaError_t backward_run(const ep_cuda_call *call) {
  const ep_cuda_norm norm = ep_cuda_norm_of(call);
  if (has_columns(norm)) {
    ep_cuda_queue(call->stream, column_blocks(norm), dim3(WARP, COLUMN_LINES), 0, columns_backward,
                  norm);
    return cudaGetLastError();
  }
  ep_cuda_queue(call->stream, sum_blocks(norm), THREADS, 0, sums, norm);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) return code;
  ep_cuda_queue(call->stream, blocks_of(norm), THREADS, 0, backward, norm);
  return cudaGetLastError();
}

/* As `scratch` has it. */
static int64_t saved(const ep_op *op, int64_t rows, int64_t batch) {
  (void)rows;
  const int64_t channels = op->in.channels, before = 5 * channels + 3;
  const int64_t words_of_sums = 4; /* two doubles */
  return before + words_of_sums * channels * (batch > 0 ? sum_slices_of(*op, batch) : 0);
}

EP_CUDA_OPERATOR(BATCH_NORM, forward_run, backward_run, IN_PLACE, saved, NULL);
