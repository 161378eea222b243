/* The kernel of cuda/grid: all steps of a segment in one launch, by blocks that stay. A step is a
 * row of phases (args.h) of the wide layers, and before and behind them the front:
 *
 *   chained     the last block has the front, with all rows (chain.cuh). It gives its outputs to
 *               the others, awaits the gradient by them, and is on the next step while those update
 *               their layers
 *   shared out  each block takes some rows through the front layers; when they are all there is,
 *               the loss and the way back as well. After the way back through wide layers the
 *               blocks part: those of the front take it backward, meet, update the front layers and
 *               the first wide one, meet, and begin with the next step; the others update the other
 *               wide layers meanwhile. Where all blocks are needed at the front they do both
 */
#include "kernels/cuda/executors/grid/kernel.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

#include "kernels/cuda/executors/grid/chain.cuh"
#include "kernels/cuda/executors/grid/prologue.cuh"
#include "kernels/cuda/executors/grid/updates.cuh"
#include "kernels/cuda/executors/grid/whole.cuh"

/* Without a front: this batch's rows, as the first layer takes them. */
static __device__ __noinline__ void inputs_take() {
  const args &s = args_of();
  const now n = now_of();
  int in = s.layers[0].in;
  float *inputs = s.scratch + s.inputs;
#pragma unroll 1
  for (int row = blockIdx.x * WARPS + threadIdx.x / WARP; row < n.rows; row += s.workers * WARPS) {
    const float *from = s.x + row_of(n, row) * in;
#pragma unroll 8
    for (int k = threadIdx.x % WARP; k < in; k += WARP)
      inputs[(long long)row * s.inputs_stride + k] = from[k];
  }
}

/* Where a step's rows are, of a shuffled epoch: every other epoch has the same place. */
static __device__ __forceinline__ int *order_of(long long epoch) {
  return (int *)(args_of().scratch + args_of().order) + epoch % 2 * args_of().train_rows;
}

/* All blocks that have wide layers: the order of an epoch's rows. It takes long, and so not each
 * step does its own. */
static __device__ __noinline__ void order_make(ep_permutation *permutation, long long epoch) {
  const args &s = args_of();
  if (!s.shuffles) return;
  if (threadIdx.x == 0)
    *permutation = ep_permutation_make(s.seed, EP_RANDOM_SHUFFLE, epoch, s.train_rows);
  __syncthreads();
  int *order = order_of(epoch);
#pragma unroll 1
  for (long long i = (long long)blockIdx.x * THREADS + threadIdx.x; i < s.train_rows;
       i += (long long)s.workers * THREADS)
    order[i] = (int)ep_permutation_at(permutation, (uint32_t)i);
}

/* One thread: starts the copy of what this step's rates come to. */
static __device__ void update_fetch(long long step) {
  const args &s = args_of();
  ep_optimizer_step *update = &state_of().update;
  if (s.plain_rate) {
    const float *lr = s.lr + (s.lr_count == 1 ? 0 : step);
    cp_async<4>(&update->lr, lr);
    cp_async<4>(&update->rate, lr);
  } else {
    for (int i = 0; i < (int)(sizeof *update / sizeof(float)); i++)
      cp_async<4>((float *)update + i, (const float *)(s.update + step) + i);
  }
}

