/* Embeddings: rows of a table, chosen by whole numbers, behind numbers that stay what they are. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = 256, WARPS = THREADS / WARP };

/* Of an op: numbers, columns behind them, the vector's size, the table's rows. */
typedef struct {
  int64_t numbers, columns, dimension, embeddings;
} table;

static table table_of(const ep_op *op) {
  return {op->numbers, ep_op_columns(op), ep_op_dimension(op), op->embeddings};
}

/* The data are checked where they come from; nothing else may reach beyond the table. */
static __device__ int64_t place_of(float x, int64_t embeddings) {
  int64_t place = (int64_t)x;
  return place < 0 ? 0 : place < embeddings ? place : embeddings - 1;
}

/* Index: of 32 bits where all of y fits, since its divisions take a fifth of the time. */
template <typename Index>
static __global__ void forward(Index rows, table of, const float *x, const float *weight,
                               float *y) {
  const Index numbers = (Index)of.numbers, dimension = (Index)of.dimension;
  const Index columns = numbers + (Index)of.columns;
  const Index width = numbers + (Index)of.columns * dimension, count = rows * width;
  const Index stride = (Index)gridDim.x * THREADS;
  for (Index at = (Index)blockIdx.x * THREADS + threadIdx.x; at < count;) {
    const Index row = at / width, i = at - row * width;
    const float *from = x + row * columns;
    if (i < numbers) {
      y[at] = from[i];
    } else {
      const Index column = (i - numbers) / dimension, j = i - numbers - column * dimension;
      y[at] = weight[place_of(from[numbers + column], of.embeddings) * of.dimension + j];
    }
    if (count - at <= stride) return; /* at + stride may be beyond the type */
    at += stride;
  }
}

cudaError_t ep_cuda_embedding_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *weight, float *y) {
  const int64_t count = rows * op->out_features;
  const unsigned int blocks = ep_cuda_blocks(count, THREADS);
  if (count <= UINT32_MAX)
    forward<uint32_t><<<blocks, THREADS, 0, stream>>>((uint32_t)rows, table_of(op), x, weight, y);
  else
    forward<int64_t><<<blocks, THREADS, 0, stream>>>(rows, table_of(op), x, weight, y);
  return cudaGetLastError();
}

/* The looked-up cell `place` of all rows lies at x[…]; what came of it begins at grad[…]. */
static __device__ int64_t cell_of(int64_t place, table of) {
  return place / of.columns * (of.numbers + of.columns) + of.numbers + place % of.columns;
}
static __device__ int64_t grad_of(int64_t place, table of) {
  return place / of.columns * (of.numbers + of.columns * of.dimension) + of.numbers +
         place % of.columns * of.dimension;
}

/* A lane has so many numbers of the vector, and a warp looks at so many groups of cells at once. */
enum { VALUES = 4, GROUPS = 4 };

/* Adds, in their order, what came of cells first … end - 1 that hold number `mine`: to each lane's
 * numbers lane + from, lane + from + WARP, … of the vector. */
static __device__ void cells_add(table of, const float *x, const float *grad, int64_t mine,
                                 int64_t first, int64_t end, int64_t from, float sum[VALUES]) {
  const int lane = threadIdx.x % WARP;
  for (int64_t base = first; base < end; base += GROUPS * WARP) {
    unsigned int found[GROUPS];
#pragma unroll
    for (int group = 0; group < GROUPS; group++) {
      const int64_t place = base + group * WARP + lane;
      found[group] = __ballot_sync(
          ALL_LANES, place < end && place_of(x[cell_of(place, of)], of.embeddings) == mine);
    }
#pragma unroll
    for (int group = 0; group < GROUPS; group++)
      for (unsigned int left = found[group]; left; left &= left - 1) {
        const float *cell = grad + grad_of(base + group * WARP + __ffs(left) - 1, of) + from + lane;
#pragma unroll
        for (int i = 0; i < VALUES; i++)
          if (from + lane + i * WARP < of.dimension) sum[i] += cell[i * WARP];
      }
  }
}

/* A block an embedding and a slice of the cells, of which each warp takes a part. The slice's sum
 * is that of its warps, in their order. */
static __global__ void weights(int64_t count, table of, const float *x, const float *grad,
                               float *gradient) {
  __shared__ float sums[WARPS][VALUES * WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int64_t parts = (int64_t)gridDim.y * WARPS, part = (int64_t)blockIdx.y * WARPS + warp;
  const int64_t first = count * part / parts, end = count * (part + 1) / parts;
  float *out = gradient + blockIdx.y * of.embeddings * of.dimension;
  for (int64_t mine = blockIdx.x; mine < of.embeddings; mine += gridDim.x)
    for (int64_t from = 0; from < of.dimension; from += VALUES * WARP) {
      float sum[VALUES] = {0};
      cells_add(of, x, grad, mine, first, end, from, sum);
      for (int i = 0; i < VALUES; i++) sums[warp][i * WARP + lane] = sum[i];
      __syncthreads();
      const int at = threadIdx.x;
      if (at < VALUES * WARP && from + at < of.dimension) {
        float all = 0;
        for (int i = 0; i < WARPS; i++) all += sums[i][at];
        out[mine * of.dimension + from + at] = all;
      }
      __syncthreads(); /* the sums are read before the next ones are written */
    }
}

cudaError_t ep_cuda_embedding_weights(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *grad, int slices,
                                      float *gradient) {
  const dim3 blocks(ep_cuda_blocks(op->embeddings, 1), (unsigned int)slices);
  weights<<<blocks, THREADS, 0, stream>>>(rows * ep_op_columns(op), table_of(op), x, grad,
                                          gradient);
  return cudaGetLastError();
}
