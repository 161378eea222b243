/* kernel.cuh: the kernel of cuda/cnn, compiled at run time for one program. All steps of a segment
 * run in one launch of blocks that stay, one a multiprocessor. A block has groups of threads; a
 * group takes a row of the batch through the whole network, there and back, with everything about
 * it in shared memory. Then all wait for each other, the groups add up the gradients and update
 * the parameters, and wait again; meanwhile they fetch the next step's rows. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_KERNEL_CUH

#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/executors/cnn/balance.cuh"
#include "kernels/cuda/executors/cnn/conv.cuh"
#include "kernels/cuda/executors/cnn/pools.cuh"
#include "kernels/cuda/executors/cnn/update.cuh"

/* --- weights --------------------------------------------------------------------------------- */

/* The block begins to copy weights to where its groups read them: of convolutions, or, LINEAR, of
 * linear layers. */
template <int S, bool LINEAR>
static __device__ __forceinline__ void weights_stage(const args &s, float *to) {
  if constexpr (S < STAGES) {
    if constexpr (!LINEAR && stage(S).type == EP_LAYER_CONV2D) conv_stage<S>(s, to);
    if constexpr (LINEAR && stage(S).type == EP_LAYER_LINEAR && stage(S).staged >= 0)
      linear_stage<S>(s, to);
    weights_stage<S + 1, LINEAR>(s, to);
  }
}

/* The convolutions' weights are there behind it; those of linear layers, which would keep them
 * waiting, come later: linear_wait. */
static __device__ __forceinline__ void weights_take(const worker &w, float *to) {
  weights_stage<1, false>(w.s, to);
  cp_async_wait_all();
  __syncthreads();
  weights_stage<1, true>(w.s, to);
  linear_begun(w);
}

/* --- a row ----------------------------------------------------------------------------------- */

/* A softmax before the loss: one warp takes the row through both, and back. */
constexpr bool HEAD =
    stage(STAGES - 1).type == EP_LAYER_SOFTMAX || stage(STAGES - 1).type == EP_LAYER_LOG_SOFTMAX;

static __device__ __forceinline__ void head_wait(const worker &w, bool within) {
  if (HEAD && within)
    __syncwarp();
  else
    group_wait(w);
}

template <int S> static __device__ __forceinline__ void row_forward(const worker &w) {
  if constexpr (S < STAGES) {
    constexpr ep_layer_type TYPE = stage(S).type;
    if constexpr (TYPE == EP_LAYER_CONV2D)
      conv_forward<S>(w);
    else if constexpr (TYPE == EP_LAYER_MAX_POOL2D || TYPE == EP_LAYER_AVG_POOL2D)
      pool_forward<S>(w);
    else if constexpr (TYPE == EP_LAYER_LINEAR)
      linear_forward<S>(w);
    else if constexpr (TYPE == EP_LAYER_SOFTMAX || TYPE == EP_LAYER_LOG_SOFTMAX)
      softmax_forward<S>(w);
    else
      point_forward<S>(w);
    head_wait(w, S == STAGES - 1);
    row_forward<S + 1>(w);
  }
}

template <int S> static __device__ __forceinline__ void row_backward(const worker &w) {
  if constexpr (S >= FIRST_STAGE) {
    constexpr ep_layer_type TYPE = stage(S).type;
    if constexpr (TYPE == EP_LAYER_CONV2D)
      conv_backward<S>(w);
    else if constexpr (TYPE == EP_LAYER_MAX_POOL2D || TYPE == EP_LAYER_AVG_POOL2D)
      pool_backward<S>(w);
    else if constexpr (TYPE == EP_LAYER_LINEAR)
      linear_backward<S>(w);
    else if constexpr (TYPE == EP_LAYER_SOFTMAX || TYPE == EP_LAYER_LOG_SOFTMAX)
      softmax_backward<S>(w);
    else
      point_backward<S>(w);
    group_wait(w);
    row_backward<S - 1>(w);
  }
}

