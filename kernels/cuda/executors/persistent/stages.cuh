/* stages.cuh: what is behind the core of a stage and in front of it, element by element, for
 * cuda/persistent.
 *
 * A stage S is a core (a linear layer, a norm, an embedding) and its tail: the activations and
 * dropouts behind it. numbers_at(S::VALUE)[feature * LINE + row] is what the tail makes. At S::GRAD
 * is first the tail's derivative, then the gradient by what the core makes, in the same order, but
 * an embedding's: [rows, GRAD_LINE]. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_STAGES_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_STAGES_CUH

#include "kernels/cuda/executors/persistent/exchange.cuh"
#include "kernels/cuda/executors/persistent/rows.cuh"
#include "kernels/cuda/executors/persistent/words.cuh"

struct no_stage {
  static constexpr bool EXISTS = false;
};

template <int N> static __device__ __forceinline__ void operands_round(float (&of)[N]) {
  if constexpr (!HALF) /* or they are when they are stored */
#pragma unroll
    for (int i = 0; i < N; i++) of[i] = operand_of<PRECISE>(of[i]);
}

/* N neighbouring rows of a feature's gradient. */
template <class S, int N>
static __device__ __forceinline__ void grad_load(float (&to)[N], int feature, int row) {
  if constexpr (S::IS_EMBEDDING) {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = memory[S::GRAD + (row + i) * S::GRAD_LINE + feature];
  } else {
    load(to, numbers_at(S::GRAD) + (feature * LINE + row));
  }
}
template <class S, int N>
static __device__ __forceinline__ void grad_store(int feature, int row, const float (&from)[N]) {
  if constexpr (S::IS_EMBEDDING) {
#pragma unroll
    for (int i = 0; i < N; i++) memory[S::GRAD + (row + i) * S::GRAD_LINE + feature] = from[i];
  } else {
    store(numbers_at(S::GRAD) + (feature * LINE + row), from);
  }
}

/* The loss of elements of the network's output y, and the gradient by what is before the tail. */
template <class S, int N>
static __device__ __forceinline__ void elements_loss(context &c, int feature, int row,
                                                     const float (&y)[N], float (&derivative)[N]) {
  const float *target = c.input() + row * INPUT_LINE + TARGETS_AT + c.first<S>() + feature;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float wanted = target[i * INPUT_LINE];
    const bool valid = c.is_valid(row + i);
    c.loss += valid ? ep_loss_value(LOSS, y[i], wanted, c.s.loss_parameter) : 0;
    c.misses += valid && ep_loss_misses(LOSS, y[i], wanted) ? 1 : 0;
    derivative[i] =
        valid ? derivative[i] * c.scale * ep_loss_derivative(LOSS, y[i], wanted, c.s.loss_parameter)
              : 0;
  }
}

/* What the core made of N neighbouring rows of a feature of this block, without its bias: the tail
 * runs, and the value goes where it is asked for. */
template <class S, int N>
static __device__ __forceinline__ void value_take(context &c, int feature, int row,
                                                  const float (&core)[N]) {
  if (feature >= c.features<S>()) return;
  float value[N], derivative[N];
#pragma unroll
  for (int i = 0; i < N; i++) {
    value[i] = core[i];
    derivative[i] = 1;
    if constexpr (S::IS_LINEAR && S::HAS_BIAS) value[i] += memory[S::BIAS + feature];
    S::tail(element_masks<S>{c, feature * ROWS + row + i}, value[i], derivative[i]);
  }
  const int at = feature * LINE + row;
  if constexpr (S::IS_LAST) {
    if constexpr (TAKES_CLASSES) {
      store(memory + S::SCORES + at, value); /* until the whole row is there: classes_loss */
      if constexpr (S::HAS_TAIL) store(numbers_at(S::VALUE) + at, derivative);
    } else {
      elements_loss<S>(c, feature, row, value, derivative);
      if constexpr (S::IS_LINEAR) operands_round(derivative);
      grad_store<S>(feature, row, derivative);
    }
  } else {
    if constexpr (S::IS_OPERAND && !S::IS_IN_PLACE) operands_round(value);
    store(numbers_at(S::VALUE) + at, value);
    if constexpr (S::HAS_TAIL && !S::IS_IN_PLACE) grad_store<S>(feature, row, derivative);
    if constexpr (S::GATHERS_VALUE)
      c.of_rows.give(S::GIVEN_VALUE + (c.group * S::OUT + c.first<S>() + feature) * ROWS + row,
                     value);
  }
}

/* The gradient by a feature of an embedding, to the shard that has the cell's word. GIVES_SHARE: a
 * slice has it of some features; else all have it of all. */
