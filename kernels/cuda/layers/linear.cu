/* Linear layers with so few inputs, outputs or rows that a tiled matrix product has nothing to
 * tile. Each output has one owner (a thread or a warp) that sums in a fixed order. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"
#include "kernels/formulas/activations.h"

enum { THREADS = 256, WARPS = THREADS / WARP, THREAD_SUMS_AT_MOST = 32 };

/* Of any activation, once for all: as many copies of its code as a kernel unrolls would exceed the
 * instruction cache, and each be run once. */
static __device__ __noinline__ float derivative_of(ep_layer_type type, float negative_slope,
                                                   float alpha, float beta, float threshold,
                                                   float x, float y) {
  ep_op op = {};
  op.type = type;
  op.negative_slope = negative_slope;
  op.alpha = alpha;
  op.beta = beta;
  op.threshold = threshold;
  return ep_activation_derivative(&op, x, y);
}

/* The row that number `at` is in, of rows of `columns`: 64 bits divide slowly. */
static __device__ __forceinline__ int64_t row_of(int64_t at, int64_t columns) {
  const bool small = at >> 32 == 0 && columns >> 32 == 0;
  return small ? (uint32_t)at / (uint32_t)columns : at / columns;
}

static __device__ void output_write(const ep_cuda_linear_forward &linear, int64_t at, float value) {
  if (linear.output) linear.output[at] = value;
  if (linear.activated) linear.activated[at] = ep_activation(&linear.activation, value);
}

/* A thread an output: for few inputs. */
static __global__ void forward_by_thread(ep_cuda_linear_forward linear) {
  kernels_overlap();
  int64_t stride = (int64_t)gridDim.x * THREADS;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < linear.rows * linear.out;
       at += stride) {
    const int64_t row = row_of(at, linear.out), o = at - row * linear.out;
    const float *x = linear.x + row * linear.in, *weight = linear.weight + o * linear.in;
    float sum = linear.bias ? linear.bias[o] : 0;
#pragma unroll 8
    for (int64_t i = 0; i < linear.in; i++) sum += x[i] * weight[i];
    output_write(linear, at, sum);
  }
}

/* A warp an output, its lanes along the inputs. */
static __global__ void forward_by_warp(ep_cuda_linear_forward linear) {
  kernels_overlap();
  int lane = threadIdx.x % WARP;
  int64_t stride = (int64_t)gridDim.x * WARPS;
  for (int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; at < linear.rows * linear.out;
       at += stride) {
    const int64_t row = row_of(at, linear.out), o = at - row * linear.out;
    const float *x = linear.x + row * linear.in, *weight = linear.weight + o * linear.in;
    const float bias = linear.bias ? linear.bias[o] : 0; /* it is on its way during the sum */
    float sum = 0;
    for (int64_t i = lane; i < linear.in; i += WARP) sum += x[i] * weight[i];
    sum = warp_sum(sum);
    if (lane == 0) output_write(linear, at, sum + bias);
  }
}

cudaError_t ep_cuda_linear_forward_run(cudaStream_t stream, const ep_cuda_linear_forward *linear) {
  int64_t outputs = linear->rows * linear->out;
  if (linear->in <= THREAD_SUMS_AT_MOST)
    ep_cuda_queue(stream, ep_cuda_blocks(outputs, THREADS), THREADS, 0, forward_by_thread, *linear);
  else
    ep_cuda_queue(stream, ep_cuda_blocks(outputs, WARPS), THREADS, 0, forward_by_warp, *linear);
  return cudaGetLastError();
}

/* The share of rows first, first + step … below last in the gradient of one parameter. */
static __device__ float parameter_sum(const ep_cuda_linear_backward &linear, int64_t parameter,
                                      int64_t first, int64_t last, int step) {
  int64_t weights = linear.out * linear.in;
  float sum = 0;
  if (parameter < weights) {
    const int64_t o = row_of(parameter, linear.in);
    const float *grad = linear.grad + o, *x = linear.x + (parameter - o * linear.in);
#pragma unroll 8
    for (int64_t row = first; row < last; row += step)
      sum += grad[row * linear.out] * x[row * linear.in];
  } else {
    const float *grad = linear.grad + (parameter - weights);
#pragma unroll 8
    for (int64_t row = first; row < last; row += step) sum += grad[row * linear.out];
  }
  return sum;
}

