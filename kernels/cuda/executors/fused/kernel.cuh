/* kernel.cuh: the kernel of cuda/fused, compiled at run time for one program. All steps of a
 * segment run in one launch of blocks that stay. A block has all weights in shared memory, and
 * takes tiles of rows through all layers, there and back. Then all wait for each other, each block
 * adds up a share of the gradients and updates its parameters, and all wait again; meanwhile the
 * next rows are fetched. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_KERNEL_CUH

#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/executors/fused/update.cuh"

/* --- what comes from outside ----------------------------------------------------------------- */

/* A step. */
struct now {
  long long epoch;
  int batch, rows;
  float scale;
};

static __device__ __forceinline__ void now_make(now &n) {
  n.rows = rows_of(n.batch);
  n.scale = 1.0f / (float)((long long)n.rows * (TAKES_CLASSES ? 1 : OUT));
}

static __device__ __forceinline__ void now_next(now &n) {
  if (++n.batch == STEPS_PER_EPOCH) {
    n.batch = 0;
    n.epoch++;
  }
  now_make(n);
}

static __device__ __forceinline__ void image_fetch(const args &s) {
#pragma unroll 4
  for (int i = threadIdx.x * 16; i < IMAGE_BYTES; i += THREADS * 16)
    cp_async_16(block_memory + i, s.image + i, true);
  cp_async_commit();
}

/* Where the rows of a tile lie in the training set: [TILE_ROWS], -1 beyond the batch. There are two
 * such lists: of the step's next tile, and of the next step's first one; and the orders of epochs
 * that they are taken from. */
enum { ORDER_HERE, ORDER_AHEAD, ORDERS };
static __shared__ ep_permutation permutations[ORDERS];

static __device__ __forceinline__ int *order_of(int which) {
  return (int *)(block_memory + ORDER_AT) + which * TILE_ROWS;
}

/* Makes the order of an epoch unless it is there already: `epoch` of the one that is. The block
 * waits before it is used, and has waited since it was. */
static __device__ __noinline__ void permutation_make(const args &s, long long wanted,
                                                     long long &epoch, int which) {
  if (!SHUFFLES || epoch == wanted) return;
  epoch = wanted;
  if (threadIdx.x == 0)
    permutations[which] = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, wanted, TRAIN_ROWS);
}

/* The list of the tile that begins at row `first` of the batch; likewise. */
static __device__ __forceinline__ void order_make(const now &n, int first, int which) {
  int row = first + (int)threadIdx.x, from = n.batch * BATCH_ROWS + row;
  if (threadIdx.x >= TILE_ROWS) return;
  if constexpr (SHUFFLES)
    if (row < n.rows) from = (int)ep_permutation_at(&permutations[which], (uint32_t)from);
  order_of(which)[threadIdx.x] = row < n.rows ? from : -1;
}

/* Begins the copy of `COLUMNS` numbers of each row of a tile; rows beyond the batch become zero.
 * at(row, column): where they go to. */
template <int COLUMNS, int VECTOR, class At>
static __device__ __forceinline__ void rows_copy(const float *from, const int *order, At at) {
  constexpr int ACROSS = COLUMNS / VECTOR;
#pragma unroll 4
  for (int i = threadIdx.x; i < TILE_ROWS * ACROSS; i += THREADS) {
    int row = order[i / ACROSS], column = i % ACROSS * VECTOR;
    const float *source = row < 0 ? from : from + (long long)row * COLUMNS + column;
    if constexpr (VECTOR == 4)
      cp_async_16(at(i / ACROSS, column), source, row >= 0);
    else
      cp_async_4(at(i / ACROSS, column), source, row >= 0);
  }
}

constexpr int IN_VECTOR = IN % 4 == 0 ? 4 : 1;

/* Begins to fetch the rows of a list, to where the first layer and the loss read them, or, where
 * numbers are to be halved, to the stage. */
static __device__ __noinline__ void rows_fetch(const args &s, const now &n, int first, int which) {
  if (first >= n.rows) return;
  const int *order = order_of(which);
  number *x = numbers_at(layer(0).x);
  float *targets = (float *)(block_memory + TARGETS_AT),
        *stage = (float *)(block_memory + STAGE_AT);
  rows_copy<TARGETS, TARGETS % 4 == 0 ? 4 : 1>(
      s.y, order, [&](int row, int column) { return targets + row * TARGETS_PITCH + column; });
  rows_copy<IN, IN_VECTOR>(s.x, order, [&](int row, int column) -> void * {
    if constexpr (HALF) return stage + row * IN + column;
    return place_of<pitch_of(IN)>(x, row, column);
  });
  cp_async_commit();
}

