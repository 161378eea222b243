/* loader_warps.cuh: what those warps do that have no rows, while the others take theirs through the
 * network: they fetch the next step's rows. For cuda/crews, whose network.cuh comes first. */
#ifndef EP_KERNELS_CUDA_DEVICE_LOADER_WARPS_CUH
#define EP_KERNELS_CUDA_DEVICE_LOADER_WARPS_CUH

#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/named_barrier.cuh"

constexpr int LOADERS = (WARPS - ROW_WARPS) * WARP;

/* A step's place in the training. */
struct batch {
  long long epoch;
  int number; /* in the epoch */

  __device__ __forceinline__ void next() {
    if (++number < STEPS_PER_EPOCH) return;
    number = 0;
    epoch++;
  }
  __device__ __forceinline__ int rows() const {
    return number == STEPS_PER_EPOCH - 1 ? TRAIN_ROWS - (STEPS_PER_EPOCH - 1) * BATCH_ROWS
                                         : BATCH_ROWS;
  }
};

static __device__ __forceinline__ int loader() {
  return (int)threadIdx.x - ROW_WARPS * WARP;
}

static __device__ __forceinline__ void loaders_wait() {
  named_barrier_sync<LOADERS>(1);
}

/* Rows of [ROWS, COLUMNS], in the order of `order`. */
template <int COLUMNS>
static __device__ __forceinline__ void rows_copy(float *to, const float *from, const int *order) {
#pragma unroll 4
  for (int e = loader(); e < ROWS * COLUMNS; e += LOADERS) {
    int row = order[e / COLUMNS];
    cp_async_4(to + e, row < 0 ? from : from + (long long)row * COLUMNS + e % COLUMNS, row >= 0);
  }
}

/* All that a step needs of memory: this block's rows of the batch, zero beyond them, their targets,
 * and the step's rates. All threads of the loader warps call. */
static __device__ __forceinline__ void batch_fetch(const args &s, const row_set &rows,
                                                   const batch &of, long long step, bool new_epoch,
                                                   ep_permutation &permutation) {
  int parity = (int)(step & 1), *order = (int *)(memory + ORDER);
  if (SHUFFLES && new_epoch) {
    if (loader() == 0)
      permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, of.epoch, TRAIN_ROWS);
    loaders_wait();
  }
  for (int i = loader(); i < ROWS; i += LOADERS) {
    int at = (int)rows.row_block * ROWS_EACH + i, row = of.number * BATCH_ROWS + at;
    bool there = i < ROWS_EACH && at < of.rows();
    if (SHUFFLES && there) row = (int)ep_permutation_at(&permutation, (unsigned)row);
    order[i] = there ? row : -1;
  }
  loaders_wait();
  rows_copy<IN>(memory + FETCHED + parity * ROWS * IN, s.x, order);
  rows_copy<TARGETS>(memory + TARGETS_AT + parity * ROWS * TARGETS, s.y, order);
  const int rates = PLAIN_RATE ? 1 : (int)(sizeof(ep_optimizer_step) / sizeof(float));
  if (loader() < rates) {
    const float *from = PLAIN_RATE ? s.lr + (s.lr_count == 1 ? 0 : step)
                                   : (const float *)(s.update + step) + loader();
    cp_async_4(memory + UPDATES + parity * 8 + loader(), from, true);
  }
  cp_async_wait_all();
}

/* The rates of the step at hand, as they were fetched. */
static __device__ __forceinline__ ep_optimizer_step update_of(const ep_optimizer &optimizer,
                                                              const row_set &rows) {
  const float *from = memory + UPDATES + rows.parity * 8;
  if (!PLAIN_RATE) return *(const ep_optimizer_step *)from;
  return plain_rates(optimizer, from[0]);
}

#endif