/* A warp a parameter and slice, its lanes along the rows. `block` of `blocks`. */
static __device__ void parameters_backward(const ep_cuda_linear_backward &linear, int64_t count,
                                           unsigned int block, unsigned int blocks) {
  const int lane = threadIdx.x % WARP;
  for (int64_t at = (int64_t)block * WARPS + threadIdx.x / WARP; at < count * linear.slices;
       at += (int64_t)blocks * WARPS) {
    const int64_t slice = row_of(at, count);
    int64_t first, last;
    slice_rows(linear.rows, (int)slice, linear.slices, &first, &last);
    const float sum = warp_sum(parameter_sum(linear, at - slice * count, first + lane, last, WARP));
    if (lane == 0) linear.gradient[at] = sum;
  }
}

/* A thread an input: neighbours read neighbouring weights. `block` of `blocks`. */
static __device__ void input_backward(const ep_cuda_linear_backward &linear, unsigned int block,
                                      unsigned int blocks) {
  for (int64_t at = (int64_t)block * THREADS + threadIdx.x; at < linear.rows * linear.in;
       at += (int64_t)blocks * THREADS) {
    const int64_t row = row_of(at, linear.in), i = at - row * linear.in;
    const float *grad = linear.grad + row * linear.out;
    float sum = 0;
#pragma unroll 8
    for (int64_t o = 0; o < linear.out; o++) sum += grad[o] * linear.weight[o * linear.in + i];
    if (linear.before)
      sum *= ep_activation_derivative(&linear.activation, linear.before[at], linear.x[at]);
    linear.grad_x[at] = sum;
  }
}

/* The first blocks do the parameters, the others the input. */
static __global__ void backward(ep_cuda_linear_backward linear, int64_t count,
                                unsigned int parameter_blocks) {
  kernels_overlap();
  if (blockIdx.x < parameter_blocks)
    parameters_backward(linear, count, blockIdx.x, parameter_blocks);
  else
    input_backward(linear, blockIdx.x - parameter_blocks, gridDim.x - parameter_blocks);
}

/* --- backward in tiles ---------------------------------------------------------------------- */

/* Where rows of inputs are wide, both gradients are products by tiles: all that a tile's sums take,
 * TILE_DEPTH of them at once, is read into shared memory side by side, so that the way to memory is
 * waited for once. A warp has four lines of a tile, a lane one column. */
enum { TILE_WARPS = 4, TILE_THREADS = TILE_WARPS * WARP, TILE_DEPTH = 64, FOUR = 4 };
enum { TILE_LINES = TILE_WARPS * FOUR, A_EACH = TILE_DEPTH * TILE_LINES / TILE_THREADS };
enum { B_EACH = TILE_DEPTH * WARP / TILE_THREADS };

/* The sums over k of a[k, line] b[k, column]. */
typedef struct {
  const float *a, *b;
  int64_t a_line, a_k,
      b_k; /* floats from one line or k to the next; from b's column to its next: 1 */
  int64_t depth;
  int lines, columns; /* in bounds; at most a tile's */
  bool ones;          /* b has one more column in bounds, which is all ones and not in memory */
} tile_product;

static __device__ __forceinline__ void tile_place(const tile_product &of, int i, int *k,
                                                  int *line) {
  const int at = i * TILE_THREADS + threadIdx.x;
  const bool along_k = of.a_k == 1; /* neighbours read neighbours */
  *k = along_k ? at % TILE_DEPTH : at / TILE_LINES;
  *line = along_k ? at / TILE_DEPTH : at % TILE_LINES;
}

/* This thread's share of the operands, from `first` of the depth on; zeros out of bounds. */
static __device__ __forceinline__ void tile_read(const tile_product &of, int64_t first,
                                                 float (&a)[A_EACH], float (&b)[B_EACH]) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
  for (int i = 0; i < A_EACH; i++) {
    int k, line;
    tile_place(of, i, &k, &line);
    const bool in_bounds = line < of.lines && first + k < of.depth;
    a[i] = in_bounds ? of.a[line * of.a_line + (first + k) * of.a_k] : 0.0f;
  }
#pragma unroll
  for (int i = 0; i < B_EACH; i++) {
    const int64_t k = first + i * TILE_WARPS + warp;
    b[i] = of.ones && lane == of.columns ? 1.0f : 0.0f;
    if (lane < of.columns && k < of.depth) b[i] = of.b[k * of.b_k + lane];
  }
}