/* One block: the step's loss and errors, from the rows'. */
static __device__ __noinline__ void loss_write(long long step) {
  __shared__ float of_warp[2][WARPS];
  const args &s = args_of();
  const now n = now_of();
  if ((int)blockIdx.x != s.workers - 1) return;
  const float *rows = n.scratch + s.rows;
  float loss = 0, errors = 0;
#pragma unroll 4
  for (int row = threadIdx.x; row < n.rows; row += THREADS) {
    loss += rows[row];
    errors += rows[s.batch_rows + row];
  }
  loss = warp_sum(loss);
  errors = warp_sum(errors);
  if (threadIdx.x % WARP == 0) {
    of_warp[0][threadIdx.x / WARP] = loss;
    of_warp[1][threadIdx.x / WARP] = errors;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  loss = errors = 0;
  for (int w = 0; w < WARPS; w++) {
    loss += of_warp[0][w];
    errors += of_warp[1][w];
  }
  s.loss[step] = loss * n.scale;
  s.errors[step] = (int)errors;
}

template <bool PRECISE>
static __device__ __forceinline__ void front_forward_run(unsigned long long *done,
                                                         unsigned parity) {
  if (args_of().tiles == 1)
    groups_forward<1, PRECISE>(done, parity);
  else
    groups_forward<2, PRECISE>(done, parity);
}

template <bool PRECISE> static __device__ __forceinline__ void front_backward_run() {
  if (args_of().tiles == 1)
    groups_backward<1, PRECISE>();
  else
    groups_backward<2, PRECISE>();
}

/* A block's part of a phase. */
template <bool PRECISE>
static __device__ __forceinline__ void phase_run(const ep_grid_phase &phase) {
  const args &s = args_of();
  int begins = phase.begins, awaits = phase.awaits;
  meeting_await(begins);
  switch (phase.work) {
  case EP_GRID_FORWARD: forward<PRECISE>(phase.layer, awaits); break;
  case EP_GRID_OUTPUT_LOSS:
    if constexpr (!PRECISE && WARPGROUPS) panels_turn();
    head_run(awaits);
    break;
  case EP_GRID_BACKWARD: backward<PRECISE>(phase.layer, awaits); break;
  default:
    meeting_await(awaits);
    if (phase.work == EP_GRID_ROWS)
      inputs_take();
    else
      loss_write(state_of().n.turn - 1);
  }
  bool last = phase.work == EP_GRID_UPDATES;
  if (phase.arrives != EP_GRID_BARRIER && (int)blockIdx.x < phase.tasks)
    grid_arrive(meeting_of(phase.arrives));
  else if (!last && phase.arrives == EP_GRID_BARRIER)
    blocks_arrive();
  int block = (int)blockIdx.x - phase.update_from, blocks = phase.update_to - phase.update_from;
  if (phase.updates != 0 && block >= 0 && block < blocks) {
    int skip = 0, before = -1;
#pragma unroll 1
    for (unsigned left = phase.updates; left != 0;) { /* the last first */
      int l = 31 - __clz(left);
      left &= ~(1u << l);
      skip = update<PRECISE>(l, before, skip, block, blocks);
      before = l;
    }
  }
  if (!last) return;
  if ((int)blockIdx.x < s.middle_blocks) grid_arrive(meeting_of(EP_GRID_MIDDLE));
  blocks_arrive();
}

/* Updates of the layers from `last` down to `first`, by the blocks from `from` up to `to`. */
template <bool PRECISE>
static __device__ void layers_update(int last, int first, int skip, int from, int to) {
  if ((int)blockIdx.x < from || (int)blockIdx.x >= to) return;
  for (int l = last; l >= first; l--)
    skip = update<PRECISE>(l, -1, skip, (int)blockIdx.x - from, to - from);
}

/* The way back through a front that is shared out, and all updates. */
template <bool PRECISE> static __device__ void rest_run() {
  const args &s = args_of();
  int blocks = (int)gridDim.x, last = s.layers_count - 1;
  if (s.front == s.layers_count) {
    layers_update<PRECISE>(last, 0, 0, 0, blocks);
    async_fence_all();
    blocks_arrive();
    return;
  }
  bool apart = s.front_blocks < blocks;
  int groups = (now_of().rows - 1) / (s.tiles * EP_GRID_GROUP) + 1;
  front_backward_run<PRECISE>();
  layers_update<PRECISE>(last, s.front + 1, apart ? 0 : groups, apart ? s.front_blocks : 0, blocks);
  if ((int)blockIdx.x >= s.front_blocks) return;
  front_wait();
  layers_update<PRECISE>(s.front, 0, 0, 0, s.front_blocks);
  front_wait();
}

/* The block's shared memory at the start of a launch. */
static __device__ void state_make(const args &s, unsigned long long *done) {
  block_state &state = state_of();
  for (int i = threadIdx.x; i < (int)(sizeof s / sizeof(int)); i += THREADS)
    ((int *)&state.s)[i] = ((const int *)&s)[i];
  if (threadIdx.x != 0) return;
  state.target = state.front_target = 0;
  state.panel_stages[0] = state.panel_stages[1] = state.panel_copies = 0;
  state.update = s.first_update;
  mbarrier_init(shared_address(done), 1);
  for (int i = 0; i < EP_GRID_PANEL_BARRIERS; i++)
    mbarrier_init(shared_address(&state.panel_barriers[i]), 1);
  lines_make(state.lines);
  pair_make(state.pair);
  state.whole.tasks = state.whole.parts = 0;
  mbarrier_init(shared_address(&state.whole.held), 1);
  for (int i = 0; i < 2; i++) mbarrier_init(shared_address(&state.whole.full[i]), 1);
  mbarrier_init_fence();
}

/* The next step, by one thread. */
static __device__ void now_make(long long step, long long epoch, int batch) {
  const args &s = args_of();
  long long first = (long long)batch * s.batch_rows, left = s.train_rows - first;
  int rows = (int)(left < s.batch_rows ? left : s.batch_rows);
  float scale = 1.0f / (float)((long long)rows * (s.takes_classes ? 1 : s.targets));
  const int *order = s.shuffles ? order_of(epoch) + first : nullptr;
  state_of().n = {order, first, rows, (unsigned)step + 1, scale, s.scratch};
}

/* What the workers begin a step with. */
static __device__ __forceinline__ void step_begin(long long step, long long epoch, int batch) {
  if (threadIdx.x == 0) update_fetch(step);
  if (threadIdx.x == WARP) now_make(step, epoch, batch);
  __syncthreads();
}

/* The block that has a chained front. */
template <bool PRECISE> static __device__ void chain_steps(ep_permutation *permutation) {
  const args &s = args_of();
  long long epoch = s.first_step / s.steps_per_epoch;
  int batch = (int)(s.first_step % s.steps_per_epoch);
  chain_memory_make();
  chain_order_make(permutation, epoch);
  chain_rows_fetch(permutation, batch, 1);
  if (threadIdx.x == 0) chain_now_make(batch, 1);
  cp_async_wait_all();
  __syncthreads();
  for (long long step = 0; step < s.steps; step++) {
    chain_step_forward<PRECISE>();
    if (threadIdx.x == 0) update_fetch(step);
    if (++batch == s.steps_per_epoch) chain_order_make(permutation, ++epoch), batch = 0;
    if (step + 1 < s.steps) chain_rows_fetch(permutation, batch, (unsigned)step + 2);
    chain_step_backward<PRECISE>(batch);
  }
  chain_parameters_copy<false>();
}

/* All other blocks. shared: they share out the front as well. */
template <bool PRECISE>
static __device__ void blocks_steps(ep_permutation *permutation, unsigned long long *done) {
  const args &s = args_of();
  unsigned parity = 0;
  long long epoch = s.first_step / s.steps_per_epoch;
  int batch = (int)(s.first_step % s.steps_per_epoch);
  bool shared = s.front > 0 && !s.chained, whole = s.front == s.layers_count;
  mirrors_make();
  order_make(permutation, epoch);
  blocks_arrive();
  if (s.middle_blocks > 0) blocks_await(); /* a first EP_GRID_MIDDLE is passed at once */
  for (long long step = 0; step < s.steps; step++) {
    step_begin(step, epoch, batch);
    bool fetches =
        shared && (s.cluster || (int)blockIdx.x * s.tiles * EP_GRID_GROUP < now_of().rows);
    /* Those that take a front before wide layers have met. */
    if (whole || (shared && step == 0)) blocks_await();
    if (fetches && threadIdx.x == THREADS - 1) image_fetch(done);
    if (fetches) {
      front_forward_run<PRECISE>(done, parity);
      parity ^= 1;
    }
    if (whole) async_fence_all();
    if (++batch == s.steps_per_epoch) order_make(permutation, ++epoch), batch = 0;
    if (threadIdx.x == 0) cp_async_wait_all(); /* the step's rates */
    if (shared) blocks_arrive();
    for (int i = 0; i < s.phases_count; i++) phase_run<PRECISE>(s.phases[i]);
    if (!shared) continue;
    bool goes_back = fetches && !whole;
    if (goes_back && threadIdx.x == THREADS - 1) image_fetch(done);
    blocks_await();
    loss_write(step);
    if (goes_back) {
      mbarrier_wait(shared_address(done), (int)parity);
      parity ^= 1;
    }
    rest_run<PRECISE>();
  }
}

template <bool PRECISE>
static __global__ void __launch_bounds__(THREADS, 1) grid(const __grid_constant__ args given) {
  __shared__ ep_permutation permutation;
  __shared__ __align__(8) unsigned long long done;
  state_make(given, &done);
  __syncthreads();
  if (args_of().chained && (int)blockIdx.x == args_of().workers)
    chain_steps<PRECISE>(&permutation);
  else
    blocks_steps<PRECISE>(&permutation, &done);
}

#else /* an older generation, which grid.c does not launch it on */

template <bool PRECISE> static __global__ void grid(const __grid_constant__ ep_grid_args) {}

#endif

cudaError_t ep_cuda_grid_kernel(bool precise, cudaKernel_t *out) {
  return cudaGetKernel(out, precise ? (const void *)grid<true> : (const void *)grid<false>);
}
