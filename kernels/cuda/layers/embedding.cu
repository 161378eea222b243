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

static __global__ void forward(int64_t rows, table of, const float *x, const float *weight,
                               float *y) {
  const int64_t width = of.numbers + of.columns * of.dimension;
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < rows * width;
       at += (int64_t)gridDim.x * THREADS) {
    const float *row = x + at / width * (of.numbers + of.columns);
    int64_t i = at % width, j = i - of.numbers;
    y[at] =
        j < 0 ? row[i]
              : weight[place_of(row[of.numbers + j / of.dimension], of.embeddings) * of.dimension +
                       j % of.dimension];
  }
}

cudaError_t ep_cuda_embedding_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *weight, float *y) {
  forward<<<ep_cuda_blocks(rows * op->out_features, THREADS), THREADS, 0, stream>>>(
      rows, table_of(op), x, weight, y);
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

/* A block an embedding: it looks for its number along x, and its threads, each at a number of the
 * vector, add what they find in that order. */
static __global__ void weights(int64_t count, table of, const float *x, const float *grad,
                               float *gradient) {
  __shared__ unsigned int found[WARPS];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  for (int64_t mine = blockIdx.x; mine < of.embeddings; mine += gridDim.x)
    for (int64_t first = 0; first < of.dimension; first += THREADS) {
      int64_t at = first + threadIdx.x;
      float sum = 0;
      for (int64_t base = 0; base < count; base += THREADS) {
        int64_t place = base + threadIdx.x;
        bool is = place < count && place_of(x[cell_of(place, of)], of.embeddings) == mine;
        unsigned int of_warp = __ballot_sync(ALL_LANES, is);
        if (!__syncthreads_or(is)) continue;
        if (lane == 0) found[warp] = of_warp;
        __syncthreads();
        for (int i = 0; i < WARPS && at < of.dimension; i++)
          for (unsigned int left = found[i]; left; left &= left - 1)
            sum += grad[grad_of(base + i * WARP + __ffs(left) - 1, of) + at];
      }
      if (at < of.dimension) gradient[mine * of.dimension + at] = sum;
    }
}

cudaError_t ep_cuda_embedding_weights(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *grad, float *gradient) {
  weights<<<ep_cuda_blocks(op->embeddings, 1), THREADS, 0, stream>>>(
      rows * ep_op_columns(op), table_of(op), x, grad, gradient);
  return cudaGetLastError();
}
