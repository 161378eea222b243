/* embedding.cuh: a first stage whose core is an embedding, for cuda/persistent. Each block has all
 * of the table, [WORDS, DIMENSION], and looks up the words of its rows, or, IS_KEPT, keepers have
 * it (keeper.cuh). What it makes of a row are S::NUMBERS columns as they are, then a vector for
 * each of S::COLUMNS words. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EMBEDDING_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EMBEDDING_CUH

#include "kernels/cuda/executors/persistent/keeper.cuh"

/* Of a row's column. */
template <class S>
static __device__ __forceinline__ int word_of(const context &c, int row, int column) {
  return table_word<S>(c.input()[row * INPUT_LINE + S::NUMBERS + column]);
}

/* A thread takes two rows' numbers of a piece at a time. */
template <class S> static __device__ __forceinline__ void vectors_look_up(context &c) {
  constexpr int PAIRS = ROWS / 2;
  const float *table = memory + S::WEIGHTS;
#pragma unroll 1
  for (int i = c.thread; i < S::COLUMNS * S::PIECES * PAIRS; i += THREADS) {
    const int row = i % PAIRS * 2, column = i / PAIRS / S::PIECES,
              first = i / PAIRS % S::PIECES * 4;
    const float *upper = table + word_of<S>(c, row, column) * S::DIMENSION + first;
    const float *lower = table + word_of<S>(c, row + 1, column) * S::DIMENSION + first;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      if (first + k >= S::DIMENSION) break;
      const float of[2] = {upper[k], lower[k]};
      value_take<S>(c, S::NUMBERS + column * S::DIMENSION + first + k, row, of);
    }
  }
}

/* The same of vectors that keepers give. */
template <class S> static __device__ __forceinline__ void vectors_take(context &c) {
  constexpr int PIECES = S::COLUMNS * S::PIECES * ROWS; /* of all rows */
  constexpr int EACH = divide_up(PIECES, THREADS), COUNT = EACH < LOADS ? EACH : LOADS;
#pragma unroll 1
  for (int first = c.thread; first < PIECES; first += THREADS * COUNT) {
    float4 value[COUNT];
    for (int turns = 0;; tagged_poll(turns)) {
      unsigned missing = 0;
#pragma unroll
      for (int i = 0; i < COUNT; i++) {
        const int at = first + i * THREADS, row = at % ROWS;
        value[i] = make_float4(0, 0, 0, 0);
        if (at >= PIECES || !c.is_valid(row)) continue;
        value[i] =
            c.of_rows.load4(S::GIVEN_VECTORS + piece_word<S>(0, at / ROWS, c.first_row(0) + row));
        missing |= c.of_rows.is_missing(value[i], ALL_WORDS);
      }
      if (!missing) break;
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      const int at = first + i * THREADS, row = at % ROWS, piece = at / ROWS;
      if (at >= PIECES) continue;
      const float of[4] = {value[i].x, value[i].y, value[i].z, value[i].w};
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const int number = piece % S::PIECES * 4 + k;
        const float one[1] = {untagged(of[k])};
        if (number < S::DIMENSION)
          value_take<S>(c, S::NUMBERS + piece / S::PIECES * S::DIMENSION + number, row, one);
      }
    }
  }
}

template <class S> static __device__ __forceinline__ void embedding_forward(context &c) {
  constexpr int PAIRS = ROWS / 2;
#pragma unroll 1
  for (int i = c.thread; i < S::NUMBERS * PAIRS; i += THREADS) {
    const float *x = c.input() + i % PAIRS * 2 * INPUT_LINE + i / PAIRS;
    const float of[2] = {x[0], x[INPUT_LINE]};
    value_take<S>(c, i / PAIRS, i % PAIRS * 2, of);
  }
  if constexpr (S::IS_KEPT)
    vectors_take<S>(c);
  else
    vectors_look_up<S>(c);
}

/* The gradient by the table, by all micro-batches so far. A team of lanes, which
 * have neighbouring numbers of a vector, has every TEAMS-th word, and adds up what the cells that
 * hold it got, in their order. */
template <class S> static __device__ __forceinline__ void table_backward(const context &c) {
  constexpr int LANES = S::DIMENSION < WARP ? power_above(S::DIMENSION) : WARP;
  constexpr int TEAMS = THREADS / LANES, PER_WARP = WARP / LANES, CELLS = ROWS * S::COLUMNS;
  constexpr int AHEAD = 4; /* cells that are loaded before the first of them is added */
  constexpr bool ONE_EACH = S::WORDS <= TEAMS;
  const int team = c.thread / LANES;
  const bool adds = MICRO_BATCHES > 1 && c.micro_batch > 0;
  float *sums = gradients_of<S>();
  if (!ONE_EACH && !adds) {
    for (int word = c.thread; word < S::BIAS_WORD; word += THREADS) sums[word] = 0;
    block_sync();
  }
#pragma unroll 1
  for (int j = c.lane % LANES; j < divide_up(S::DIMENSION, LANES) * LANES; j += LANES) {
    const bool within = j < S::DIMENSION && (!ONE_EACH || team < S::WORDS);
    const float *grad = memory + S::GRAD + (S::NUMBERS + j) * S::GRAD_FEATURE;
    float sum = ONE_EACH && adds && within ? sums[team * S::DIMENSION + j] : 0;
#pragma unroll 1
    for (int first = 0; first < CELLS; first += WARP) {
      const int cell = first + c.lane;
      const int owner =
          cell < CELLS ? word_of<S>(c, cell / S::COLUMNS, cell % S::COLUMNS) % TEAMS : -1;
      unsigned mine = 0;
#pragma unroll
      for (int i = 0; i < PER_WARP; i++) {
        const unsigned found = __ballot_sync(ALL_LANES, owner == c.warp * PER_WARP + i);
        if (c.lane / LANES == i) mine = found;
      }
#pragma unroll 1
      while (mine && within) {
        float value[AHEAD];
        int word[AHEAD]; /* -1: none */
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
          const int at = first + (mine ? __ffs(mine) - 1 : 0);
          const int row = at / S::COLUMNS, column = at % S::COLUMNS;
          word[k] = !mine ? -1 : ONE_EACH ? team : word_of<S>(c, row, column);
          value[k] = mine ? grad[row * S::GRAD_ROW + column * S::DIMENSION * S::GRAD_FEATURE] : 0;
          mine &= mine - 1;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
          if (ONE_EACH)
            sum += value[k];
          else if (word[k] >= 0)
            sums[word[k] * S::DIMENSION + j] += value[k];
        }
      }
    }
    if (ONE_EACH && within) sums[team * S::DIMENSION + j] = sum;
  }
}

template <class S>
static __device__ __forceinline__ void embedding_backward(const context &c, own_words &own) {
  if constexpr (S::WEIGHT_TRAINS && !S::IS_KEPT) {
    table_backward<S>(c);
    block_sync();
    if (c.is_last_micro_batch()) {
      if constexpr (GROUPS == 1) {
        segment_update<S>(c, own);
      } else {
#pragma unroll 1
        for (int word = c.thread * 2; word < S::BIAS_WORD; word += THREADS * 2) {
          float of[2];
          load(of, gradients_of<S>() + word);
          group_give(c, S::WEIGHTS + word, of);
        }
      }
    }
  }
  rows_refill(c);
}

#endif