/* --- the steps ------------------------------------------------------------------------------- */

/* Makes w the worker of the step at hand. */
static __device__ __forceinline__ void step_begin(worker &w, bool first) {
  if (first || w.batch == 0) order_make(w);
  w.rows = rows_of(w.batch);
  const row_place place = first ? row_place{rank_of(w.group, w.rows), -1} : *w.ahead;
  w.row = w.slot = place.row;
  w.from = place.from;
  w.scale = 1.0f / (float)(w.rows * (TAKES_CLASSES ? 1 : OUT));
  w.adds = false;
  w.loss = 0;
  w.misses = 0;
}

/* The group's rows of a step are done: what they came to, and the clock goes on to the next. */
static __device__ __forceinline__ void step_end(worker &w) {
  linear_wait(w); /* a group without a row too: no copy outlives its step */
  w.odd = !w.odd;
  if (w.thread == 0 && w.slot < w.rows) {
    w.s.losses[w.slot] = w.loss;
    w.s.misses[w.slot] = w.misses;
  }
  grid_arrive(w.s.barrier);
  w.step++;
  if (++w.batch == STEPS_PER_EPOCH) {
    w.batch = 0;
    w.epoch++;
  }
}

extern "C" __global__ void __launch_bounds__(GROUPS *THREADS, 1)
    cnn(const __grid_constant__ args s) {
  extern __shared__ __align__(16) float memory[]; /* [STAGED_FLOATS + GROUPS * GROUP_FLOATS] */
  __shared__ ep_permutation orders[GROUPS];
  __shared__ row_place places[GROUPS];
  __shared__ uint64_t arrival;
  int group = threadIdx.x / THREADS;
  worker w = {s};
  w.m = memory + STAGED_FLOATS + group * GROUP_FLOATS;
  w.staged = memory;
  w.order = &orders[group];
  w.ahead = &places[group];
  w.arrival = &arrival;
  w.group = group;
  w.thread = (int)threadIdx.x % THREADS;
  w.index = group * BLOCKS + (int)blockIdx.x;
  w.step = s.first_step;
  w.epoch = s.first_step / STEPS_PER_EPOCH;
  w.batch = (int)(s.first_step % STEPS_PER_EPOCH);
  /* Margins stay zero. */
#pragma unroll 1
  for (int i = w.thread; i < GROUP_FLOATS; i += THREADS) w.m[i] = 0;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&arrival), GROUPS * THREADS);
  __syncthreads();
  step_begin(w, true);
  unsigned times = 0;
  int rows = 0; /* of the step whose update is to come */
  bool fetched = false, updates = false;
  /* A turn is a row of the group, or an update. A block whose last group had no row waits longest
   * for the others: it fetches the next rows before the update, others behind it, while some may
   * still be at theirs. */
#pragma unroll 1
  for (long long at = 0; at < s.steps || updates;) {
    bool there = w.row < w.rows && at < s.steps;
    if (there && !fetched && (!updates || rank_of(GROUPS - 1, rows) >= rows)) {
      row_fetch(w);
      fetched = true;
    }
    if (updates) {
      grid_wait(s.barrier, ++times * BLOCKS);
      step_update(w, at - 1, rows);
      grid_arrive(s.barrier);
      times++;
      updates = false;
      continue;
    }
    if (!w.adds) {
      if (times > 0) grid_wait(s.barrier, times * BLOCKS);
      weights_take(w, memory);
    }
    if (there) row_forward<1>(w);
    if (w.thread / WARP == 1) row_ahead(w, at);
    if (there) {
      loss_run(w);
      head_wait(w, true);
      row_backward<STAGES - 1>(w);
    } else if (finds_order(w)) {
      order_find(w, at);
    }
    w.adds = true;
    w.row += WORKERS;
    w.from = -1;
    fetched = false;
    if (w.row < w.rows) continue;
    rows = w.rows;
    step_end(w);
    at++;
    step_begin(w, false);
    updates = true;
  }
}

#endif
