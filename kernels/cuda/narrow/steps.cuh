/* steps.cuh: the kernel of cuda/fused, compiled at run time for one program. All steps of a segment
 * run in one launch of blocks that stay. A block has all weights in shared memory, and takes tiles
 * of rows through all layers, there and back. Then all wait for each other, each block adds up a
 * share of the gradients and updates its parameters, and all wait again; meanwhile the next rows
 * are fetched. */
#ifndef EP_KERNELS_CUDA_NARROW_STEPS_CUH
#define EP_KERNELS_CUDA_NARROW_STEPS_CUH

#include "kernels/cuda/narrow/update.cuh"

/* --- the barrier ----------------------------------------------------------------------------- */

static __device__ __forceinline__ void all_arrive(const span &s) {
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(s.barrier) : "memory");
}

/* Until all blocks have come `times` times. */
static __device__ __forceinline__ void all_wait(const span &s, unsigned times) {
  if (threadIdx.x == 0) {
    unsigned come;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"(s.barrier) : "memory");
    } while ((int)(come - times * BLOCKS) < 0);
  }
  __syncthreads();
}

/* --- what comes from outside ----------------------------------------------------------------- */

/* The step at hand. */
struct now {
  long long epoch, keyed; /* keyed: the epoch whose order is at hand */
  int batch, rows;
  float scale;
};

static __device__ __forceinline__ void now_make(now &n) {
  n.rows =
      n.batch == STEPS_PER_EPOCH - 1 ? TRAIN_ROWS - (STEPS_PER_EPOCH - 1) * BATCH_ROWS : BATCH_ROWS;
  n.scale = 1.0f / (float)((long long)n.rows * (TAKES_CLASSES ? 1 : OUT));
}

static __device__ __forceinline__ void now_next(now &n) {
  if (++n.batch == STEPS_PER_EPOCH) {
    n.batch = 0;
    n.epoch++;
  }
  now_make(n);
}

static __device__ __forceinline__ void image_fetch(const span &s) {
  for (int i = threadIdx.x * 16; i < IMAGE_BYTES; i += THREADS * 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(block_memory + i)),
                 "l"(s.image + i)
                 : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/* `COLUMNS` numbers of each row of the tile from `from`, [train rows, COLUMNS]; those of rows
 * beyond the batch are zero. put(row, column, value) for one, or for VECTOR neighbours. */
template <int COLUMNS, int VECTOR, class Put>
static __device__ __forceinline__ void rows_read(const float *from, const int *order, Put put) {
  constexpr int ACROSS = COLUMNS / VECTOR, COUNT = TILE_ROWS * ACROSS;
  constexpr int TURNS = parts_of(COUNT, THREADS), AT_ONCE = TURNS < 8 ? TURNS : 8;
#pragma unroll 1
  for (int first = threadIdx.x; first < COUNT; first += AT_ONCE * THREADS) {
    float value[AT_ONCE][VECTOR];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int at = first + i * THREADS, row = at < COUNT ? order[at / ACROSS] : -1;
#pragma unroll
      for (int v = 0; v < VECTOR; v++) value[i][v] = 0;
      if (row < 0) continue;
      const float *numbers = from + (long long)row * COLUMNS + at % ACROSS * VECTOR;
      if constexpr (VECTOR == 4)
        *(float4 *)value[i] = __ldg((const float4 *)numbers);
      else
        value[i][0] = __ldg(numbers);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int at = first + i * THREADS;
      if (at < COUNT) put(at / ACROSS, at % ACROSS * VECTOR, value[i]);
    }
  }
}

