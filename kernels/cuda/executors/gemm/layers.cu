/* Between two matrix products: activations, and their derivatives with the sums that biases want.
 * Sums over rows are cut into slices, each added in
 * a fixed order; the update adds the slices. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/device/derivative.cuh"
#include "kernels/cuda/executors/gemm/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/dropout.h"

/* Rows that a thread reads before it writes one. */
enum { DEEP = 4 };
enum { LINES = 8, THREADS = WARP * LINES, TILE = 32 };

/* --- forward ------------------------------------------------------------------------------- */

template <typename T> static __global__ void activate(ep_op op, int64_t count, const T *x, T *y) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    y[at] = (T)ep_activation(&op, (float)x[at]);
}

/* The same with a mask: a thread four neighbours, which one call of Philox decides. */
template <typename T>
static __global__ void activate_dropping(ep_op op, ep_gemm_dropout drop, int64_t rows,
                                         int64_t pitch, const T *x, T *y) {
  const int64_t step = drop.clock->epoch * drop.clock->steps_per_epoch + drop.clock->batch;
  const int64_t first = drop.first * drop.columns, count = rows * drop.columns;
  const int64_t quads = (first + count + 3) / 4;
  const float scale = ep_dropout_scale(drop.p);
  for (int64_t quad = first / 4 + (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
       quad += (int64_t)gridDim.x * THREADS) {
    const ep_random4 words = ep_dropout_words(drop.seed, step, drop.layer, quad);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int64_t at = 4 * quad + i - first;
      if (at < 0 || at >= count) continue;
      const int64_t row = at >> 32 ? at / drop.columns : (uint32_t)at / (uint32_t)drop.columns;
      const int64_t place = row * pitch + (at - row * drop.columns);
      const bool keeps = ep_dropout_word_keeps(words.word[i], drop.p);
      y[place] = (T)(keeps ? scale * ep_activation(&op, (float)x[place]) : 0);
    }
  }
}

template <typename T>
static void dropping_launch(cudaStream_t stream, const ep_op *op, const ep_gemm_dropout *dropout,
                            int64_t rows, int64_t pitch, const T *x, T *y) {
  const unsigned int blocks = ep_cuda_blocks(rows * dropout->columns + 4, 4 * THREADS);
  activate_dropping<<<blocks, THREADS, 0, stream>>>(*op, *dropout, rows, pitch, x, y);
}

cudaError_t ep_gemm_activate(cudaStream_t stream, bool half, const ep_op *op,
                             const ep_gemm_dropout *dropout, int64_t rows, int64_t pitch,
                             const void *x, void *y) {
  unsigned int blocks = ep_cuda_blocks(rows * pitch, THREADS);
  if (dropout->drops && half)
    dropping_launch(stream, op, dropout, rows, pitch, (const half_number *)x, (half_number *)y);
  else if (dropout->drops)
    dropping_launch(stream, op, dropout, rows, pitch, (const float *)x, (float *)y);
  else if (half)
    activate<<<blocks, THREADS, 0, stream>>>(*op, rows * pitch, (const half_number *)x,
                                             (half_number *)y);
  else
    activate<<<blocks, THREADS, 0, stream>>>(*op, rows * pitch, (const float *)x, (float *)y);
  return cudaGetLastError();
}

static __global__ void add_bias(int64_t rows, int64_t columns, int64_t pitch, const float *sums,
                                const float *bias, float *output) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < rows * columns;
       at += (int64_t)gridDim.x * THREADS) {
    int64_t row = at / columns, column = at - row * columns;
    float sum = sums[row * pitch + column];
    output[at] = bias ? sum + bias[column] : sum;
  }
}

cudaError_t ep_gemm_finish(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                           const float *sums, const float *bias, float *output) {
  add_bias<<<ep_cuda_blocks(rows * columns, THREADS), THREADS, 0, stream>>>(rows, columns, pitch,
                                                                            sums, bias, output);
  return cudaGetLastError();
}

/* A tile as it lies in shared memory, to be read along its other side. */
typedef float tile[TILE][TILE + 1];

/* The block's warps write a tile's columns as rows. */
static __device__ void tile_turn(const tile &of, int64_t rows, int64_t columns, int64_t row,
                                 int64_t column, float *transposed) {
  for (int i = threadIdx.y; i < TILE; i += LINES)
    if (column + i < columns && row + threadIdx.x < rows)
      transposed[(column + i) * rows + row + threadIdx.x] = of[threadIdx.x][i];
}