template <class S, int N>
static __device__ __forceinline__ void vector_grad_give(const context &c, int feature, int row,
                                                        const float (&grad)[N]) {
  if (!S::WEIGHT_TRAINS || feature < S::NUMBERS || (!S::GIVES_SHARE && c.slice > 0)) return;
  const int column = (feature - S::NUMBERS) / S::DIMENSION;
  const int number = (feature - S::NUMBERS) % S::DIMENSION;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float of[1] = {grad[i]};
    c.of_rows.give(S::GIVEN_VECTOR_GRADS +
                       piece_at<S>(column, number / PIECE, c.first_row(0) + row + i) +
                       number % PIECE,
                   of);
  }
}

/* The gradient by N neighbouring rows of a feature of a stage's value becomes that by what its core
 * made. */
template <class S, int N>
static __device__ __forceinline__ void grad_take(context &c, int feature, int row,
                                                 const float (&by_value)[N]) {
  if (feature >= c.features<S>()) return;
  float grad[N];
  if constexpr (S::HAS_TAIL) grad_load<S>(grad, feature, row);
#pragma unroll
  for (int i = 0; i < N; i++) {
    if constexpr (S::IS_IN_PLACE) grad[i] = S::derivative_of(grad[i]);
    grad[i] = S::HAS_TAIL ? grad[i] * by_value[i] : by_value[i];
  }
  if constexpr (S::IS_LINEAR) operands_round(grad);
  if constexpr (S::IS_SHARDED)
    vector_grad_give<S>(c, feature, row, grad);
  else
    grad_store<S>(feature, row, grad);
  if constexpr (S::GATHERS_GRAD)
    c.of_rows.give(S::GIVEN_GRAD + (c.group * S::OUT + c.first<S>() + feature) * ROWS + row, grad);
}

/* All blocks' slices of a value, or of a gradient, to [OUT, LINE]. */
template <class S>
static __device__ __forceinline__ void slices_gather(const context &c, int given, int to) {
  gather<S::OUT * ROWS / 4>(
      c, c.of_rows, given + c.group * S::OUT * ROWS, [&](int vector, const float4 &value) {
        const int feature = vector / (ROWS / 4), row = vector % (ROWS / 4) * 4;
        const float of[4] = {value.x, value.y, value.z, value.w};
        store(numbers_at(to) + feature * LINE + row, of);
      });
  /* Lines behind the last are multiplied by what may be weights; another stage left its own. */
  constexpr int BEHIND = (TERMS - S::OUT % TERMS) % TERMS * ROWS;
  for (int i = c.thread; i < BEHIND; i += THREADS)
    numbers_at(to)[(S::OUT + i / ROWS) * LINE + i % ROWS] = 0;
}

/* Behind grad_take for all of a stage: the gradient is there for all threads. */
template <class S> static __device__ __forceinline__ void grad_finish(const context &c) {
  if constexpr (S::GATHERS_GRAD) slices_gather<S>(c, S::GIVEN_GRAD, S::FULL_GRAD);
  block_sync();
}

/* --- gradients by parameters ----------------------------------------------------------------- */

/* The gradients by a parameter, or by two neighbours, of all rows of this block, to the one that
 * has the word's chunk. */
template <int N>
static __device__ __forceinline__ void group_give(const context &c, int word,
                                                  const float (&value)[N]) {
  if constexpr (CLUSTERED)
    c.of_words.give_to(word / CHUNK, GIVEN_GRADIENTS + c.group * CHUNK + word % CHUNK, value);
  else
    c.of_words.give(GIVEN_GRADIENTS + (c.slice * GROUPS + c.group) * VECTOR_WORDS + word, value);
}

/* Where a stage's sums of gradients are: each stage's apart, if more micro-batches follow. */
template <class S> static __device__ __forceinline__ float *gradients_of() {
  return memory + GRADIENT + (MICRO_BATCHES > 1 ? S::WEIGHTS : 0);
}

/* The gradient by a word of a stage's segment, or by two neighbours, on this micro-batch: added to
 * those of the ones before. With the last one it goes to this block, which has all rows, or to the
 * groups' sum. The same thread has the same words in each micro-batch. */
template <class S, int N>
static __device__ __forceinline__ void gradient_give(const context &c, int word,
                                                     float (&value)[N]) {
  float *to = gradients_of<S>() + word;
  if constexpr (MICRO_BATCHES > 1) {
    float sum[N];
    load(sum, to);
#pragma unroll
    for (int i = 0; i < N; i++) value[i] += c.micro_batch > 0 ? sum[i] : 0;
  }
  if (GROUPS == 1 || !c.is_last_micro_batch())
    store(to, value);
  else
    group_give(c, S::WEIGHTS + word, value);
}

#endif
