/* The rows of a step, gathered from where they lie, as the network takes them: groups of threads a
 * row, of several blocks where rows are few. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/augment.h"
#include "kernels/random.h"

/* Each block works out the order of rows anew: more of them than fill a device only cost. Its
 * threads find a row each, ROWS at most, before they fetch any. */
enum { THREADS = 256, PIXEL_THREADS = 512, BLOCKS_ENOUGH = 1024, ROWS = THREADS };

/* Blocks up to which a long row has several. */
enum { BLOCKS_FEW = 256 };

/* Number `at` of a row as the network takes it; from: the row as stored. */
static __device__ float number_of(const ep_cuda_batch &batch, const ep_augmentation &drawn,
                                  int64_t from, int64_t at) {
  int64_t stored = batch.stored.channels * batch.stored.height * batch.stored.width;
  uint32_t width = (uint32_t)batch.in.width, plane = width * (uint32_t)batch.in.height;
  uint32_t channel = (uint32_t)at / plane, pixel = (uint32_t)at % plane;
  int64_t source = ep_augment_source(&drawn, batch.stored, channel, pixel / width, pixel % width);
  if (batch.x_type == EP_X_FLOAT32)
    return source < 0 ? 0 : ((const float *)batch.x)[from * stored + source];
  uint8_t byte = source < 0 ? 0 : ((const uint8_t *)batch.x)[from * stored + source];
  return ep_byte_value(byte, batch.x_scale[channel], batch.x_shift[channel]);
}

/* Four neighbours of a row that is taken as it is stored. */
static __device__ void four_take(const ep_cuda_batch &batch, int64_t place, int64_t at,
                                 float (&values)[4]) {
  if (batch.x_type == EP_X_FLOAT32) return load<4>((const float *)batch.x + place, values);
  const pack<uint8_t, 4> bytes = load<uint8_t, 4>((const uint8_t *)batch.x + place);
  const uint32_t plane = (uint32_t)(batch.in.height * batch.in.width);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t channel = (uint32_t)(at + i) / plane;
    values[i] = ep_byte_value(bytes.of[i], batch.x_scale[channel], batch.x_shift[channel]);
  }
}

/* The same for one. */
static __device__ float one_take(const ep_cuda_batch &batch, int64_t place, int64_t at) {
  if (batch.x_type == EP_X_FLOAT32) return ((const float *)batch.x)[place];
  const uint32_t channel = (uint32_t)at / (uint32_t)(batch.in.height * batch.in.width);
  return ep_byte_value(((const uint8_t *)batch.x)[place], batch.x_scale[channel],
                       batch.x_shift[channel]);
}

/* Where the rows first … end - 1 of a step lie. All threads of the block call. */
static __device__ void places_find(const ep_cuda_batch &batch, const ep_cuda_clock *clock,
                                   int64_t first, int64_t end, int64_t (&places)[ROWS]) {
  __shared__ ep_permutation order;
  const bool shuffled = batch.shuffle && clock && !batch.indices;
  const int thread = threadIdx.x;
  if (shuffled && thread == 0)
    order = ep_permutation_make(batch.seed, EP_RANDOM_SHUFFLE, (uint64_t)clock->epoch,
                                (uint64_t)batch.train_rows);
  __syncthreads();
  if (first + thread < end) {
    int64_t from = first + thread;
    if (clock && !batch.indices) from += clock->batch * batch.batch_size + batch.first;
    if (shuffled) from = ep_permutation_at(&order, (uint32_t)from);
    places[thread] = from;
  }
  __syncthreads();
}

/* A pixel's channels to `to`, four at once. */
template <typename T>
static __device__ void pixel_take(const ep_cuda_batch &batch, const ep_augmentation &drawn,
                                  int64_t from, uint32_t pixel, T *to) {
  int64_t plane = batch.stored.height * batch.stored.width, width = batch.in.width;
  int64_t source =
      ep_augment_source(&drawn, batch.stored, 0, pixel / (uint32_t)width, pixel % (uint32_t)width);
  int64_t first = from * batch.stored.channels * plane + source;
  for (int64_t channel = 0; channel < batch.pixel_pitch; channel += 4) {
    float values[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int64_t c = channel + i, at = first + c * plane;
      bool is = c < batch.in.channels;
      values[i] = 0;
      if (is && batch.x_type == EP_X_UINT8)
        values[i] = ep_byte_value(source < 0 ? 0 : ((const uint8_t *)batch.x)[at], batch.x_scale[c],
                                  batch.x_shift[c]);
      else if (is && source >= 0)
        values[i] = ((const float *)batch.x)[at];
    }
    store<4>(to + channel, values);
  }
}

/* How a row is taken: as it is stored, by fours or one by one; or otherwise. */
typedef enum { TAKE_FOURS, TAKE_ONES, TAKE_OTHERWISE } manner;