static __global__ void turn(int64_t rows, int64_t columns, int64_t pitch, const float *x,
                            float *transposed) {
  __shared__ tile held;
  int64_t column = (int64_t)blockIdx.x * TILE;
  for (int64_t row = (int64_t)blockIdx.y * TILE; row < rows; row += (int64_t)gridDim.y * TILE) {
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += LINES)
      if (column + threadIdx.x < columns && row + i < rows)
        held[i][threadIdx.x] = __ldg(x + (row + i) * pitch + column + threadIdx.x);
    __syncthreads();
    tile_turn(held, rows, columns, row, column, transposed);
    __syncthreads();
  }
}

static dim3 tiles_of(int64_t rows, int64_t columns) {
  int64_t high = (rows + TILE - 1) / TILE;
  return dim3((unsigned int)((columns + TILE - 1) / TILE),
              (unsigned int)(high < 65535 ? high : 65535));
}

cudaError_t ep_gemm_transpose(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                              const float *x, float *transposed) {
  turn<<<tiles_of(rows, columns), dim3(WARP, LINES), 0, stream>>>(rows, columns, pitch, x,
                                                                  transposed);
  return cudaGetLastError();
}

/* --- derivatives --------------------------------------------------------------------------- */

/* The sums of N columns a lane, over the block's lines, to sums[column]. */
template <int N>
static __device__ void lines_sum(const float (&of)[N], int64_t first_column, int64_t columns,
                                 float *sums) {
  __shared__ float held[LINES][WARP * N];
  for (int i = 0; i < N; i++) held[threadIdx.y][threadIdx.x * N + i] = of[i];
  __syncthreads();
  for (int at = threadIdx.y * WARP + threadIdx.x; at < WARP * N; at += THREADS) {
    if (first_column + at >= columns) continue;
    float sum = 0;
    for (int line = 0; line < LINES; line++) sum += held[line][at];
    sums[first_column + at] = sum;
  }
}

/* f' of what was computed from x and may have been dropped since; y: what was left of it. */
template <bool relu>
static __device__ inline float kept_derivative(const ep_gemm_derivation &d, int64_t row,
                                               int64_t column, float x, float y) {
  const ep_gemm_dropout &drop = d.dropout;
  if (relu) return ep_relu_derivative(y) * ep_dropout_scale(drop.p);
  if (!ep_dropout_keeps(drop.seed, drop.clock->current, drop.layer,
                        (drop.first + row) * drop.columns + column, drop.p))
    return 0;
  return ep_dropout_scale(drop.p) *
         ep_activation_derivative(&d.activation, x, ep_activation(&d.activation, x));
}

/* blockIdx.x: 32 * N columns; blockIdx.y: a slice of the rows. from: [rows, from_pitch]. */
template <typename S, typename T, int N, bool relu>
static __global__ void __launch_bounds__(THREADS)
    derive(ep_gemm_derivation d, const S *from, int64_t from_pitch) {
  int64_t base = (int64_t)blockIdx.x * WARP * N, column = base + threadIdx.x * N;
  int64_t first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const T *y = (const T *)d.y, *before = (const T *)d.before;
  T *grad = (T *)d.grad;
  float sums[N] = {};
  for (int64_t base_row = first + threadIdx.y; column < d.pitch && base_row < last;
       base_row += DEEP * LINES) {
    pack<S, N> given[DEEP] = {};
    pack<T, N> own[DEEP] = {}, argument[DEEP] = {};
#pragma unroll
    for (int i = 0; i < DEEP; i++) { /* all that is read, before anything is written */
      int64_t row = base_row + i * LINES, at = row * d.pitch + column;
      if (row >= last) break;
      if (column < d.columns) given[i] = load<S, N>(from + row * from_pitch + column);
      if (y) own[i] = load<T, N>(y + at);
      if (!relu && before) argument[i] = load<T, N>(before + at);
    }
#pragma unroll
    for (int i = 0; i < DEEP; i++) {
      int64_t row = base_row + i * LINES;
      float to[N];
      if (row >= last) break;
#pragma unroll
      for (int n = 0; n < N; n++) {
        float value = (float)given[i].of[n], x = (float)argument[i].of[n];
        if (d.dropout.drops)
          value *= kept_derivative<relu>(d, row, column + n, x, (float)own[i].of[n]);
        else if (y)
          value *= derivative_of<relu>(d.activation, (float)own[i].of[n], before ? &x : NULL);
        to[n] = value;
        sums[n] += value;
      }
      store<N>(grad + row * d.pitch + column, to);
    }
  }
  if (d.sums) lines_sum<N>(sums, base, d.columns, d.sums + blockIdx.y * d.columns);
}

