/* kernel.cuh: the kernel of cuda/crews, compiled at run time for one program: all steps of a
 * segment in one launch. A crew, a cluster of 16 blocks, takes some of a batch's rows through the
 * whole network; crews meet twice a step: when all have stored what the gradients of the weights
 * are made of, and when the new weights are there. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_KERNEL_CUH

#include "kernels/cuda/executors/crews/weights.cuh"

#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/device/loader_warps.cuh"

/* The last warp of the first block: a step's metrics, when all crews have given theirs. */
static __device__ __forceinline__ void metrics_write(const args &s, long long step) {
  float2 of = {0, 0};
  if (loader() < 2 * CREWS) of = __ldcg((const float2 *)(s.scratch + METRICS) + loader());
  float loss = warp_sum(of.x), errors = warp_sum(of.y);
  if (loader() != 0) return;
  s.loss[step] = loss;
  s.errors[step] = (int)errors;
}

/* Shared memory and barriers at the start of a launch. */
static __device__ __forceinline__ void memory_make() {
  for (int i = threadIdx.x; i < BARRIERS; i += THREADS) memory[i] = 0;
  if (threadIdx.x == 0)
    for (int i = 0; i < EXCHANGES; i++) mbarrier_init(shared_address(memory + BARRIERS) + i * 8, 1);
  mbarrier_init_fence();
  __syncthreads();
  cluster_sync();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) crews(const __grid_constant__ args s) {
  __shared__ ep_permutation permutation;
  int warp = threadIdx.x / WARP;
  unsigned meetings = 0;
  row_set rows = {s, warp, warp % 2 * 8};
  rows.rank = blockIdx.x % RANKS;
  rows.row_block = blockIdx.x / RANKS;
  rows.barriers = shared_address(memory + BARRIERS);
  const ep_optimizer optimizer = optimizer_of(s.optimizer);
  ep_optimizer_step update = {};
  memory_make();
  batch now = {s.first_step / STEPS_PER_EPOCH, (int)(s.first_step % STEPS_PER_EPOCH)};
  const int lane = threadIdx.x % WARP;
  {
    const task own = lane < TURNS ? task_make(rows, lane * WARPS + warp) : task();
    weights_first(rows, own);
    *task_place(rows) = own;
  }
  if (warp >= ROW_WARPS) batch_fetch(s, rows, now, 0, true, permutation);
  async_fence_all();
  grid_arrive(s.barrier);
  grid_wait(s.barrier, meetings += BLOCKS);

#pragma unroll 1
  for (long long step = 0; step < s.steps; step++) {
    slopes slope;
    row_metrics metrics = {};
    int count = now.rows();
    rows.valid = min(count - (int)rows.row_block * ROWS_EACH, ROWS_EACH) - rows.first;
    rows.scale = 1.0f / (float)(count * (TAKES_CLASSES ? 1 : OUT));
    rows.parity = (unsigned)step & 1;
    now.next();
    if (threadIdx.x == 0) {
      async_fence_all();
      pieces_start<0>(rows);
    }
    rows_take(rows);
    if constexpr (FRONT > 0) mbarrier_wait_cluster(rows.barrier(PIECES), rows.parity);
    __syncthreads();
    front_forward<0>(rows, slope);
    shared_forward<FRONT>(rows, slope);
    scores_run(rows, metrics);
    shared_backward<LAST>(rows, slope);
    front_backward<FRONT - 1>(rows, slope);
    metrics_give(rows, metrics);
    async_fence_all();
    grid_arrive(s.barrier);
    update = update_of(optimizer, rows);
    if (warp >= ROW_WARPS && step + 1 < s.steps)
      batch_fetch(s, rows, now, step + 1, now.number == 0, permutation);
    numbers ahead;
    const task own = *task_place(rows);
    numbers_read(s, task_of_lane(own, 0), ahead);
    grid_wait(s.barrier, meetings += BLOCKS);
    if (lane == 0) stage_start(rows, own);
    if (threadIdx.x == 0) {
      async_fence();
      stages_start<FRONT>(rows);
    }
    if (blockIdx.x == 0 && warp >= ROW_WARPS) metrics_write(s, step);
    weights_update(rows, own, {optimizer, update}, ahead);
    async_fence_all();
    grid_arrive(s.barrier);
    grid_wait(s.barrier, meetings += BLOCKS);
  }
}

#endif
