/* kernel.cuh: the kernel of cuda/cluster, compiled at run time for one program: all steps of a
 * segment in one launch of one cluster. ROW_BLOCKS blocks take some of a batch's rows each; SLICES
 * blocks share those rows and have a slice of the wide layers each. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_KERNEL_CUH

#include "kernels/cuda/executors/cluster/weights.cuh"

#include "kernels/cuda/device/loader_warps.cuh"

/* This step's rows, as the loader warps have laid them out, become the first layer's input. */
static __device__ __forceinline__ void rows_take(const row_set &rows) {
  int lane = threadIdx.x % WARP, row = rows.first + lane % 8;
  const float *from = memory + FETCHED + (rows.parity * ROWS + row) * IN;
  float *to = memory + layer(0).x + row;
#pragma unroll 8
  for (int k = lane / 8; k < IN; k += 4) to[k * STRIDE] = operand_of<PRECISE>(from[k]);
  __syncwarp();
}

/* The loss of a warp's rows, weighed, and their errors go to the first block. */
static __device__ __forceinline__ void metrics_give(const row_set &rows, const row_metrics &of) {
  float loss = warp_sum(of.loss) * rows.scale, errors = warp_sum(of.errors);
  if (threadIdx.x % WARP != 0 || rows.slice != 0) return;
  float *to =
      memory + LOSSES + ((rows.parity * ROW_BLOCKS + rows.row_block) * ROW_WARPS + rows.warp) * 2;
  if constexpr (ROW_BLOCKS == 1)
    *(float2 *)to = make_float2(loss, errors);
  else
    cluster_store(cluster_address(shared_address(to), 0), loss, errors);
}

/* The first loader warp of the first block: a step's, when all have given theirs. -1: none. */
static __device__ __forceinline__ void metrics_write(const args &s, long long step) {
  if (step < 0 || block_rank() != 0 || loader() >= WARP) return;
  const float *from = memory + LOSSES + (step & 1) * ROW_BLOCKS * ROW_WARPS * 2;
  float loss = 0, errors = 0;
  for (int i = loader(); i < ROW_BLOCKS * ROW_WARPS; i += WARP) {
    loss += from[2 * i];
    errors += from[2 * i + 1];
  }
  loss = warp_sum(loss);
  errors = warp_sum(errors);
  if (loader() != 0) return;
  s.loss[step] = loss;
  s.errors[step] = (int)errors;
}

/* Shared memory at the start of a launch. */
static __device__ __forceinline__ void memory_make(const args &s, int slice) {
  for (int i = threadIdx.x; i < SHARED_FLOATS; i += THREADS) memory[i] = 0;
  __syncthreads();
  weights_load(s, slice);
  if (threadIdx.x == 0)
    for (int i = 0; i < ROW_WARPS * EXCHANGES; i++)
      mbarrier_init(shared_address(memory + BARRIERS) + i * 8, 1);
  mbarrier_init_fence();
  __syncthreads();
  blocks_arrive();
  blocks_wait();
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) cluster(const __grid_constant__ args s) {
  __shared__ ep_permutation permutation;
  constexpr bool PARTS = SLICES > 1 && ROW_BLOCKS == 1; /* of the barrier of all blocks */
  int rank = (int)block_rank(), warp = threadIdx.x / WARP;
  row_set rows = {s, warp, warp * 8};
  rows.slice = rank % SLICES;
  rows.row_block = rank / SLICES;
  rows.barriers = shared_address(memory + BARRIERS) + warp * EXCHANGES * 8;
  const ep_optimizer optimizer = optimizer_of(s.optimizer);
  memory_make(s, (int)rows.slice);

  owned_tiles own;
  group_offsets offsets[GROUPS_EACH];
  owned_load(s, rows, own);
#pragma unroll
  for (int i = 0; i < GROUPS_EACH; i++) offsets[i] = group_offsets_make(s, i, (int)rows.slice);
  batch now = {s.first_step / STEPS_PER_EPOCH, (int)(s.first_step % STEPS_PER_EPOCH)};
  if (warp >= ROW_WARPS) batch_fetch(s, rows, now, 0, true, permutation);
  if constexpr (PARTS) blocks_arrive();
  __syncthreads();

#pragma unroll 1
  for (long long step = 0; step < s.steps; step++) {
    int count = now.rows();
    rows.valid = min(count - (int)rows.row_block * ROWS_EACH, ROWS_EACH) - rows.first;
    rows.scale = 1.0f / (float)(count * (TAKES_CLASSES ? 1 : OUT));
    rows.parity = (unsigned)step & 1;
    rows.step = s.first_step + step;
    now.next();
    if (warp < ROW_WARPS) {
      const float none[1][4] = {};
      row_metrics metrics = {};
      rows_take(rows);
      rows_run<0>(rows, none, metrics);
      metrics_give(rows, metrics);
    } else {
      metrics_write(s, step - 1);
      if (step + 1 < s.steps) batch_fetch(s, rows, now, step + 1, now.number == 0, permutation);
      if constexpr (PARTS) blocks_wait();
    }
    __syncthreads();
    weights_update(s, rows, optimizer, update_of(optimizer, rows), offsets, own);
    if constexpr (PARTS) blocks_arrive();
    __syncthreads();
  }
  if constexpr (PARTS) blocks_wait();
  if (warp >= ROW_WARPS) metrics_write(s, s.steps - 1);
  owned_store(s, rows, own);
}

#endif
