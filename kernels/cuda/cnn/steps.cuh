/* steps.cuh: the kernel of cuda/cnn, compiled at run time for one program. All steps of a segment
 * run in one launch of blocks that stay, one a multiprocessor. A block has groups of threads; a
 * group takes a row of the batch through the whole network, there and back, with everything about
 * it in shared memory. Then all wait for each other, the groups add up the gradients and update
 * the parameters, and wait again; meanwhile they fetch the next step's rows. */
#ifndef EP_KERNELS_CUDA_CNN_STEPS_CUH
#define EP_KERNELS_CUDA_CNN_STEPS_CUH

#include "kernels/cuda/cnn/conv.cuh"
#include "kernels/cuda/cnn/pools.cuh"
#include "kernels/cuda/cnn/update.cuh"

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

/* --- a row ----------------------------------------------------------------------------------- */

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
    group_wait(w);
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

static __device__ __forceinline__ int rows_of(int batch) {
  return batch == STEPS_PER_EPOCH - 1 ? TRAIN_ROWS - (STEPS_PER_EPOCH - 1) * BATCH_ROWS
                                      : BATCH_ROWS;
}

/* Makes w the worker of the step at hand. */
static __device__ __forceinline__ void step_begin(worker &w, bool ordered) {
  if (!ordered || w.batch == 0) order_make(w);
  w.rows = rows_of(w.batch);
  w.row = w.index;
  w.scale = 1.0f / (float)(w.rows * (TAKES_CLASSES ? 1 : OUT));
  w.adds = false;
  w.loss = 0;
  w.misses = 0;
}

static __device__ __forceinline__ void step_end(worker &w, long long at, unsigned &times) {
  if (w.thread == 0) {
    w.s.losses[w.index] = w.loss;
    w.s.misses[w.index] = w.misses;
  }
  all_arrive(w.s);
  all_wait(w.s, ++times);
  step_update(w, at);
  all_arrive(w.s);
  times++;
  w.step++;
  if (++w.batch == STEPS_PER_EPOCH) {
    w.batch = 0;
    w.epoch++;
  }
}

extern "C" __global__ void __launch_bounds__(GROUPS *THREADS, 1)
    cnn(const __grid_constant__ span s) {
  extern __shared__ __align__(16) float memory[]; /* [STAGED_FLOATS + GROUPS * GROUP_FLOATS] */
  __shared__ ep_permutation orders[GROUPS];
  int group = threadIdx.x / THREADS;
  worker w = {s};
  w.m = memory + STAGED_FLOATS + group * GROUP_FLOATS;
  w.staged = memory;
  w.order = &orders[group];
  w.group = group;
  w.thread = (int)threadIdx.x % THREADS;
  w.index = group * BLOCKS + (int)blockIdx.x;
  w.step = s.first_step;
  w.epoch = s.first_step / STEPS_PER_EPOCH;
  w.batch = (int)(s.first_step % STEPS_PER_EPOCH);
  /* Margins stay zero. */
  for (int i = w.thread; i < GROUP_FLOATS; i += THREADS) w.m[i] = 0;
  group_wait(w);
  step_begin(w, false);
  unsigned times = 0;
  /* A turn is a row of the group. It is fetched while the others may still be at the update. */
  for (long long at = 0; at < s.steps;) {
    bool there = w.row < w.rows;
    if (there) row_fetch(w);
    if (!w.adds) {
      if (times > 0) all_wait(s, times);
      weights_stage<1>(s, memory);
      __syncthreads();
    }
    if (there) {
      row_forward<1>(w);
      loss_run(w);
      group_wait(w);
      row_backward<STAGES - 1>(w);
    }
    w.adds = true;
    w.row += WORKERS;
    if (w.row < w.rows) continue;
    step_end(w, at++, times);
    step_begin(w, true);
  }
}

#endif