/* The same for float32 whose transpose is wanted: a tile at a time. */
template <bool relu>
static __global__ void __launch_bounds__(THREADS)
    derive_turning(ep_gemm_derivation d, const float *from, int64_t from_pitch) {
  __shared__ tile held;
  int64_t base = (int64_t)blockIdx.x * TILE, column = base + threadIdx.x, first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const float *y = (const float *)d.y, *before = (const float *)d.before;
  float *grad = (float *)d.grad, sums[1] = {};
  for (int64_t row = first; row < last; row += TILE) {
    float given[TILE / LINES] = {}, own[TILE / LINES] = {};
#pragma unroll
    for (int j = 0; j < TILE / LINES; j++) { /* all that is read, before anything is written */
      int64_t at = row + threadIdx.y + j * LINES;
      if (column >= d.columns || at >= last) continue;
      given[j] = from[at * from_pitch + column];
      if (y) own[j] = y[at * d.pitch + column];
    }
#pragma unroll
    for (int j = 0; j < TILE / LINES; j++) {
      int64_t at = (row + threadIdx.y + j * LINES) * d.pitch + column;
      float value = given[j];
      if (column >= d.columns || row + threadIdx.y + j * LINES >= last) continue;
      if (d.dropout.drops)
        value *=
            kept_derivative<relu>(d, row + threadIdx.y + j * LINES, column, before[at], own[j]);
      else if (y)
        value *= derivative_of<relu>(d.activation, own[j], before ? &before[at] : NULL);
      if (grad) grad[at] = value;
      held[threadIdx.y + j * LINES][threadIdx.x] = value;
      sums[0] += value;
    }
    __syncthreads();
    for (int i = threadIdx.y; i < TILE; i += LINES)
      if (base + i < d.columns && row + threadIdx.x < last)
        d.transposed[(base + i) * d.rows + row + threadIdx.x] = held[threadIdx.x][i];
    __syncthreads();
  }
  if (d.sums) lines_sum<1>(sums, base, d.columns, d.sums + blockIdx.y * d.columns);
}

template <typename S, typename T, int N>
static void derive_launch(cudaStream_t stream, const ep_gemm_derivation *d) {
  dim3 block(WARP, LINES), grid(1, (unsigned int)d->slices);
  int64_t width = WARP * N, from_pitch = d->plain ? d->columns : d->pitch;
  grid.x = (unsigned int)((d->pitch + width - 1) / width);
  if (d->activation.type == EP_LAYER_RELU)
    derive<S, T, N, true><<<grid, block, 0, stream>>>(*d, (const S *)d->from, from_pitch);
  else
    derive<S, T, N, false><<<grid, block, 0, stream>>>(*d, (const S *)d->from, from_pitch);
}

static void turning_launch(cudaStream_t stream, const ep_gemm_derivation *d) {
  dim3 block(WARP, LINES), grid(1, (unsigned int)d->slices);
  int64_t from_pitch = d->plain ? d->columns : d->pitch;
  grid.x = (unsigned int)((d->columns + TILE - 1) / TILE);
  if (d->activation.type == EP_LAYER_RELU)
    derive_turning<true><<<grid, block, 0, stream>>>(*d, (const float *)d->from, from_pitch);
  else
    derive_turning<false><<<grid, block, 0, stream>>>(*d, (const float *)d->from, from_pitch);
}

cudaError_t ep_gemm_derive(cudaStream_t stream, const ep_gemm_derivation *d) {
  if (d->transposed)
    turning_launch(stream, d);
  else if (d->half && d->plain)
    derive_launch<float, half_number, 1>(stream, d);
  else if (d->half) /* columns that are no multiple of 8 are followed by zeros */
    derive_launch<half_number, half_number, 8>(stream, d);
  else if (d->pitch % 4 == 0 && d->columns % 4 == 0)
    derive_launch<float, float, 4>(stream, d);
  else
    derive_launch<float, float, 1>(stream, d);
  return cudaGetLastError();
}
