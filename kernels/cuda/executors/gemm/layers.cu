/* Between two matrix products: activations, which leave their derivatives, and gradients times
 * these, with the sums that biases want. Sums over rows are cut into slices, each added in a fixed
 * order; the update adds the slices. */
#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/executors/gemm/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/cuda/layers/usual_activations.cuh"
#include "kernels/formulas/dropout.h"

/* Rows that a thread reads before it writes one. */
enum { DEEP = 4 };
enum { LINES = 8, THREADS = WARP * LINES, TILE = 32, QUAD = 4 };

/* --- forward ------------------------------------------------------------------------------- */

/* y = f(x), kept or dropped, and dy/dx in the place of x. */
static __device__ __forceinline__ void number_activate(const ep_op &op, float factor, float &x,
                                                       float &y) {
  const float value = ep_activation(&op, x);
  x = factor != 0 ? factor * ep_activation_derivative(&op, x, value) : 0;
  y = factor != 0 ? factor * value : 0; /* also of an infinite one */
}

/* A thread four neighbours, then what is left of `count`. */
template <typename T, ep_layer_type TYPE>
static __global__ void activate(ep_op given, int64_t count, T *x, T *y) {
  const ep_op op = activation_of<TYPE>(given);
  const int64_t threads = (int64_t)gridDim.x * THREADS, quads = count / QUAD;
  const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  for (int64_t quad = thread; quad < quads; quad += threads) {
    float of[QUAD], to[QUAD];
    load<QUAD>(x + quad * QUAD, of);
#pragma unroll
    for (int i = 0; i < QUAD; i++) number_activate(op, 1, of[i], to[i]);
    store<QUAD>(x + quad * QUAD, of);
    store<QUAD>(y + quad * QUAD, to);
  }
  for (int64_t at = QUAD * quads + thread; at < count; at += threads) {
    float of = (float)x[at], to;
    number_activate(op, 1, of, to);
    x[at] = (T)of;
    y[at] = (T)to;
  }
}

/* The same with a mask: one call of Philox decides four neighbours. */
template <typename T, ep_layer_type TYPE>
static __global__ void activate_dropping(ep_op given, ep_gemm_dropout drop, int64_t rows,
                                         int64_t pitch, T *x, T *y) {
  const ep_op op = activation_of<TYPE>(given);
  const int64_t step = drop.clock->epoch * drop.clock->steps_per_epoch + drop.clock->batch;
  const int64_t first = drop.first * drop.columns, count = rows * drop.columns;
  const int64_t quads = (first + count + QUAD - 1) / QUAD;
  const float scale = ep_dropout_scale(drop.p);
  for (int64_t quad = first / QUAD + (int64_t)blockIdx.x * THREADS + threadIdx.x; quad < quads;
       quad += (int64_t)gridDim.x * THREADS) {
    const ep_random4 words = ep_dropout_words(drop.seed, step, drop.layer, quad);
#pragma unroll
    for (int i = 0; i < QUAD; i++) {
      const int64_t at = QUAD * quad + i - first;
      if (at < 0 || at >= count) continue;
      const int64_t row = at >> 32 ? at / drop.columns : (uint32_t)at / (uint32_t)drop.columns;
      const int64_t place = row * pitch + (at - row * drop.columns);
      const float factor = ep_dropout_word_keeps(words.word[i], drop.p) ? scale : 0;
      float of = (float)x[place], to;
      number_activate(op, factor, of, to);
      x[place] = (T)of;
      y[place] = (T)to;
    }
  }
}

template <typename T>
static void activate_launch(cudaStream_t stream, const ep_op *op, const ep_gemm_dropout *dropout,
                            int64_t rows, int64_t pitch, T *x, T *y) {
  const int64_t count = dropout->drops ? rows * dropout->columns + QUAD : rows * pitch;
  const unsigned int blocks = ep_cuda_blocks(count, QUAD * THREADS);
  activation_choose(op->type, [&](auto type) {
    constexpr ep_layer_type TYPE = decltype(type)::value;
    if (dropout->drops)
      activate_dropping<T, TYPE><<<blocks, THREADS, 0, stream>>>(*op, *dropout, rows, pitch, x, y);
    else
      activate<T, TYPE><<<blocks, THREADS, 0, stream>>>(*op, count, x, y);
  });
}

