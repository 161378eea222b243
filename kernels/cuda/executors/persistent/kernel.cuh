/* kernel.cuh: the kernel of cuda/persistent, compiled at run time for one program: one launch runs
 * all steps of a segment. Blocks are GROUPS groups of a batch's rows times SLICES slices of the
 * features of wide layers, and SHARDS that have an embedding's table between them (shards.cuh);
 * parameters and optimizer state stay in shared memory and registers.
 *
 * A step: for each micro-batch of a group's rows all stages forward, then backward; then the
 * update. Blocks exchange tagged words (tagged.cuh) in buffers that alternate, by micro-batch or by
 * step: no block is two of them ahead of one that it exchanges with, since in each micro-batch
 * every block of a group of rows waits for all others of it (the plan sees to that), and in each
 * step every block of a slice for the gradients of all; with SHARDS a counter does it. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KERNEL_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KERNEL_CUH

#include "kernels/cuda/executors/persistent/embedding.cuh"
#include "kernels/cuda/executors/persistent/loss.cuh"
#include "kernels/cuda/executors/persistent/norms.cuh"
#include "kernels/cuda/executors/persistent/products.cuh"
#include "kernels/cuda/executors/persistent/shards.cuh"
#include "kernels/cuda/executors/persistent/update.cuh"

/* --- between exchanges ----------------------------------------------------------------------- */

/* A warp: the losses of the steps before. */
static __device__ __forceinline__ void metrics_bring(const context &c) {
  const long long at = c.step - c.s.first_step;
  if (c.micro_batch > 0) return;
  metrics_sum(c, at - 1);
  metrics_collect(c, at - 2);
}

/* A warp: the order of the micro-batch after the next. */
static __device__ __forceinline__ void order_prepare(const context &c) {
  if constexpr (!ROWS_STAY)
    order_make(c, c.epoch, c.number * MICRO_BATCHES + c.micro_batch + 2, c.parity);
}

/* What is done while other blocks' words are on their way. */
static __device__ __forceinline__ void idle_work(const context &c) {
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    if constexpr (S::DROPOUTS > 0)
      masks_make<S>(c, c.step + c.is_last_micro_batch(),
                    c.is_last_micro_batch() ? 0 : c.micro_batch + 1, c.parity ^ 1);
  });
  if constexpr (!HELPED) {
    if constexpr (INPUT_BUFFERS > 1) rows_fetch(c, c.thread, THREADS, c.parity ^ 1);
    if (c.warp == 0) metrics_bring(c);
    if (c.warp == WARPS - 1) order_prepare(c);
  }
}

/* --- forward --------------------------------------------------------------------------------- */

/* What a linear stage takes: the input's rows, or numbers. */
template <class S> static __device__ __forceinline__ auto *operand_x(const context &c) {
  if constexpr (S::IS_FIRST)
    return (const float *)c.input();
  else
    return (const number *)numbers_at(S::X);
}