/* Rows first … end - 1 of a step to out: [rows, pitch]. All threads of the block call. */
template <typename T>
static __device__ void rows_take(const ep_cuda_batch &batch, int64_t first, int64_t end,
                                 const ep_cuda_clock *clock, int group, bool augments, manner how,
                                 T *out, int64_t pitch) {
  __shared__ int64_t places[ROWS];
  places_find(batch, clock, first, end, places);
  const int span = gridDim.y * group; /* threads of a row, in blocks of their own */
  const int lane = blockIdx.y * group + threadIdx.x % group, groups = blockDim.x / group;
  int64_t columns = batch.in.channels * batch.in.height * batch.in.width;
  const uint32_t *y = (const uint32_t *)batch.y;
  uint32_t *batch_y = (uint32_t *)batch.batch_y;
  for (int64_t row = first + threadIdx.x / group; row < end; row += groups) {
    const int64_t from = places[row - first];
    T *to = out + row * pitch;
    if (!out) { /* only its target is asked for */
    } else if (how == TAKE_ONES) {
#pragma unroll 4
      for (int64_t i = lane; i < columns; i += span)
        to[i] = (T)one_take(batch, from * columns + i, i);
    } else if (how == TAKE_FOURS) {
#pragma unroll 4
      for (int64_t i = 4 * lane; i < columns; i += 4 * span) {
        float values[4];
        four_take(batch, from * columns + i, i, values);
        store<4>(to + i, values);
      }
    } else {
      int64_t index = batch.indices ? batch.indices[row] : from;
      ep_augmentation drawn = augments ? ep_augment_draw(&batch.augment, batch.stored, batch.in,
                                                         batch.seed, clock->epoch, index)
                                       : ep_augment_none(batch.stored, batch.in);
      if (batch.batch_pixels)
        for (int64_t i = lane; i < batch.in.height * batch.in.width; i += span)
          pixel_take(batch, drawn, from, (uint32_t)i, to + i * batch.pixel_pitch);
      else
        for (int64_t i = lane; i < columns; i += span) to[i] = (T)number_of(batch, drawn, from, i);
    }
    if (batch_y)
      for (int64_t i = lane; i < batch.y_columns; i += span)
        batch_y[row * batch.y_columns + i] = y[from * batch.y_columns + i];
  }
  __syncthreads(); /* the places are read before others are found */
}

/* `group` threads of each of gridDim.y blocks take a row to out: [rows, pitch]; a block has `each`
 * rows. */
template <typename T>
static __global__ void __launch_bounds__(PIXEL_THREADS)
    take(ep_cuda_batch batch, int64_t rows, const ep_cuda_clock *clock, int each, int group,
         bool augments, manner how, T *out, int64_t pitch) {
  kernels_overlap();
  const int64_t blocks = gridDim.x;
  for (int64_t first = (int64_t)blockIdx.x * each; first < rows; first += blocks * each)
    rows_take(batch, first, first + each < rows ? first + each : rows, clock, group, augments, how,
              out, pitch);
}

template <typename T>
static void launch(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                   const ep_cuda_clock *clock, T *out, int64_t pitch) {
  bool differs = ep_program_augments(&batch->augment, batch->stored, batch->in);
  const manner how = differs || batch->batch_pixels       ? TAKE_OTHERWISE
                     : ep_shape_count(batch->in) % 4 == 0 ? TAKE_FOURS
                                                          : TAKE_ONES;
  /* A pixel's channels are a thread's work, and take long. */
  const int most = batch->batch_pixels ? PIXEL_THREADS : THREADS;
  const int64_t wanted = batch->batch_pixels ? batch->in.height * batch->in.width
                                             : (ep_shape_count(batch->in) + 3) / 4;
  int group = WARP;
  while (group < most && group < wanted && rows * group < (int64_t)THREADS * BLOCKS_ENOUGH)
    group *= 2;
  const int threads = group > THREADS ? group : THREADS;
  int64_t each = threads / group;
  while (each < ROWS && rows > each * BLOCKS_ENOUGH) each *= 2;
  dim3 blocks(ep_cuda_blocks(rows, each));
  while ((blocks.y + 1) * blocks.x <= BLOCKS_FEW && blocks.y * group < wanted) blocks.y++;
  ep_cuda_queue(stream, blocks, threads, 0, take<T>, *batch, rows, clock, (int)each, group,
                clock && differs, how, out, pitch);
}

cudaError_t ep_cuda_batch_take(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                               const ep_cuda_clock *clock) {
  int64_t image = batch->in.height * batch->in.width * batch->pixel_pitch;
  if (batch->batch_pixels && batch->pixels_half)
    launch(stream, batch, rows, clock, (half_number *)batch->batch_pixels, image);
  else if (batch->batch_pixels)
    launch(stream, batch, rows, clock, (float *)batch->batch_pixels, image);
  else if (batch->batch_half)
    launch(stream, batch, rows, clock, (half_number *)batch->batch_half, batch->half_pitch);
  else
    launch(stream, batch, rows, clock, batch->batch_x, ep_shape_count(batch->in));
  return cudaGetLastError();
}