cudaError_t ep_gemm_activate(cudaStream_t stream, bool half, const ep_op *op,
                             const ep_gemm_dropout *dropout, int64_t rows, int64_t pitch, void *x,
                             void *y) {
  if (half)
    activate_launch(stream, op, dropout, rows, pitch, (half_number *)x, (half_number *)y);
  else
    activate_launch(stream, op, dropout, rows, pitch, (float *)x, (float *)y);
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

/* What a gradient is multiplied by: dy/dx, or relu's from y, or 1. */
template <typename T> struct factors {
  const T *of; /* numbers [rows, pitch]; NULL: 1 */
  bool is_y;

  __device__ explicit factors(const ep_gemm_derivation &d)
      : of((const T *)(d.derivative ? d.derivative : d.y)), is_y(!d.derivative) {}
  __device__ float at(float number) const {
    if (!of) return 1;
    return is_y ? ep_relu_derivative(number) : number;
  }
};

/* blockIdx.x: 32 * N columns; blockIdx.y: a slice of the rows. from: [rows, from_pitch]. */
template <typename S, typename T, int N>
static __global__ void __launch_bounds__(THREADS)
    derive(ep_gemm_derivation d, const S *from, int64_t from_pitch) {
  int64_t base = (int64_t)blockIdx.x * WARP * N, column = base + threadIdx.x * N;
  int64_t first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const factors<T> factor(d);
  T *grad = (T *)d.grad;
  float sums[N] = {};
  for (int64_t base_row = first + threadIdx.y; column < d.pitch && base_row < last;
       base_row += DEEP * LINES) {
    pack<S, N> given[DEEP] = {};
    pack<T, N> own[DEEP] = {};
#pragma unroll
    for (int i = 0; i < DEEP; i++) { /* all that is read, before anything is written */
      int64_t row = base_row + i * LINES, at = row * d.pitch + column;
      if (row >= last) break;
      if (column < d.columns) given[i] = load<S, N>(from + row * from_pitch + column);
      if (factor.of) own[i] = load<T, N>(factor.of + at);
    }
#pragma unroll
    for (int i = 0; i < DEEP; i++) {
      int64_t row = base_row + i * LINES;
      float to[N];
      if (row >= last) break;
#pragma unroll
      for (int n = 0; n < N; n++) {
        to[n] = (float)given[i].of[n] * factor.at((float)own[i].of[n]);
        sums[n] += to[n];
      }
      store<N>(grad + row * d.pitch + column, to);
    }
  }
  if (d.sums) lines_sum<N>(sums, base, d.columns, d.sums + blockIdx.y * d.columns);
}

/* The same for float32 whose transpose is wanted: a tile at a time. */
static __global__ void __launch_bounds__(THREADS)
    derive_turning(ep_gemm_derivation d, const float *from, int64_t from_pitch) {
  __shared__ tile held;
  int64_t base = (int64_t)blockIdx.x * TILE, column = base + threadIdx.x, first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const factors<float> factor(d);
  float *grad = (float *)d.grad, sums[1] = {};
  for (int64_t row = first; row < last; row += TILE) {
    float given[TILE / LINES] = {}, own[TILE / LINES] = {};
#pragma unroll
    for (int j = 0; j < TILE / LINES; j++) { /* all that is read, before anything is written */
      int64_t at = row + threadIdx.y + j * LINES;
      if (column >= d.columns || at >= last) continue;
      given[j] = from[at * from_pitch + column];
      if (factor.of) own[j] = factor.of[at * d.pitch + column];
    }
#pragma unroll
    for (int j = 0; j < TILE / LINES; j++) {
      int64_t at = (row + threadIdx.y + j * LINES) * d.pitch + column;
      const float value = given[j] * factor.at(own[j]);
      if (column >= d.columns || row + threadIdx.y + j * LINES >= last) continue;
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

static int64_t from_pitch_of(const ep_gemm_derivation *d) {
  return d->plain ? d->columns : d->pitch;
}

template <typename S, typename T, int N>
static void derive_launch(cudaStream_t stream, const ep_gemm_derivation *d) {
  const int64_t width = WARP * N;
  const dim3 grid((unsigned int)((d->pitch + width - 1) / width), (unsigned int)d->slices);
  derive<S, T, N><<<grid, dim3(WARP, LINES), 0, stream>>>(*d, (const S *)d->from, from_pitch_of(d));
}

static void turning_launch(cudaStream_t stream, const ep_gemm_derivation *d) {
  const dim3 grid((unsigned int)((d->columns + TILE - 1) / TILE), (unsigned int)d->slices);
  derive_turning<<<grid, dim3(WARP, LINES), 0, stream>>>(*d, (const float *)d->from,
                                                         from_pitch_of(d));
}

/* Of few rows, fewer columns a thread: what counts is how much each has to wait for. */
static bool is_small(const ep_gemm_derivation *d) {
  const int64_t small = 1 << 20;
  return d->rows * d->pitch < small;
}

cudaError_t ep_gemm_derive(cudaStream_t stream, const ep_gemm_derivation *d) {
  if (d->transposed)
    turning_launch(stream, d);
  else if (d->half && d->plain)
    derive_launch<float, half_number, 1>(stream, d);
  else if (d->half && is_small(d)) /* columns that are no multiple of 8 are followed by zeros */
    derive_launch<half_number, half_number, 2>(stream, d);
  else if (d->half)
    derive_launch<half_number, half_number, 8>(stream, d);
  else if (d->pitch % 4 == 0 && d->columns % 4 == 0 && !is_small(d))
    derive_launch<float, float, 4>(stream, d);
  else
    derive_launch<float, float, 1>(stream, d);
  return cudaGetLastError();
}
