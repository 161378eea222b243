/* steps.cuh: the kernel of cuda/cnn, compiled at run time for one program. All steps of a segment
 * run in one launch of blocks that stay, one a multiprocessor. A block has groups of threads; a
 * group takes a row of the batch through the whole network, there and back, with everything about
 * it in shared memory. Then all wait for each other, the groups add up the gradients and update
 * the parameters, and wait again; meanwhile they fetch the next step's rows. */
#ifndef EP_KERNELS_CUDA_CNN_STEPS_CUH
#define EP_KERNELS_CUDA_CNN_STEPS_CUH

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/cnn/conv.cuh"
#include "kernels/cuda/cnn/pools.cuh"
#include "kernels/cuda/cnn/update.cuh"

/* --- weights --------------------------------------------------------------------------------- */

/* The block copies all weights to where its groups read them. */
template <int S> static __device__ __forceinline__ void weights_stage(const span &s, float *to) {
  if constexpr (S < STAGES) {
    if constexpr (stage(S).type == EP_LAYER_CONV2D) {
      using C = conv<S>;
      constexpr int COUNT = C::OC * C::IC * C::K, ALL_THREADS = GROUPS * THREADS;
      constexpr int TURNS = parts_of(COUNT, ALL_THREADS), AT_ONCE = TURNS < 10 ? TURNS : 10;
#pragma unroll 1
      for (int first = threadIdx.x; first < COUNT; first += AT_ONCE * ALL_THREADS) {
        float weight[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
          if (first + i * ALL_THREADS < COUNT)
            weight[i] = s.parameters[C::A.weight + first + i * ALL_THREADS];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
          int at = first + i * ALL_THREADS;
          if (at < COUNT) to[C::A.staged + at / C::K * C::PITCH + at % C::K] = weight[i];
        }
      }
    }
    if constexpr (stage(S).type == EP_LAYER_LINEAR && stage(S).staged >= 0) linear_stage<S>(s, to);
    weights_stage<S + 1>(s, to);
  }
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
  linear_wait(w); /* a group without a row too: no copy outlives its step */
  w.odd = !w.odd;
  if (w.thread == 0) {
    w.s.losses[w.index] = w.loss;
    w.s.misses[w.index] = w.misses;
  }
  all_arrive(w.s);
  all_wait(w.s, ++times * BLOCKS);
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
  __shared__ uint64_t arrival;
  int group = threadIdx.x / THREADS;
  worker w = {s};
  w.m = memory + STAGED_FLOATS + group * GROUP_FLOATS;
  w.staged = memory;
  w.order = &orders[group];
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
  if (threadIdx.x == 0)
    asm volatile(
        "mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(&arrival)),
        "n"(GROUPS * THREADS)
        : "memory");
  __syncthreads();
  step_begin(w, false);
  unsigned times = 0;
  /* A turn is a row of the group. It is fetched while the others may still be at the update. */
#pragma unroll 1
  for (long long at = 0; at < s.steps;) {
    bool there = w.row < w.rows;
    if (there) row_fetch(w);
    if (!w.adds) {
      if (times > 0) all_wait(s, times * BLOCKS);
      weights_stage<1>(s, memory);
      linear_begun(w);
      __syncthreads();
    }
    if (there) {
      row_forward<1>(w);
      loss_run(w);
      head_wait(w, true);
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