/* The tile's rows, to where the first layer and the loss read them. */
static __device__ __noinline__ void rows_fetch(const span &s, now &n, int first) {
  __shared__ ep_permutation permutation;
  int *order = (int *)(block_memory + ORDER_AT);
  if (first >= n.rows) return;
  if constexpr (SHUFFLES) {
    if (n.keyed != n.epoch) {
      if (threadIdx.x == 0)
        permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, n.epoch, TRAIN_ROWS);
      n.keyed = n.epoch;
      __syncthreads();
    }
  }
  if (threadIdx.x < TILE_ROWS) {
    int row = first + (int)threadIdx.x, from = n.batch * BATCH_ROWS + row;
    if constexpr (SHUFFLES)
      if (row < n.rows) from = (int)ep_permutation_at(&permutation, (uint32_t)from);
    order[threadIdx.x] = row < n.rows ? from : -1;
  }
  __syncthreads();
  constexpr int IN = layer(0).in;
  number *x = numbers_at(layer(0).x);
  float *targets = (float *)(block_memory + TARGETS_AT);
  rows_read<IN, IN % 4 == 0 ? 4 : 1>(s.x, order, [&](int row, int column, const float *value) {
    number *to = place_of<pitch_of(IN)>(x, row, column);
    if constexpr (IN % 4 == 0) {
      pair_put(to, value[0], value[1]);
      pair_put(to + 2, value[2], value[3]);
    } else {
      number_put(to, *value);
    }
  });
  rows_read<TARGETS, 1>(s.y, order, [&](int row, int column, const float *value) {
    targets[row * TARGETS + column] = *value;
  });
}

/* --- the steps ------------------------------------------------------------------------------- */

/* This block's tiles of the batch, the first of which is there. */
static __device__ __forceinline__ void tiles_run(const span &s, now &n) {
  tally seen = {0, 0};
  float4 *sums = (float4 *)s.partials + (long long)blockIdx.x * QUADS;
  int first = (int)blockIdx.x * TILE_ROWS;
#pragma unroll 1
  for (int at = first; at < n.rows; at += BLOCKS * TILE_ROWS) {
    if (at != first) {
      rows_fetch(s, n, at);
      __syncthreads();
    }
    forward_run<0>();
    loss_run(s, n.rows - at, n.scale, seen);
    __syncthreads();
    back_run<LAYERS - 1>(sums, at != first);
  }
  if (first < n.rows) tally_put(s, seen);
}

static __device__ __forceinline__ ep_optimizer_step update_of(const span &s, long long at) {
  float lr = __ldg(s.lr + (s.lr_count == 1 ? 0 : at));
  if constexpr (PLAIN_RATE)
    return {lr, lr, 1, 1 - s.optimizer.beta1,
            OPTIMIZER == EP_OPTIMIZER_RMSPROP ? 1 - s.optimizer.alpha : 1 - s.optimizer.beta2};
  else
    return s.update[at];
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) narrow(const __grid_constant__ span s) {
  unsigned times = 0;
  int first = (int)blockIdx.x * TILE_ROWS;
  now n = {s.first_step / STEPS_PER_EPOCH, -1, (int)(s.first_step % STEPS_PER_EPOCH), 0, 0};
  now_make(n);
  for (int i = threadIdx.x; i < SHARED_BYTES / 4; i += THREADS) ((int *)block_memory)[i] = 0;
  __syncthreads();
  owned_load(s);
  all_arrive(s);
  rows_fetch(s, n, first);
  all_wait(s, ++times);
#pragma unroll 1
  for (long long at = 0; at < s.steps; at++) {
    int rows = n.rows, workers = min(parts_of(rows, TILE_ROWS), BLOCKS);
    image_fetch(s);
    __syncthreads();
    tiles_run(s, n);
    all_arrive(s);
    now_next(n);
    if (at + 1 < s.steps) rows_fetch(s, n, first);
    const ep_optimizer_step update = update_of(s, at);
    all_wait(s, ++times);
    quads_sum(s, workers);
    loss_put(s, at, workers, rows);
    __syncthreads();
    owned_update(s, update);
    all_arrive(s);
    all_wait(s, ++times);
  }
  owned_store(s);
}

#endif
