/* The rows of a step, gathered from where they lie, as the network takes them: a group of threads a
 * row. */
#include <cuda_bf16.h>

#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/formulas/augment.h"
#include "kernels/random.h"

/* Each block works out the order of rows anew: more of them than fill a device only cost. */
enum { THREADS = 256, BLOCKS_ENOUGH = 1024 };

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
static __device__ float4 four_of(const ep_cuda_batch &batch, int64_t from, int64_t columns,
                                 int64_t at) {
  const int64_t place = from * columns + at;
  if (batch.x_type == EP_X_FLOAT32) return __ldg((const float4 *)((const float *)batch.x + place));
  const uchar4 bytes = __ldg((const uchar4 *)((const uint8_t *)batch.x + place));
  const uint8_t of[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
  const uint32_t plane = (uint32_t)(batch.in.height * batch.in.width);
  float values[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const uint32_t channel = (uint32_t)(at + i) / plane;
    values[i] = ep_byte_value(of[i], batch.x_scale[channel], batch.x_shift[channel]);
  }
  return make_float4(values[0], values[1], values[2], values[3]);
}

static __device__ void four_store(float *to, float4 four) {
  *(float4 *)to = four;
}
static __device__ void four_store(__nv_bfloat16 *to, float4 four) {
  __nv_bfloat162 halves[2] = {__floats2bfloat162_rn(four.x, four.y),
                              __floats2bfloat162_rn(four.z, four.w)};
  *(uint2 *)to = *(const uint2 *)halves;
}

/* `group` threads take a row to out: [rows, pitch]. plain: stored as the network takes it, in
 * fours. */
template <typename T>
static __global__ void take(ep_cuda_batch batch, int64_t rows, const ep_cuda_clock *clock,
                            int group, bool augments, bool plain, T *out, int64_t pitch) {
  __shared__ ep_permutation order;
  bool shuffled = batch.shuffle && clock && !batch.indices;
  if (shuffled && threadIdx.x == 0)
    order = ep_permutation_make(batch.seed, EP_RANDOM_SHUFFLE, (uint64_t)clock->epoch,
                                (uint64_t)batch.train_rows);
  __syncthreads();
  int lane = threadIdx.x % group, groups = THREADS / group;
  int64_t columns = batch.in.channels * batch.in.height * batch.in.width;
  const uint32_t *y = (const uint32_t *)batch.y;
  uint32_t *batch_y = (uint32_t *)batch.batch_y;
  for (int64_t row = (int64_t)blockIdx.x * groups + threadIdx.x / group; row < rows;
       row += (int64_t)gridDim.x * groups) {
    int64_t from = row;
    if (clock && !batch.indices) from += clock->batch * batch.batch_size;
    if (shuffled) from = ep_permutation_at(&order, (uint32_t)from);
    T *to = out + row * pitch;
    if (plain) {
#pragma unroll 4
      for (int64_t i = 4 * lane; i < columns; i += 4 * group)
        four_store(to + i, four_of(batch, from, columns, i));
    } else {
      int64_t index = batch.indices ? batch.indices[row] : from;
      ep_augmentation drawn = augments ? ep_augment_draw(&batch.augment, batch.stored, batch.in,
                                                         batch.seed, clock->epoch, index)
                                       : ep_augment_none(batch.stored, batch.in);
      for (int64_t i = lane; i < columns; i += group) to[i] = (T)number_of(batch, drawn, from, i);
    }
    if (batch_y)
      for (int64_t i = lane; i < batch.y_columns; i += group)
        batch_y[row * batch.y_columns + i] = y[from * batch.y_columns + i];
  }
}

cudaError_t ep_cuda_batch_take(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                               const ep_cuda_clock *clock) {
  bool differs = ep_program_augments(&batch->augment, batch->stored, batch->in);
  bool augments = clock && differs;
  bool plain = !differs && ep_shape_count(batch->in) % 4 == 0;
  int group = EP_CUDA_WARP;
  while (group < THREADS && 4 * group < ep_shape_count(batch->in) &&
         rows * group < (int64_t)THREADS * BLOCKS_ENOUGH)
    group *= 2;
  unsigned int blocks = ep_cuda_blocks(rows, THREADS / group);
  if (batch->batch_half)
    take<<<blocks, THREADS, 0, stream>>>(*batch, rows, clock, group, augments, plain,
                                         (__nv_bfloat16 *)batch->batch_half, batch->half_pitch);
  else
    take<<<blocks, THREADS, 0, stream>>>(*batch, rows, clock, group, augments, plain,
                                         batch->batch_x, ep_shape_count(batch->in));
  return cudaGetLastError();
}
