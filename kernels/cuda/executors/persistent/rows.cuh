/* rows.cuh: the rows of the next micro-batches and the masks of their dropouts, which
 * cuda/persistent prepares while it waits for other blocks, or with a warp of its own. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_ROWS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_ROWS_CUH

#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/executors/persistent/context.cuh"

/* --- orders ---------------------------------------------------------------------------------- */

/* Of two micro-batches, each at the parity of its number. */
static __device__ __forceinline__ int *order_at(int parity) {
  return (int *)(memory + ORDER) + parity * ROWS;
}
static __device__ __forceinline__ ep_permutation *permutation() {
  return (ep_permutation *)(memory + PERMUTATION);
}

/* A warp: the permutation of an epoch's rows, in the place of the one before. */
static __device__ __forceinline__ void permutation_make(const context &c, long long epoch,
                                                        ep_permutation *to) {
  if (!SHUFFLES) return;
  __syncwarp();
  if (c.lane == 0) *to = ep_permutation_make(c.s.seed, EP_RANDOM_SHUFFLE, epoch, TRAIN_ROWS);
  __syncwarp();
}

/* A warp: which rows of the training set a micro-batch takes; -1: none. at: its number in `epoch`,
 * or behind its last; it follows the one that was asked for before. */
static __device__ __forceinline__ void order_make(const context &c, long long epoch, int at,
                                                  int parity) {
  constexpr int PER_EPOCH = STEPS_PER_EPOCH * MICRO_BATCHES, EACH = divide_up(ROWS, WARP);
  if (at >= PER_EPOCH) {
    epoch += at / PER_EPOCH;
    at %= PER_EPOCH;
    if (at == 0) permutation_make(c, epoch, permutation());
  }
  const int number = at / MICRO_BATCHES, first = c.first_row(at % MICRO_BATCHES) + c.lane;
  unsigned row[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    const bool exists = first + i * WARP < rows_of(number);
    row[i] = exists ? number * BATCH_ROWS + first + i * WARP : 0;
  }
  if (SHUFFLES) ep_permutation_each(permutation(), row, EACH);
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (c.lane + i * WARP < ROWS)
      order_at(parity)[c.lane + i * WARP] = first + i * WARP < rows_of(number) ? (int)row[i] : -1;
  __syncwarp();
}

/* Starts the copies of a micro-batch's rows: x, and behind it y. Thread number `thread` of
 * `threads`. */
static __device__ __forceinline__ void rows_fetch(const context &c, int thread, int threads,
                                                  int parity) {
  constexpr int EACH = ROW_WORDS / 4;
  const int *order = order_at(parity);
  float *to = memory + INPUT + (INPUT_BUFFERS > 1 ? parity * ROWS * INPUT_LINE : 0);
#pragma unroll 4
  for (int i = thread; i < ROWS * EACH; i += threads) {
    const int row = i / EACH, column = i % EACH * 4, from = order[row];
    cp_async_16(to + row * INPUT_LINE + column,
                c.s.rows + (long long)max(from, 0) * ROW_WORDS + column, from >= 0);
  }
  cp_async_commit();
}

/* Once nothing reads a micro-batch's rows any more: the next ones, where they have no place of
 * their own. */
static __device__ __forceinline__ void rows_refill(const context &c) {
  if constexpr (INPUT_BUFFERS == 1 && !ROWS_STAY) rows_fetch(c, c.thread, THREADS, c.parity ^ 1);
}

/* --- masks ----------------------------------------------------------------------------------- */

/* Of dropout `number` of a stage: [features, ROWS]. */
template <class S>
static __device__ __forceinline__ unsigned char *mask_at(int number, int parity) {
  return (unsigned char *)(memory + S::MASKS) + (number * 2 + parity) * S::FEATURES * ROWS;
}

/* The words of elements 4 quad + shift … 4 quad + shift + 3. */
template <bool ALIGNED>
static __device__ __forceinline__ ep_random4 mask_words(const context &c, long long step, int layer,
                                                        long long element) {
  const int shift = ALIGNED ? 0 : (int)(element & 3);
  const ep_random4 words = ep_dropout_words(c.s.seed, step, layer, element >> 2);
  if (shift == 0) return words;
  const ep_random4 more = ep_dropout_words(c.s.seed, step, layer, (element >> 2) + 1);
  ep_random4 out;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const int at = k + shift;
    unsigned word = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if (at == i) word = words.word[i];
      if (at == i + 4) word = more.word[i];
    }
    out.word[k] = word;
  }
  return out;
}

template <class S>
static __device__ __forceinline__ void masks_make(const context &c, long long step, int micro_batch,
                                                  int parity) {
  constexpr bool ALIGNED = S::OUT % 4 == 0 && (!S::SLICED || S::SLICE % 4 == 0);
  const int first = c.first_row(micro_batch);
#pragma unroll 1
  for (int number = 0; number < S::DROPOUTS; number++) {
    unsigned char *mask = mask_at<S>(number, parity);
    const int layer = S::dropout_layer(number);
    const float p = S::dropout_p(number);
#pragma unroll 1
    for (int i = c.thread; i < divide_up(S::FEATURES, 4) * ROWS; i += THREADS) {
      const int row = i % ROWS, feature = i / ROWS * 4;
      const long long element = (long long)(first + row) * S::OUT + c.first<S>() + feature;
      const ep_random4 words = mask_words<ALIGNED>(c, step, layer, element);
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (feature + k < S::FEATURES)
          mask[(feature + k) * ROWS + row] = ep_dropout_word_keeps(words.word[k], p);
    }
  }
}

/* Of one element, as a stage's tail asks for it. */
template <class S> struct element_masks {
  const context &c;
  int at; /* of the element in a mask */
  __device__ __forceinline__ bool keeps(int number) const {
    return mask_at<S>(number, c.parity)[at] != 0;
  }
};

#endif