template <class S> static __device__ __forceinline__ void linear_forward(context &c) {
  constexpr int X_K = S::IS_FIRST ? 1 : LINE, X_ROW = S::IS_FIRST ? INPUT_LINE : 1;
  const auto *x = operand_x<S>(c);
  product<typename S::forward_tiling, S::OUTPUTS, S::INPUTS, 1, S::WEIGHT_LINE, X_K, X_ROW,
          S::TAKES_RAW>(c, memory + S::WEIGHTS, x, [&](int m, int row, const float(&of)[2]) {
    if constexpr (!S::SUMS_SLICES)
      value_take<S>(c, m, row, of);
    else if constexpr (S::SUMS_BY_ALL)
      c.of_rows.give(S::GIVEN_SUMS + ((c.group * SLICES + c.slice) * S::OUT + m) * ROWS + row, of);
    else
      c.of_rows.give(
          S::GIVEN_SUMS +
              (((c.group * SLICES + m / S::SHARE) * SLICES + c.slice) * S::SHARE + m % S::SHARE) *
                  ROWS +
              row,
          of);
  });
  if constexpr (S::IS_IDLE_SUM) idle_work(c);
  if constexpr (S::SUMS_SLICES) {
    if constexpr (S::forward_tiling::SPLITS > 1) block_sync(); /* the scratch */
    if constexpr (S::SUMS_BY_ALL) {
      reduce<SLICES, S::OUT * ROWS, S::OUT * ROWS>(
          c, c.of_rows, S::GIVEN_SUMS + c.group * SLICES * S::OUT * ROWS, S::OUT * ROWS,
          [&](int, int word, const float(&of)[2]) {
            value_take<S>(c, word / ROWS, word % ROWS, of);
          });
    } else {
      const int share = part_of(S::OUT, S::SHARE, c.slice);
      reduce<SLICES, S::SHARE * ROWS, S::SHARE * ROWS>(
          c, c.of_rows, S::GIVEN_SUMS + (c.group * SLICES + c.slice) * SLICES * S::SHARE * ROWS,
          share * ROWS, [&](int, int word, const float(&of)[2]) {
            if constexpr (S::SLICED)
              value_take<S>(c, word / ROWS, word % ROWS, of);
            else
              c.of_rows.give(S::GIVEN_ALL + (c.group * S::OUT + c.slice * S::SHARE) * ROWS + word,
                             of);
          });
      if constexpr (!S::SLICED)
        gather<S::OUT * ROWS / 4>(c, c.of_rows, S::GIVEN_ALL + c.group * S::OUT * ROWS,
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

template <class S> static __device__ __forceinline__ void forward(context &c) {
  if constexpr (S::IS_LINEAR)
    linear_forward<S>(c);
  else if constexpr (S::IS_EMBEDDING)
    embedding_forward<S>(c);
  else if constexpr (S::IS_BATCH_NORM)
    batch_norm_forward<S>(c);
  else
    layer_norm_forward<S>(c);
  if constexpr (S::GATHERS_VALUE) {
    if constexpr (S::IS_IDLE_GATHER) idle_work(c);
    slices_gather<S>(c, S::GIVEN_VALUE, S::FULL_VALUE);
  }
  if constexpr (S::IS_LAST && !TAKES_CLASSES) metrics_leave(c);
  block_sync();
  if constexpr (S::IS_LAST && TAKES_CLASSES) {
    classes_loss<S>(c);
    metrics_leave(c);
  }
}

/* --- backward -------------------------------------------------------------------------------- */

template <class S> static __device__ __forceinline__ const number *linear_grad() {
  return numbers_at(S::GATHERS_GRAD ? S::FULL_GRAD : S::GRAD);
}

/* The gradients by a linear stage's parameters, on this block's rows. */
template <class S, int FIRST>
static __device__ __forceinline__ void parameters_backward(context &c) {
  if constexpr (S::WEIGHT_TRAINS)
    weights_product<S::INPUTS, S::OUTPUTS, S::GRADIENT_TILES, FIRST, S::IS_FIRST, S::TAKES_RAW>(
        c, operand_x<S>(c), linear_grad<S>(), [&](int k, int m, float(&of)[2]) {
          const int word = k * S::WEIGHT_LINE + m;
          float first[1] = {of[0]}, second[1] = {of[1]};
          if constexpr (S::OUTPUTS % 2 == 0 && S::WEIGHT_LINE % 2 == 0) {
            gradient_give<S>(c, word, of);
          } else {
            gradient_give<S>(c, word, first);
            if (m + 1 < S::OUTPUTS) gradient_give<S>(c, word + 1, second);
          }
        });
  if constexpr (S::BIAS_TRAINS)
    for (int f = THREADS - 1 - c.thread; f < S::FEATURES; f += THREADS) {
      const number *grad = numbers_at(S::GRAD) + f * LINE;
      float even = 0, odd = 0;
#pragma unroll 4
      for (int row = 0; row < ROWS; row += 4) {
        float of[4];
        load(of, grad + row);
        even += of[0] + of[2], odd += of[1] + of[3];
      }
      float sum[1] = {even + odd};
      gradient_give<S>(c, S::BIAS_WORD + f, sum);
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
      c.of_rows.give(S::GIVEN_BACK + ((c.group * SLICES + c.slice) * S::IN + k) * ROWS + row, of);
    else
      c.of_rows.give(
          S::GIVEN_BACK +
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
        c, c.of_rows, S::GIVEN_BACK + c.group * SLICES * S::IN * ROWS, S::IN * ROWS,
        [&](int, int word, const float(&of)[2]) { grad_take<P>(c, word / ROWS, word % ROWS, of); });
  } else {
    const int share = part_of(S::IN, S::SHARE_BACK, c.slice);
    reduce<SLICES, S::SHARE_BACK * ROWS, S::SHARE_BACK * ROWS>(
        c, c.of_rows, S::GIVEN_BACK + (c.group * SLICES + c.slice) * SLICES * S::SHARE_BACK * ROWS,
        share * ROWS, [&](int, int word, const float(&of)[2]) {
          if constexpr (P::SLICED)
            grad_take<P>(c, word / ROWS, word % ROWS, of);
          else if constexpr (P::IS_SHARDED)
            grad_take<P>(c, c.slice * S::SHARE_BACK + word / ROWS, word % ROWS, of);
          else
            c.of_rows.give(
                S::GIVEN_BACK_ALL + (c.group * S::IN + c.slice * S::SHARE_BACK) * ROWS + word, of);
        });
    if constexpr (!P::SLICED && !P::IS_SHARDED)
      gather<S::IN * ROWS / 4>(c, c.of_rows, S::GIVEN_BACK_ALL + c.group * S::IN * ROWS,
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
  constexpr bool INPUT_FIRST = P::EXISTS && !is_in_place<P>();
  if constexpr (INPUT_FIRST) input_backward<S, P>(c);
  if constexpr (S::REGATHERS) block_sync();
  parameters_backward<S, INPUT_FIRST && !S::REGATHERS ? S::backward_tiling::FREE : 0>(c);
  block_sync();
  if constexpr (P::EXISTS && is_in_place<P>()) {
    input_backward<S, P>(c); /* which takes the place of the input */
    block_sync();
  }
  if constexpr (S::IS_FIRST) rows_refill(c);
  if constexpr (GROUPS == 1)
    if (c.is_last_micro_batch()) segment_update<S>(c, own);
  if constexpr (P::EXISTS && S::SUMS_BACK) sums_backward<S, P>(c);
}

template <class S, class P>
static __device__ __forceinline__ void norm_backward(context &c, own_words &own) {
  if constexpr (S::IS_BATCH_NORM)
    batch_norm_backward<S, P>(c);
  else
    layer_norm_backward<S, P>(c);
  if constexpr (GROUPS == 1) {
    block_sync();
    if (c.is_last_micro_batch()) segment_update<S>(c, own);
  }
}

template <class S, class P>
static __device__ __forceinline__ void stage_backward(context &c, own_words &own) {
  if constexpr (S::IS_LINEAR)
    linear_backward<S, P>(c, own);
  else if constexpr (S::IS_EMBEDDING)
    embedding_backward<S>(c, own);
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
  c.update = update_of(c.s, at);
#pragma unroll 1
  for (int number = 0; number < MICRO_BATCHES; number++) {
    micro_batch_begin(c, number);
    stages_each(network(), [&](auto stage) { forward<decltype(stage)>(c); });
    if constexpr (IDLES_BETWEEN) idle_work(c);
    backward(network_backward(), c, own);
    if constexpr (GROUPS > 1) {
      if constexpr (IDLES_AT_UPDATE) idle_work(c);
      if (c.is_last_micro_batch()) chunk_update(c, own);
    }
    if constexpr (!(HELPED && INPUT_BUFFERS > 1) && !ROWS_STAY) cp_async_wait_all();
    ends_wait(c);
    all_sync();
    ends_add(c);
  }
}

/* --- a launch -------------------------------------------------------------------------------- */

/* The helper's steps. */
static __device__ __forceinline__ void steps_help(context &c) {
#pragma unroll 1
  for (long long at = 0; at < c.s.steps; at++) {
    step_begin(c, at);
#pragma unroll 1
    for (int number = 0; number < MICRO_BATCHES; number++) {
      micro_batch_begin(c, number);
      if constexpr (INPUT_BUFFERS > 1) rows_fetch(c, c.lane, WARP, c.parity ^ 1);
      metrics_bring(c);
      order_prepare(c);
      if constexpr (INPUT_BUFFERS > 1) cp_async_wait_all();
      all_sync();
    }
  }
}

/* A warp: the first rows, and the orders of two micro-batches. */
static __device__ __forceinline__ void rows_begin(const context &c) {
  const int first = (int)(c.s.first_step * MICRO_BATCHES & 1);
  permutation_make(c, c.epoch, permutation());
#pragma unroll 1
  for (int i = 0; i < 2; i++) {
    order_make(c, c.epoch, c.number * MICRO_BATCHES + i, first ^ i);
    if (i == 0) rows_fetch(c, c.lane, WARP, first);
  }
  cp_async_wait_all();
}

/* A warp: the losses that are under way. */
static __device__ __forceinline__ void metrics_end(const context &c) {
  metrics_sum(c, c.s.steps - 1);
  metrics_collect(c, c.s.steps - 2);
  metrics_collect(c, c.s.steps - 1);
}

/* CLUSTERED: nothing has arrived of the first two of `half` words each from number `first` on. */
static __device__ __forceinline__ void exchange_clear(const context &c, int at, int half,
                                                      long long first) {
  for (int i = c.thread; i < 2 * half; i += BLOCK_THREADS) {
    const long long number = first + (((first & 1) != 0) != (i >= half));
    memory[EXCHANGE + at + i] = __uint_as_float(tag_of(number) ? 0 : ~0u);
  }
}

/* Everything is zero but what is loaded. */
static __device__ __forceinline__ void launch_begin(context &c, own_words &own) {
  words_load(c);
  own_load(c, own);
  const long long first = c.s.first_step * MICRO_BATCHES;
  stages_each(network(), [&](auto stage) {
    using S = decltype(stage);
    running_load<S>(c);
    if constexpr (S::DROPOUTS > 0) masks_make<S>(c, c.s.first_step, 0, (int)(first & 1));
  });
}

static __device__ __forceinline__ void launch_end(context &c, const own_words &own) {
  stages_each(network(), [&](auto stage) { running_store<decltype(stage)>(c); });
  own_store(c, own);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    persistent(const __grid_constant__ args s) {
  context c = {s, optimizer_of(s.optimizer)};
  c.thread = (int)threadIdx.x;
  c.lane = c.thread % WARP;
  c.warp = __shfl_sync(ALL_LANES, c.thread / WARP, 0);
  c.group = (int)blockIdx.x / SLICES;
  c.slice = (int)blockIdx.x % SLICES;
  c.epoch = s.first_step / STEPS_PER_EPOCH;
  c.number = (int)(s.first_step % STEPS_PER_EPOCH);
  for (int i = c.thread; i < MEMORY_WORDS; i += BLOCK_THREADS) memory[i] = 0;
  all_sync();
  if constexpr (CLUSTERED) {
    exchange_clear(c, 0, ROWS_HALF, s.first_step * MICRO_BATCHES);
    exchange_clear(c, 2 * ROWS_HALF, WORDS_HALF, s.first_step);
    __syncwarp();
    cluster_sync();
  }
  if constexpr (SHARDS > 0)
    if (blockIdx.x >= ROWS_BLOCKS) {
      if (c.warp < WARPS) shard_run<stage0>(c);
      return;
    }
  if (c.warp == BLOCK_THREADS / WARP - 1) rows_begin(c);
  if (HELPED && c.warp == WARPS) {
    all_sync();
    steps_help(c);
  } else {
    own_words own;
    launch_begin(c, own);
    all_sync();
#pragma unroll 1
    for (long long at = 0; at < s.steps; at++) step_run(c, own, at);
    launch_end(c, own);
  }
  if (c.warp == BLOCK_THREADS / WARP - 1) metrics_end(c);
  if constexpr (CLUSTERED) { /* others may still store here */
    __syncwarp();
    cluster_sync();
  }
}

#endif
