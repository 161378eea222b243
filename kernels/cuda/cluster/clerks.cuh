/* clerks.cuh: what those warps of cuda/cluster do that have no rows, while the others take theirs
 * through the network: they fetch the next step's rows, and write down the last step's loss. */
#ifndef EP_KERNELS_CUDA_CLUSTER_CLERKS_CUH
#define EP_KERNELS_CUDA_CLUSTER_CLERKS_CUH

#include "kernels/cuda/cluster/loss.cuh"

constexpr int CLERKS = (WARPS - ROW_WARPS) * WARP;

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

static __device__ __forceinline__ int clerk() {
  return (int)threadIdx.x - ROW_WARPS * WARP;
}

static __device__ __forceinline__ void clerks_wait() {
  asm volatile("bar.sync 1, %0;" ::"n"(CLERKS) : "memory");
}

/* Starts a copy of four bytes; zero unless `there`. */
static __device__ __forceinline__ void copy_start(float *to, const float *from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address_of(to)), "l"(from),
               "r"(there ? 4 : 0)
               : "memory");
}

/* Rows of [ROWS, COLUMNS], in the order of `order`. */
template <int COLUMNS>
static __device__ __forceinline__ void rows_copy(float *to, const float *from, const int *order) {
#pragma unroll 4
  for (int e = clerk(); e < ROWS * COLUMNS; e += CLERKS) {
    int row = order[e / COLUMNS];
    copy_start(to + e, row < 0 ? from : from + (long long)row * COLUMNS + e % COLUMNS, row >= 0);
  }
}

/* All that a step needs of memory: this block's rows of the batch, zero beyond them, their targets,
 * and the step's rates. All clerks call. */
static __device__ __forceinline__ void batch_fetch(const span &s, const row_set &rows,
                                                   const batch &of, long long step, bool new_epoch,
                                                   ep_permutation &permutation) {
  int parity = (int)(step & 1), *order = (int *)(memory + ORDER);
  if (SHUFFLES && new_epoch) {
    if (clerk() == 0)
      permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, of.epoch, TRAIN_ROWS);
    clerks_wait();
  }
  for (int i = clerk(); i < ROWS; i += CLERKS) {
    int at = (int)rows.row_block * ROWS_EACH + i, row = of.number * BATCH_ROWS + at;
    bool there = i < ROWS_EACH && at < of.rows();
    if (SHUFFLES && there) row = (int)ep_permutation_at(&permutation, (unsigned)row);
    order[i] = there ? row : -1;
  }
  clerks_wait();
  rows_copy<IN>(memory + FETCHED + parity * ROWS * IN, s.x, order);
  rows_copy<TARGETS>(memory + TARGETS_AT + parity * ROWS * TARGETS, s.y, order);
  const int rates = PLAIN_RATE ? 1 : (int)(sizeof(ep_optimizer_step) / sizeof(float));
  if (clerk() < rates) {
    const float *from = PLAIN_RATE ? s.lr + (s.lr_count == 1 ? 0 : step)
                                   : (const float *)(s.update + step) + clerk();
    copy_start(memory + UPDATES + parity * 8 + clerk(), from, true);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* --- loss ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(ALL, value, distance);
  return value;
}

/* The loss of a warp's rows, weighed, and their errors go to the first block. */
static __device__ __forceinline__ void figures_give(const row_set &rows, const row_figures &of) {
  float loss = warp_sum(of.loss) * rows.scale, errors = warp_sum(of.errors);
  if (threadIdx.x % WARP != 0 || rows.slice != 0) return;
  float *to =
      memory + LOSSES + ((rows.parity * ROW_BLOCKS + rows.row_block) * ROW_WARPS + rows.warp) * 2;
  if constexpr (ROW_BLOCKS == 1)
    *(float2 *)to = make_float2(loss, errors);
  else
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address_in(address_of(to), 0)),
                 "f"(loss), "f"(errors)
                 : "memory");
}

/* The first clerks of the first block: a step's, when all have given theirs. -1: none. */
static __device__ __forceinline__ void figures_write(const span &s, long long step) {
  if (step < 0 || block_rank() != 0 || clerk() >= WARP) return;
  const float *from = memory + LOSSES + (step & 1) * ROW_BLOCKS * ROW_WARPS * 2;
  float loss = 0, errors = 0;
  for (int i = clerk(); i < ROW_BLOCKS * ROW_WARPS; i += WARP) {
    loss += from[2 * i];
    errors += from[2 * i + 1];
  }
  loss = warp_sum(loss);
  errors = warp_sum(errors);
  if (clerk() != 0) return;
  s.loss[step] = loss;
  s.errors[step] = (int)errors;
}

#endif
