/* kernel.cuh: the kernel of cuda/persistent, compiled at run time for one program: one launch runs
 * all steps of a segment. Blocks are GROUPS groups of a batch's rows times SLICES slices of the
 * features of wide layers; parameters and optimizer state stay in shared memory and registers.
 *
 * A step: all stages forward, then backward; while blocks wait for each other they prepare what the
 * next steps take. Blocks exchange tagged words (tagged.cuh) in buffers that alternate by step: no
 * block is two steps ahead of one that it exchanges with, since in each step every block of a group
 * of rows waits for all others of it (the plan sees to that), and every block of a slice for the
 * gradients of all. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KERNEL_CUH

#include "kernels/cuda/executors/persistent/loss.cuh"
#include "kernels/cuda/executors/persistent/norms.cuh"
#include "kernels/cuda/executors/persistent/products.cuh"
#include "kernels/cuda/executors/persistent/update.cuh"

/* --- between exchanges ----------------------------------------------------------------------- */

/* What is done while other blocks' words are on their way. at: the step's number in the launch. */
static __device__ __forceinline__ void idle_work(const context &c, long long at) {
  metrics_sum(c, at - 1);
  metrics_collect(c, at - 2);
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    if constexpr (S::DROPOUTS > 0) masks_make<S>(c, c.step + 1, c.parity ^ 1);
  });
  if constexpr (!ROWS_STAY) {
    if constexpr (INPUT_BUFFERS > 1) rows_fetch(c, c.parity ^ 1);
    order_make(c, c.epoch, c.number + 2, c.parity);
    if (c.thread == THREADS - 1 && (c.number + 3) % STEPS_PER_EPOCH == 0)
      permutation_make(c, c.epoch + (c.number + 3) / STEPS_PER_EPOCH);
  }
}

/* --- forward --------------------------------------------------------------------------------- */

template <class S> static __device__ __forceinline__ void linear_forward(context &c, long long at) {
  constexpr int X_K = S::IS_FIRST ? 1 : LINE, X_ROW = S::IS_FIRST ? INPUT_LINE : 1;
  const float *x = S::IS_FIRST ? c.input() : memory + S::X;
  product<typename S::forward_tiling, S::OUTPUTS, S::INPUTS, 1, S::WEIGHT_LINE, X_K, X_ROW,
          S::TAKES_RAW>(c, memory + S::WEIGHTS, x, [&](int m, int row, const float(&of)[2]) {
    if constexpr (!S::SUMS_SLICES)
      value_take<S>(c, m, row, of);
    else if constexpr (S::SUMS_BY_ALL)
      c.give(S::GIVEN_SUMS + ((c.group * SLICES + c.slice) * S::OUT + m) * ROWS + row, of);
    else
      c.give(
          S::GIVEN_SUMS +
              (((c.group * SLICES + m / S::SHARE) * SLICES + c.slice) * S::SHARE + m % S::SHARE) *
                  ROWS +
              row,
          of);
  });
  if constexpr (S::IS_IDLE_SUM) idle_work(c, at);
  if constexpr (S::SUMS_SLICES) {
    if constexpr (S::forward_tiling::SPLITS > 1) __syncthreads(); /* the scratch */
    if constexpr (S::SUMS_BY_ALL) {
      reduce<SLICES, S::OUT * ROWS, S::OUT * ROWS>(
          c, c.exchange + S::GIVEN_SUMS + c.group * SLICES * S::OUT * ROWS, S::OUT * ROWS,
          [&](int, int word, const float(&of)[2]) {
            value_take<S>(c, word / ROWS, word % ROWS, of);
          });
    } else {
      const int share = part_of(S::OUT, S::SHARE, c.slice);
      reduce<SLICES, S::SHARE * ROWS, S::SHARE * ROWS>(
          c, c.exchange + S::GIVEN_SUMS + (c.group * SLICES + c.slice) * SLICES * S::SHARE * ROWS,
          share * ROWS, [&](int, int word, const float(&of)[2]) {
            if constexpr (S::SLICED)
              value_take<S>(c, word / ROWS, word % ROWS, of);
            else
              c.give(S::GIVEN_ALL + (c.group * S::OUT + c.slice * S::SHARE) * ROWS + word, of);
          });
      if constexpr (!S::SLICED)
        gather<S::OUT * ROWS / 4>(c, c.exchange + S::GIVEN_ALL + c.group * S::OUT * ROWS,
                                  [&](int vector, const float4 &of) {
                                    const int feature = vector / (ROWS / 4),
                                              row = vector % (ROWS / 4) * 4;
                                    const float lower[2] = {of.x, of.y}, upper[2] = {of.z, of.w};
                                    value_take<S>(c, feature, row, lower);
                                    value_take<S>(c, feature, row + 2, upper);
                                  });
    }
  }
}