/* From the stage to where the first layer reads: each thread what it fetched. */
static __device__ __forceinline__ void rows_take() {
  if constexpr (HALF) {
    constexpr int ACROSS = IN / IN_VECTOR;
    const float *stage = (const float *)(block_memory + STAGE_AT);
#pragma unroll 4
    for (int i = threadIdx.x; i < TILE_ROWS * ACROSS; i += THREADS) {
      number *to =
          place_of<pitch_of(IN)>(numbers_at(layer(0).x), i / ACROSS, i % ACROSS * IN_VECTOR);
      if constexpr (IN_VECTOR == 4) {
        float4 four = ((const float4 *)stage)[i];
        pair_put(to, four.x, four.y);
        pair_put(to + 2, four.z, four.w);
      } else {
        number_put(to, stage[i]);
      }
    }
  }
}

/* --- the steps ------------------------------------------------------------------------------- */

/* This block's tiles of the batch, the first of which is there. epoch: of the order at hand. */
static __device__ __forceinline__ void tiles_run(const args &s, const now &n, long long &epoch) {
  tally seen = {0, 0};
  float4 *sums = (float4 *)s.partials + (long long)blockIdx.x * QUADS;
  int first = (int)blockIdx.x * TILE_ROWS;
#pragma unroll 1
  for (int at = first; at < n.rows; at += BLOCKS * TILE_ROWS) {
    if (at != first) {
      permutation_make(s, n.epoch, epoch, ORDER_HERE);
      __syncthreads();
      order_make(n, at, ORDER_HERE);
      __syncthreads();
      rows_fetch(s, n, at, ORDER_HERE);
      cp_async_wait_group<0>();
      rows_take();
      __syncthreads();
    }
    forward_run<0>();
    loss_run(s, n.rows - at, n.scale, seen);
    tally_keep(seen);
    __syncthreads();
    back_run<LAYERS - 1>(sums, at != first);
  }
  if (first < n.rows) tally_put(s);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) fused(const __grid_constant__ args s) {
  unsigned times = 0;
  long long epochs[ORDERS] = {-1, -1}; /* of the orders at hand */
  int first = (int)blockIdx.x * TILE_ROWS;
  /* This step, the next, whose rows are fetched during this one, and the one after it, whose
   * rows' places are made. */
  now n = {s.first_step / STEPS_PER_EPOCH, (int)(s.first_step % STEPS_PER_EPOCH), 0, 0}, ahead;
  now_make(n);
  for (int i = threadIdx.x; i < SHARED_BYTES / 4; i += THREADS) ((int *)block_memory)[i] = 0;
  permutation_make(s, n.epoch, epochs[ORDER_AHEAD], ORDER_AHEAD);
  __syncthreads();
  owned_load(s);
  order_make(n, first, ORDER_AHEAD);
  grid_arrive(s.barrier);
  rows_fetch(s, n, first, ORDER_AHEAD);
  ahead = n;
  now_next(ahead);
  permutation_make(s, ahead.epoch, epochs[ORDER_AHEAD], ORDER_AHEAD);
  __syncthreads();
  order_make(ahead, first, ORDER_AHEAD);
  __syncthreads();
  now beyond = ahead;
  now_next(beyond);
  permutation_make(s, beyond.epoch, epochs[ORDER_AHEAD], ORDER_AHEAD);
  grid_wait(s.barrier, ++times * BLOCKS);
#pragma unroll 1
  for (long long at = 0; at < s.steps; at++) {
    int workers = min(parts_of(n.rows, TILE_ROWS), BLOCKS);
    image_fetch(s);
    cp_async_wait_group<1>(); /* for the rows, which may be none */
    if (first < n.rows) rows_take();
    cp_async_wait_group<0>();
    __syncthreads();
    tiles_run(s, n, epochs[ORDER_HERE]);
    grid_arrive(s.barrier);
    rows_fetch(s, ahead, first, ORDER_AHEAD);
    const ep_optimizer_step update = update_of(s, at);
    grid_wait(s.barrier, ++times * BLOCKS);
    quads_sum(s, workers, [&]() { order_make(beyond, first, ORDER_AHEAD); });
    loss_put(s, at, workers, n.rows);
    __syncthreads();
    owned_update(s, update);
    grid_arrive(s.barrier);
    n = ahead;
    ahead = beyond;
    now_next(beyond);
    permutation_make(s, beyond.epoch, epochs[ORDER_AHEAD], ORDER_AHEAD);
    grid_wait(s.barrier, ++times * BLOCKS);
  }
  cp_async_wait_group<0>();
  owned_store(s);
}

#endif
