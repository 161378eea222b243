/* Embeddings: rows of a table, chosen by whole numbers. */
#include "kernels/cuda/layers/kernels.h"
#include "kernels/cuda/layers/launch.cuh"

enum { THREADS = 256, WARPS = THREADS / WARP };

/* The data are checked where they come from; nothing else may reach beyond the table. */
static __device__ int64_t place_of(float x, int64_t embeddings) {
  int64_t place = (int64_t)x;
  return place < 0 ? 0 : place < embeddings ? place : embeddings - 1;
}

static __global__ void forward(int64_t count, int64_t dimension, int64_t embeddings, const float *x,
                               const float *weight, float *y) {
  for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < count;
       at += (int64_t)gridDim.x * THREADS)
    y[at] = weight[place_of(x[at / dimension], embeddings) * dimension + at % dimension];
}

cudaError_t ep_cuda_embedding_forward(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *weight, float *y) {
  int64_t count = rows * op->out_features;
  forward<<<ep_cuda_blocks(count, THREADS), THREADS, 0, stream>>>(
      count, op->out_features / op->in_features, op->embeddings, x, weight, y);
  return cudaGetLastError();
}

/* A block an embedding: it looks for its number along x, and its threads, each at a number of the
 * vector, add what they find in that order. */
static __global__ void weights(int64_t count, int64_t dimension, int64_t embeddings, const float *x,
                               const float *grad, float *gradient) {
  __shared__ unsigned int found[WARPS];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  for (int64_t mine = blockIdx.x; mine < embeddings; mine += gridDim.x)
    for (int64_t first = 0; first < dimension; first += THREADS) {
      int64_t at = first + threadIdx.x;
      float sum = 0;
      for (int64_t base = 0; base < count; base += THREADS) {
        int64_t place = base + threadIdx.x;
        bool is = place < count && place_of(x[place], embeddings) == mine;
        unsigned int of_warp = __ballot_sync(ALL_LANES, is);
        if (!__syncthreads_or(is)) continue;
        if (lane == 0) found[warp] = of_warp;
        __syncthreads();
        for (int i = 0; i < WARPS && at < dimension; i++)
          for (unsigned int left = found[i]; left; left &= left - 1)
            sum += grad[(base + i * WARP + __ffs(left) - 1) * dimension + at];
      }
      if (at < dimension) gradient[mine * dimension + at] = sum;
    }
}

cudaError_t ep_cuda_embedding_weights(cudaStream_t stream, const ep_op *op, int64_t rows,
                                      const float *x, const float *grad, float *gradient) {
  weights<<<ep_cuda_blocks(op->embeddings, 1), THREADS, 0, stream>>>(
      rows * op->in_features, op->out_features / op->in_features, op->embeddings, x, grad,
      gradient);
  return cudaGetLastError();
}