template <class S> static __device__ __forceinline__ void forward(context &c, long long at) {
  if constexpr (S::IS_LINEAR)
    linear_forward<S>(c, at);
  else if constexpr (S::IS_BATCH_NORM)
    batch_norm_forward<S>(c);
  else
    layer_norm_forward<S>(c);
  if constexpr (S::GATHERS_VALUE) {
    if constexpr (S::IS_IDLE_GATHER) idle_work(c, at);
    slices_gather<S>(c, S::GIVEN_VALUE, S::FULL_VALUE);
  }
  if constexpr (S::IS_LAST && !TAKES_CLASSES) metrics_leave(c);
  __syncthreads();
  if constexpr (S::IS_LAST && TAKES_CLASSES) {
    classes_loss<S>(c);
    metrics_leave(c);
  }
}

/* --- backward -------------------------------------------------------------------------------- */

template <class S> static __device__ __forceinline__ const float *linear_grad() {
  return memory + (S::GATHERS_GRAD ? S::FULL_GRAD : S::GRAD);
}

/* The gradients by a linear stage's parameters, on this block's rows. */
template <class S> static __device__ __forceinline__ void parameters_backward(context &c) {
  const float *x = S::IS_FIRST ? c.input() : memory + S::X;
  if constexpr (S::WEIGHT_TRAINS || GROUPS > 1)
    weights_product<S::INPUTS, S::OUTPUTS, S::GRADIENT_TILES, S::IS_FIRST, S::TAKES_RAW>(
        c, x, linear_grad<S>(), [&](int k, int m, const float(&of)[2]) {
          const int word = k * S::WEIGHT_LINE + m, dense = S::DENSE + k * S::OUTPUTS + m;
          const float first[1] = {of[0]}, second[1] = {of[1]};
          if constexpr (S::OUTPUTS % 2 == 0 && S::WEIGHT_LINE % 2 == 0) {
            gradient_give(c, word, dense, of);
          } else {
            gradient_give(c, word, dense, first);
            if (m + 1 < S::OUTPUTS) gradient_give(c, word + 1, dense + 1, second);
          }
        });
  if constexpr (S::GIVES_BIAS)
    for (int f = THREADS - 1 - c.thread; f < S::FEATURES; f += THREADS) {
      const float *grad = memory + S::GRAD + f * LINE;
      float even = 0, odd = 0;
#pragma unroll
      for (int row = 0; row < ROWS; row += 4) {
        const float4 of = *(const float4 *)(grad + row);
        even += of.x + of.z, odd += of.y + of.w;
      }
      const float sum[1] = {even + odd};
      gradient_give(c, S::BIAS_WORD + f, S::DENSE_BIAS + f, sum);
    }
}

/* The gradient by a linear stage's input: to the stage P before it, or to those that sum it up. */
template <class S, class P> static __device__ __forceinline__ void input_backward(context &c) {
  const float *weights =
      memory + S::WEIGHTS + (S::TAKES_OWN_INPUTS ? c.slice * S::SHARE_BACK * S::WEIGHT_LINE : 0);
  product<typename S::backward_tiling, S::BACK_OUTPUTS, S::OUTPUTS, S::WEIGHT_LINE, 1, LINE, 1,
          false>(c, weights, linear_grad<S>(), [&](int k, int row, const float(&of)[2]) {
    if constexpr (!S::SUMS_BACK)
      grad_take<P>(c, k, row, of);
    else if constexpr (S::SUMS_BACK_BY_ALL)
      c.give(S::GIVEN_BACK + ((c.group * SLICES + c.slice) * S::IN + k) * ROWS + row, of);
    else
      c.give(S::GIVEN_BACK +
                 (((c.group * SLICES + k / S::SHARE_BACK) * SLICES + c.slice) * S::SHARE_BACK +
                  k % S::SHARE_BACK) *
                     ROWS +
                 row,
             of);
  });
}

