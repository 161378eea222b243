/* The rows of a step, gathered from the training set where they lie: a warp a row. */
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/random.h"

enum { THREADS = 256, ROWS_A_BLOCK = THREADS / EP_CUDA_WARP };

static __global__ void take(ep_cuda_batch batch, int64_t rows, const ep_cuda_clock *clock) {
  __shared__ ep_permutation order;
  if (batch.shuffle && threadIdx.x == 0)
    order = ep_permutation_make(batch.seed, EP_RANDOM_SHUFFLE, (uint64_t)clock->epoch,
                                (uint64_t)batch.train_rows);
  __syncthreads();
  int lane = threadIdx.x % EP_CUDA_WARP;
  int64_t first = (int64_t)blockIdx.x * ROWS_A_BLOCK + threadIdx.x / EP_CUDA_WARP;
  const uint32_t *y = (const uint32_t *)batch.y;
  uint32_t *batch_y = (uint32_t *)batch.batch_y;
  for (int64_t row = first; row < rows; row += (int64_t)gridDim.x * ROWS_A_BLOCK) {
    int64_t from = clock->batch * batch.batch_size + row;
    if (batch.shuffle) from = ep_permutation_at(&order, (uint32_t)from);
    for (int64_t i = lane; i < batch.x_columns; i += EP_CUDA_WARP)
      batch.batch_x[row * batch.x_columns + i] = batch.x[from * batch.x_columns + i];
    for (int64_t i = lane; i < batch.y_columns; i += EP_CUDA_WARP)
      batch_y[row * batch.y_columns + i] = y[from * batch.y_columns + i];
  }
}

cudaError_t ep_cuda_batch_take(cudaStream_t stream, const ep_cuda_batch *batch, int64_t rows,
                               const ep_cuda_clock *clock) {
  take<<<ep_cuda_blocks(rows, ROWS_A_BLOCK), THREADS, 0, stream>>>(*batch, rows, clock);
  return cudaGetLastError();
}
