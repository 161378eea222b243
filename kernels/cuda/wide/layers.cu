/* Between two matrix products: activations, their derivatives with the sums that biases want, and
 * the way back of a layer too thin for a product. Sums over rows are cut into slices, each added in
 * a fixed order; the update adds the slices. */
#include <cuda_bf16.h>

#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/wide/kernels.h"
#include "kernels/formulas/activations.h"

typedef __nv_bfloat16 half_number;

enum { LINES = 8, THREADS = EP_CUDA_WARP * LINES, TILE = 32 };

/* Several neighbours, read and written at once. */
template <typename T, int N> struct alignas(sizeof(T) * N) pack { T of[N]; };

template <typename T, int N> static __device__ pack<T, N> load(const T *from) {
  return *(const pack<T, N> *)from;
}

static __device__ void slice_rows(int64_t rows, int slice, int slices, int64_t *first,
                                  int64_t *last) {
  *first = rows * slice / slices;
  *last = rows * (slice + 1) / slices;
}

/* dy/dx, from y alone where there is no `before`; relu is told apart early, as the most usual. */
template <bool relu>
static __device__ float derivative(const ep_op &op, float y, const float *before) {
  if (relu) return ep_relu_derivative(y);
  return ep_activation_derivative(&op, before ? *before : y, y);
}

/* --- forward ------------------------------------------------------------------------------- */

template <typename T> static __global__ void activate(ep_op op, int64_t count, const T *x, T *y) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    y[at] = (T)ep_activation(&op, (float)x[at]);
}