template <class S, class P> static __device__ __forceinline__ void sums_backward(context &c) {
  if constexpr (S::SUMS_BACK_BY_ALL) {
    reduce<SLICES, S::IN * ROWS, S::IN * ROWS>(
        c, c.exchange + S::GIVEN_BACK + c.group * SLICES * S::IN * ROWS, S::IN * ROWS,
        [&](int, int word, const float(&of)[2]) { grad_take<P>(c, word / ROWS, word % ROWS, of); });
  } else {
    const int share = part_of(S::IN, S::SHARE_BACK, c.slice);
    reduce<SLICES, S::SHARE_BACK * ROWS, S::SHARE_BACK * ROWS>(
        c,
        c.exchange + S::GIVEN_BACK + (c.group * SLICES + c.slice) * SLICES * S::SHARE_BACK * ROWS,
        share * ROWS, [&](int, int word, const float(&of)[2]) {
          if constexpr (P::SLICED)
            grad_take<P>(c, word / ROWS, word % ROWS, of);
          else
            c.give(S::GIVEN_BACK_ALL + (c.group * S::IN + c.slice * S::SHARE_BACK) * ROWS + word,
                   of);
        });
    if constexpr (!P::SLICED)
      gather<S::IN * ROWS / 4>(c, c.exchange + S::GIVEN_BACK_ALL + c.group * S::IN * ROWS,
                               [&](int vector, const float4 &of) {
                                 const int feature = vector / (ROWS / 4),
                                           row = vector % (ROWS / 4) * 4;
                                 const float lower[2] = {of.x, of.y}, upper[2] = {of.z, of.w};
                                 grad_take<P>(c, feature, row, lower);
                                 grad_take<P>(c, feature, row + 2, upper);
                               });
  }
}

template <class P> constexpr bool is_in_place() {
  if constexpr (P::EXISTS)
    return P::IS_IN_PLACE;
  else
    return false;
}

template <class S, class P>
static __device__ __forceinline__ void linear_backward(context &c, own_words &own) {
  if constexpr (S::REGATHERS) slices_gather<P>(c, P::GIVEN_VALUE, P::FULL_VALUE);
  if constexpr (P::EXISTS && !is_in_place<P>()) input_backward<S, P>(c);
  if constexpr (S::REGATHERS) __syncthreads();
  parameters_backward<S>(c);
  if constexpr (GROUPS > 1) gaps_give<S>(c);
  __syncthreads();
  if constexpr (P::EXISTS && is_in_place<P>()) {
    input_backward<S, P>(c); /* which takes the place of the input */
    __syncthreads();
  }
  if constexpr (S::IS_FIRST && INPUT_BUFFERS == 1 && !ROWS_STAY) rows_fetch(c, c.parity ^ 1);
  if constexpr (GROUPS == 1) segment_update<S>(c, own);
  if constexpr (P::EXISTS && S::SUMS_BACK) sums_backward<S, P>(c);
}

template <class S, class P>
static __device__ __forceinline__ void norm_backward(context &c, own_words &own) {
  if constexpr (S::IS_BATCH_NORM)
    batch_norm_backward<S, P>(c);
  else
    layer_norm_backward<S, P>(c);
  if constexpr (GROUPS > 1) gaps_give<S>(c);
  if constexpr (GROUPS == 1) {
    __syncthreads();
    segment_update<S>(c, own);
  }
}

template <class S, class P>
static __device__ __forceinline__ void stage_backward(context &c, own_words &own) {
  if constexpr (S::IS_LINEAR)
    linear_backward<S, P>(c, own);
  else
    norm_backward<S, P>(c, own);
  if constexpr (P::EXISTS) grad_finish<P>(c);
}