/* sums: of this thread's lines, in the order of k. All threads of the block call. */
static __device__ __forceinline__ void tile_sums(const tile_product &of, float (&sums)[FOUR]) {
  __shared__ __align__(16) float held_a[TILE_DEPTH][TILE_LINES + FOUR];
  __shared__ float held_b[TILE_DEPTH][WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  float a[A_EACH], b[B_EACH];
  tile_read(of, 0, a, b);
  for (int64_t first = 0; first < of.depth; first += TILE_DEPTH) {
    __syncthreads(); /* what is held may still be read */
#pragma unroll
    for (int i = 0; i < A_EACH; i++) {
      int k, line;
      tile_place(of, i, &k, &line);
      held_a[k][line] = a[i];
    }
#pragma unroll
    for (int i = 0; i < B_EACH; i++) held_b[i * TILE_WARPS + warp][lane] = b[i];
    __syncthreads();
    const int64_t left = of.depth - first;
    if (left > TILE_DEPTH) tile_read(of, first + TILE_DEPTH, a, b);
    const int depth = left < TILE_DEPTH ? (int)left : TILE_DEPTH;
#pragma unroll 8
    for (int k = 0; k < depth; k++) {
      const float4 four = *(const float4 *)&held_a[k][FOUR * warp];
      const float factor = held_b[k][lane];
      sums[0] += four.x * factor;
      sums[1] += four.y * factor;
      sums[2] += four.z * factor;
      sums[3] += four.w * factor;
    }
  }
}

/* How many of `count` things there are from `first` on, at most `most`. */
static __device__ __forceinline__ int left_of(int64_t count, int64_t first, int most) {
  return count - first < most ? (int)(count - first) : most;
}

static __host__ __device__ inline int64_t tiles_of(int64_t count, int each) {
  return (count + each - 1) / each;
}

/* A tile of the gradient of the parameters: lines are outputs, columns inputs, behind which comes
 * the bias. */
static __device__ void parameters_tile(const ep_cuda_linear_backward &linear, unsigned int tile) {
  const unsigned int wide = (unsigned int)tiles_of(linear.in + linear.with_bias, WARP);
  const unsigned int high = (unsigned int)tiles_of(linear.out, TILE_LINES);
  const unsigned int slice = tile / wide / high;
  const int64_t o = (int64_t)(tile / wide % high) * TILE_LINES, i = (int64_t)(tile % wide) * WARP;
  int64_t first = 0, last = linear.rows;
  if (linear.slices > 1) slice_rows(linear.rows, (int)slice, linear.slices, &first, &last);
  const tile_product product = {linear.grad + first * linear.out + o,
                                linear.x + first * linear.in + i,
                                1,
                                linear.out,
                                linear.in,
                                last - first,
                                left_of(linear.out, o, TILE_LINES),
                                left_of(linear.in, i, WARP),
                                linear.with_bias};
  float sums[FOUR] = {};
  tile_sums(product, sums);
  const int lane = threadIdx.x % WARP;
  const int64_t weights = linear.out * linear.in;
  float *gradient = linear.gradient + slice * (weights + (linear.with_bias ? linear.out : 0));
#pragma unroll
  for (int n = 0; n < FOUR; n++) {
    const int line = FOUR * (threadIdx.x / WARP) + n;
    if (line >= product.lines) break;
    if (lane < product.columns)
      gradient[(o + line) * linear.in + i + lane] = sums[n];
    else if (linear.with_bias && lane == product.columns)
      gradient[weights + o + line] = sums[n];
  }
}

/* A tile of the gradient by the input: lines are rows, columns inputs. */
static __device__ void input_tile(const ep_cuda_linear_backward &linear, unsigned int tile) {
  const unsigned int wide = (unsigned int)tiles_of(linear.in, WARP);
  const int64_t row = (int64_t)(tile / wide) * TILE_LINES, i = (int64_t)(tile % wide) * WARP;
  const tile_product product = {linear.grad + row * linear.out,
                                linear.weight + i,
                                linear.out,
                                1,
                                linear.in,
                                linear.out,
                                left_of(linear.rows, row, TILE_LINES),
                                left_of(linear.in, i, WARP),
                                false};
  const int lane = threadIdx.x % WARP, line = FOUR * (threadIdx.x / WARP);
  const int64_t at = (row + line) * linear.in + i + lane;
  const int lines = lane < product.columns ? left_of(product.lines, line, FOUR) : 0;
  float sums[FOUR] = {}, before[FOUR], x[FOUR];
#pragma unroll
  for (int n = 0; n < FOUR; n++) { /* on its way during the sums */
    if (!linear.before || n >= lines) break;
    before[n] = linear.before[at + n * linear.in];
    x[n] = linear.x[at + n * linear.in];
  }
  tile_sums(product, sums);
#pragma unroll
  for (int n = 0; n < FOUR; n++) {
    if (n >= lines) break;
    const ep_op &of = linear.activation;
    if (linear.before)
      sums[n] *= derivative_of(of.type, of.negative_slope, of.alpha, of.beta, of.threshold,
                               before[n], x[n]);
    linear.grad_x[at + n * linear.in] = sums[n];
  }
}

/* The first tiles are the parameters', the others the input's. */
static __global__ void __launch_bounds__(TILE_THREADS, 4)
    backward_tiles(ep_cuda_linear_backward linear, unsigned int parameter_tiles,
                   unsigned int tiles) {
  kernels_overlap();
  for (unsigned int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
    if (tile < parameter_tiles)
      parameters_tile(linear, tile);
    else
      input_tile(linear, tile - parameter_tiles);
}

static cudaError_t tiles_run(cudaStream_t stream, const ep_cuda_linear_backward *linear) {
  int64_t parameter_tiles = 0, input_tiles = 0;
  if (linear->gradient)
    parameter_tiles = tiles_of(linear->in + linear->with_bias, WARP) *
                      tiles_of(linear->out, TILE_LINES) * linear->slices;
  if (linear->grad_x) input_tiles = tiles_of(linear->in, WARP) * tiles_of(linear->rows, TILE_LINES);
  const int64_t tiles = parameter_tiles + input_tiles;
  if (tiles > INT32_MAX) return cudaErrorInvalidValue; /* more than a GPU's memory */
  ep_cuda_queue(stream, ep_cuda_blocks(tiles, 1), TILE_THREADS, 0, backward_tiles, *linear,
                (unsigned int)parameter_tiles, (unsigned int)tiles);
  return cudaGetLastError();
}

cudaError_t ep_cuda_linear_backward_run(cudaStream_t stream,
                                        const ep_cuda_linear_backward *linear) {
  if (linear->by_tile) return tiles_run(stream, linear);
  int64_t count = linear->out * linear->in + (linear->with_bias ? linear->out : 0);
  unsigned int parameter_blocks = 0;
  if (linear->gradient) parameter_blocks = ep_cuda_blocks(count * linear->slices, WARPS);
  unsigned int input_blocks =
      linear->grad_x ? ep_cuda_blocks(linear->rows * linear->in, THREADS) : 0;
  ep_cuda_queue(stream, parameter_blocks + input_blocks, THREADS, 0, backward, *linear, count,
                parameter_blocks);
  return cudaGetLastError();
}

/* --- sums of columns ------------------------------------------------------------------------ */

/* 32 columns a block, 8 rows at a time; blockIdx.y is the slice. */
static __global__ void column_sums(int64_t rows, int64_t columns, const float *grad, float *sums) {
  kernels_overlap();
  __shared__ float of_row[WARPS][WARP];
  int lane = threadIdx.x, line = threadIdx.y;
  int64_t first, last;
  slice_rows(rows, blockIdx.y, gridDim.y, &first, &last);
  for (int64_t base = (int64_t)blockIdx.x * WARP; base < columns;
       base += (int64_t)gridDim.x * WARP) {
    int64_t column = base + lane;
    float sum = 0;
    if (column < columns)
#pragma unroll 8
      for (int64_t row = first + line; row < last; row += WARPS)
        sum += grad[row * columns + column];
    of_row[line][lane] = sum;
    __syncthreads();
    if (line == 0 && column < columns) {
      for (int other = 1; other < WARPS; other++) sum += of_row[other][lane];
      sums[blockIdx.y * columns + column] = sum;
    }
    __syncthreads();
  }
}

cudaError_t ep_cuda_column_sums(cudaStream_t stream, int64_t rows, int64_t columns,
                                const float *grad, int slices, float *sums) {
  dim3 grid(ep_cuda_blocks(columns, WARP), (unsigned int)slices);
  ep_cuda_queue(stream, grid, dim3(WARP, WARPS), 0, column_sums, rows, columns, grad, sums);
  return cudaGetLastError();
}