cudaError_t ep_wide_activate(cudaStream_t stream, bool half, const ep_op *op, int64_t rows,
                             int64_t pitch, const void *x, void *y) {
  unsigned int blocks = ep_cuda_blocks(rows * pitch, THREADS);
  if (half)
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

cudaError_t ep_wide_finish(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                           const float *sums, const float *bias, float *output) {
  add_bias<<<ep_cuda_blocks(rows * columns, THREADS), THREADS, 0, stream>>>(rows, columns, pitch,
                                                                            sums, bias, output);
  return cudaGetLastError();
}

/* A tile as it lies in shared memory, to be read along its other side. */
typedef float tile[TILE][TILE + 1];

/* The block's warps write a tile's columns as rows. */
static __device__ void tile_turn(const tile &of, int64_t rows, int64_t columns, int64_t row,
                                 int64_t column, float *turned) {
  for (int i = threadIdx.y; i < TILE; i += LINES)
    if (column + i < columns && row + threadIdx.x < rows)
      turned[(column + i) * rows + row + threadIdx.x] = of[threadIdx.x][i];
}

static __global__ void turn(int64_t rows, int64_t columns, int64_t pitch, const float *x,
                            float *turned) {
  __shared__ tile held;
  int64_t column = (int64_t)blockIdx.x * TILE;
  for (int64_t row = (int64_t)blockIdx.y * TILE; row < rows; row += (int64_t)gridDim.y * TILE) {
    for (int i = threadIdx.y; i < TILE; i += LINES)
      if (column + threadIdx.x < columns && row + i < rows)
        held[i][threadIdx.x] = x[(row + i) * pitch + column + threadIdx.x];
    __syncthreads();
    tile_turn(held, rows, columns, row, column, turned);
    __syncthreads();
  }
}

static dim3 tiles_of(int64_t rows, int64_t columns) {
  int64_t high = (rows + TILE - 1) / TILE;
  return dim3((unsigned int)((columns + TILE - 1) / TILE),
              (unsigned int)(high < 65535 ? high : 65535));
}

cudaError_t ep_wide_turn(cudaStream_t stream, int64_t rows, int64_t columns, int64_t pitch,
                         const float *x, float *turned) {
  turn<<<tiles_of(rows, columns), dim3(EP_CUDA_WARP, LINES), 0, stream>>>(rows, columns, pitch, x,
                                                                          turned);
  return cudaGetLastError();
}

/* --- derivatives --------------------------------------------------------------------------- */

/* The sums of N columns a lane, over the block's lines, to sums[column]. */
template <int N>
static __device__ void lines_sum(const float (&of)[N], int64_t first_column, int64_t columns,
                                 float *sums) {
  __shared__ float held[LINES][EP_CUDA_WARP * N];
  for (int i = 0; i < N; i++) held[threadIdx.y][threadIdx.x * N + i] = of[i];
  __syncthreads();
  for (int at = threadIdx.y * EP_CUDA_WARP + threadIdx.x; at < EP_CUDA_WARP * N; at += THREADS) {
    if (first_column + at >= columns) continue;
    float sum = 0;
    for (int line = 0; line < LINES; line++) sum += held[line][at];
    sums[first_column + at] = sum;
  }
}

/* blockIdx.x: 32 * N columns; blockIdx.y: a slice of the rows. from: [rows, from_pitch]. */
template <typename S, typename T, int N, bool relu>
static __global__ void __launch_bounds__(THREADS)
    derive(ep_wide_derivation d, const S *from, int64_t from_pitch) {
  int64_t base = (int64_t)blockIdx.x * EP_CUDA_WARP * N, column = base + threadIdx.x * N;
  int64_t first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const T *y = (const T *)d.y, *before = (const T *)d.before;
  T *grad = (T *)d.grad;
  float sums[N] = {};
  if (column < d.pitch)
#pragma unroll 4
    for (int64_t row = first + threadIdx.y; row < last; row += LINES) {
      pack<S, N> given = {};
      if (column < d.columns) given = load<S, N>(from + row * from_pitch + column);
      pack<T, N> own = {}, argument = {}, to;
      if (y) own = load<T, N>(y + row * d.pitch + column);
      if (before) argument = load<T, N>(before + row * d.pitch + column);
#pragma unroll
      for (int i = 0; i < N; i++) {
        float value = (float)given.of[i], x = (float)argument.of[i];
        if (y) value *= derivative<relu>(d.activation, (float)own.of[i], before ? &x : NULL);
        to.of[i] = (T)value;
        sums[i] += value;
      }
      *(pack<T, N> *)(grad + row * d.pitch + column) = to;
    }
  if (d.sums) lines_sum<N>(sums, base, d.columns, d.sums + blockIdx.y * d.columns);
}

/* The same for float32 whose transpose is wanted: a tile at a time. */
template <bool relu>
static __global__ void __launch_bounds__(THREADS)
    derive_turning(ep_wide_derivation d, const float *from, int64_t from_pitch) {
  __shared__ tile held;
  int64_t base = (int64_t)blockIdx.x * TILE, column = base + threadIdx.x, first, last;
  slice_rows(d.rows, blockIdx.y, gridDim.y, &first, &last);
  const float *y = (const float *)d.y, *before = (const float *)d.before;
  float *grad = (float *)d.grad, sums[1] = {};
  for (int64_t row = first; row < last; row += TILE) {
#pragma unroll
    for (int i = threadIdx.y; i < TILE; i += LINES) {
      if (column >= d.columns || row + i >= last) continue;
      float value = from[(row + i) * from_pitch + column];
      int64_t at = (row + i) * d.pitch + column;
      if (y) value *= derivative<relu>(d.activation, y[at], before ? &before[at] : NULL);
      if (grad) grad[at] = value;
      held[i][threadIdx.x] = value;
      sums[0] += value;
    }
    __syncthreads();
    for (int i = threadIdx.y; i < TILE; i += LINES)
      if (base + i < d.columns && row + threadIdx.x < last)
        d.turned[(base + i) * d.rows + row + threadIdx.x] = held[threadIdx.x][i];
    __syncthreads();
  }
  if (d.sums) lines_sum<1>(sums, base, d.columns, d.sums + blockIdx.y * d.columns);
}

template <typename S, typename T, int N>
static void derive_launch(cudaStream_t stream, const ep_wide_derivation *d) {
  dim3 block(EP_CUDA_WARP, LINES), grid(1, EP_WIDE_SLICES);
  int64_t width = EP_CUDA_WARP * N, from_pitch = d->plain ? d->columns : d->pitch;
  grid.x = (unsigned int)((d->pitch + width - 1) / width);
  if (d->activation.type == EP_LAYER_RELU)
    derive<S, T, N, true><<<grid, block, 0, stream>>>(*d, (const S *)d->from, from_pitch);
  else
    derive<S, T, N, false><<<grid, block, 0, stream>>>(*d, (const S *)d->from, from_pitch);
}

static void turning_launch(cudaStream_t stream, const ep_wide_derivation *d) {
  dim3 block(EP_CUDA_WARP, LINES), grid(1, EP_WIDE_SLICES);
  int64_t from_pitch = d->plain ? d->columns : d->pitch;
  grid.x = (unsigned int)((d->columns + TILE - 1) / TILE);
  if (d->activation.type == EP_LAYER_RELU)
    derive_turning<true><<<grid, block, 0, stream>>>(*d, (const float *)d->from, from_pitch);
  else
    derive_turning<false><<<grid, block, 0, stream>>>(*d, (const float *)d->from, from_pitch);
}

cudaError_t ep_wide_derive(cudaStream_t stream, const ep_wide_derivation *d) {
  if (d->turned)
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

/* --- thin layers --------------------------------------------------------------------------- */

enum { THIN_THREADS = 128, THIN_ROWS = 64 };

/* blockIdx.x: THIN_THREADS * N inputs, N a thread; blockIdx.y: a slice of the rows. */
template <typename T, int OUT, int N, bool relu>
static __global__ void __launch_bounds__(THIN_THREADS) thin_back(ep_wide_thin t) {
  __shared__ float grads[THIN_ROWS][OUT];
  int64_t column = ((int64_t)blockIdx.x * THIN_THREADS + threadIdx.x) * N, first, last;
  slice_rows(t.rows, blockIdx.y, gridDim.y, &first, &last);
  const T *x = (const T *)t.x, *before = (const T *)t.before;
  T *grad_x = (T *)t.grad_x;
  bool is = column < t.pitch;
  float weight[OUT][N], gradient[OUT][N] = {}, sums[N] = {}, bias_sum = 0;
#pragma unroll
  for (int o = 0; o < OUT; o++)
#pragma unroll
    for (int i = 0; i < N; i++)
      weight[o][i] = o < t.out && column + i < t.in ? t.weight[o * t.in + column + i] : 0.0f;
  for (int64_t base = first; base < last; base += THIN_ROWS) {
    int rows = (int)(last - base < THIN_ROWS ? last - base : THIN_ROWS);
    __syncthreads(); /* grads may still be read for the rows before */
    for (int at = threadIdx.x; at < rows * OUT; at += THIN_THREADS) {
      int row = at / OUT, o = at % OUT;
      grads[row][o] = o < t.out ? t.grad[(base + row) * t.out + o] : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x < OUT)
      for (int row = 0; row < rows; row++) bias_sum += grads[row][threadIdx.x];
    if (!is) continue;
#pragma unroll 8
    for (int row = 0; row < rows; row++) {
      int64_t at = (base + row) * t.pitch + column;
      pack<T, N> given = load<T, N>(x + at), argument = {}, to;
      if (!relu && before) argument = load<T, N>(before + at);
#pragma unroll
      for (int i = 0; i < N; i++) {
        float value = 0, own = (float)given.of[i], asked = (float)argument.of[i];
#pragma unroll
        for (int o = 0; o < OUT; o++) {
          value += grads[row][o] * weight[o][i];
          gradient[o][i] += grads[row][o] * own;
        }
        if (t.derived) value *= derivative<relu>(t.activation, own, before ? &asked : NULL);
        to.of[i] = (T)value;
        sums[i] += value;
      }
      if (grad_x) *(pack<T, N> *)(grad_x + at) = to;
    }
  }
  if (t.bias_sums && blockIdx.x == 0 && threadIdx.x < t.out)
    t.bias_sums[blockIdx.y * t.out + threadIdx.x] = bias_sum;
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (!is) break;
    if (t.x_sums && column + i < t.in) t.x_sums[blockIdx.y * t.in + column + i] = sums[i];
#pragma unroll
    for (int o = 0; o < OUT; o++)
      if (t.gradient && o < t.out)
        t.gradient[(blockIdx.y * t.out + o) * t.pitch + column + i] = gradient[o][i];
  }
}

template <typename T, int OUT, int N>
static void thin_launch(cudaStream_t stream, const ep_wide_thin *t) {
  int64_t width = THIN_THREADS * N;
  dim3 grid((unsigned int)((t->pitch + width - 1) / width), EP_WIDE_SLICES);
  if (t->derived && t->activation.type == EP_LAYER_RELU)
    thin_back<T, OUT, N, true><<<grid, THIN_THREADS, 0, stream>>>(*t);
  else
    thin_back<T, OUT, N, false><<<grid, THIN_THREADS, 0, stream>>>(*t);
}

template <typename T, int N> static void thin_choose(cudaStream_t stream, const ep_wide_thin *t) {
  if (t->out <= 4)
    thin_launch<T, 4, N>(stream, t);
  else if (t->out <= 10)
    thin_launch<T, 10, N>(stream, t);
  else
    thin_launch<T, EP_WIDE_THIN_OUTPUTS, N>(stream, t);
}

cudaError_t ep_wide_thin_back(cudaStream_t stream, const ep_wide_thin *thin) {
  if (thin->half)
    thin_choose<half_number, 2>(stream, thin);
  else if (thin->pitch % 2 == 0)
    thin_choose<float, 2>(stream, thin);
  else
    thin_choose<float, 1>(stream, thin);
  return cudaGetLastError();
}