/* Stages from the last to the first. */
template <class S>
static __device__ __forceinline__ void backward(sequence<S>, context &c, own_words &own) {
  stage_backward<S, no_stage>(c, own);
}
template <class S, class P, class... MORE>
static __device__ __forceinline__ void backward(sequence<S, P, MORE...>, context &c,
                                                own_words &own) {
  stage_backward<S, P>(c, own);
  backward(sequence<P, MORE...>{}, c, own);
}

/* --- a step ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ void step_begin(context &c, long long at) {
  c.step = c.s.first_step + at;
  if (at > 0) c.number++;
  if (c.number == STEPS_PER_EPOCH) c.number = 0, c.epoch++;
  c.parity = (int)(c.step & 1);
  c.tag = tag_of(c.step);
  c.exchange = c.s.exchange + c.parity * EXCHANGE_HALF;
  c.rows = rows_of(c.number);
  c.scale = 1.0f / (float)(c.rows * (TAKES_CLASSES ? 1 : OUT));
  c.update = update_of(c.s, at);
  c.loss = c.misses = 0;
}

/* Keeps the compiler from holding in registers, over steps, all that follows from a thread's
 * number. */
static __device__ __forceinline__ void threads_forget(context &c) {
  if constexpr (THREADS > 256) {
    asm volatile("" : "+r"(c.thread), "+r"(c.lane), "+r"(c.group), "+r"(c.slice));
    c.warp = __shfl_sync(ALL_LANES, c.thread / WARP, 0);
  }
}

static __device__ __forceinline__ void step_run(context &c, own_words &own, long long at) {
  threads_forget(c);
  step_begin(c, at);
  stages_each(network(), [&](auto stage) { forward<decltype(stage)>(c, at); });
  if constexpr (IDLES_BETWEEN) idle_work(c, at);
  backward(network_backward(), c, own);
  if constexpr (GROUPS > 1) {
    if constexpr (IDLES_AT_UPDATE) idle_work(c, at);
    chunk_update(c, own);
  }
  if constexpr (!ROWS_STAY) cp_async_wait_all();
  __syncthreads();
}

/* Everything is zero but what is loaded. */
static __device__ __forceinline__ void launch_begin(context &c, own_words &own) {
  for (int i = c.thread; i < MEMORY_WORDS; i += THREADS) memory[i] = 0;
  __syncthreads();
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    segment_load<S>(c);
    if constexpr (GROUPS == 1) state_load<S>(c, own);
  });
  __syncthreads();
  chunk_load(c, own);
  __syncthreads();
  copies_untag(c);
  c.epoch = c.s.first_step / STEPS_PER_EPOCH;
  c.number = (int)(c.s.first_step % STEPS_PER_EPOCH);
  if (c.thread < 2) permutation_make(c, c.epoch + c.thread);
  __syncthreads();
  const int parity = (int)(c.s.first_step & 1);
  order_make(c, c.epoch, c.number, parity);
  order_make(c, c.epoch, c.number + 1, parity ^ 1);
  __syncthreads();
  rows_fetch(c, parity);
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    if constexpr (S::DROPOUTS > 0) masks_make<S>(c, c.s.first_step, parity);
  });
  cp_async_wait_all();
  __syncthreads();
}

static __device__ __forceinline__ void launch_end(context &c, const own_words &own) {
  metrics_sum(c, c.s.steps - 1);
  metrics_collect(c, c.s.steps - 2);
  metrics_collect(c, c.s.steps - 1);
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    running_store<S>(c);
    if constexpr (GROUPS == 1) segment_store<S>(c, own);
  });
  chunk_store(c, own);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    persistent(const __grid_constant__ args s) {
  context c = {s, optimizer_of(s.optimizer)};
  own_words own;
  c.thread = (int)threadIdx.x;
  c.lane = c.thread % WARP;
  c.warp = __shfl_sync(ALL_LANES, c.thread / WARP, 0);
  c.group = (int)blockIdx.x / SLICES;
  c.slice = (int)blockIdx.x % SLICES;
  launch_begin(c, own);
#pragma unroll 1
  for (long long at = 0; at < s.steps; at++) step_run(c, own, at);
  launch_end(c, own);
}

#endif
