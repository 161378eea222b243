/* embedding.cuh: a first stage whose core is an embedding, for cuda/persistent. Each block has all
 * of the table, [WORDS, DIMENSION], and looks up the words of its rows, or, IS_SHARDED, takes their
 * vectors from shards.cuh. What it makes of a row are S::NUMBERS columns as they are, then a vector
 * for each of S::COLUMNS words. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EMBEDDING_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_EMBEDDING_CUH

#include "kernels/cuda/executors/persistent/shards.cuh"

/* --- forward --------------------------------------------------------------------------------- */

template <class S>
static __device__ __forceinline__ int word_at(const context &c, int row, int column) {
  return word_of<S>(c.input()[row * INPUT_LINE + S::NUMBERS + column]);
}

/* N rows' numbers of a piece: number(k, row of them). */
template <class S, int N, class NUMBER>
static __device__ __forceinline__ void piece_take(context &c, int column, int piece, int row,
                                                  NUMBER number) {
#pragma unroll
  for (int k = 0; k < PIECE; k++) {
    if (piece * PIECE + k >= S::DIMENSION) break;
    float of[N];
#pragma unroll
    for (int i = 0; i < N; i++) of[i] = number(k, i);
    value_take<S>(c, S::NUMBERS + column * S::DIMENSION + piece * PIECE + k, row, of);
  }
}

/* From the block's own table. */
template <class S> static __device__ __forceinline__ void vectors_look_up(context &c) {
  constexpr int PAIRS = ROWS / 2;
#pragma unroll 1
  for (int i = c.thread; i < S::COLUMNS * S::PIECES * PAIRS; i += THREADS) {
    const int row = i % PAIRS * 2, column = i / PAIRS / S::PIECES, piece = i / PAIRS % S::PIECES;
    const float *from[2];
#pragma unroll
    for (int k = 0; k < 2; k++)
      from[k] = memory + S::WEIGHTS + word_at<S>(c, row + k, column) * S::DIMENSION + piece * PIECE;
    piece_take<S, 2>(c, column, piece, row, [&](int k, int of) { return from[of][k]; });
  }
}

/* From those that have it. */
template <class S> static __device__ __forceinline__ void vectors_take(context &c) {
  constexpr int ALL = S::COLUMNS * S::PIECES * ROWS; /* pieces of all rows */
  constexpr int EACH = divide_up(ALL, THREADS), COUNT = EACH < LOADS ? EACH : LOADS;
#pragma unroll 1
  for (int first = c.thread; first < ALL; first += THREADS * COUNT) {
    float4 value[COUNT];
    const auto is_given = [&](int i) {
      return first + i * THREADS < ALL && c.is_valid((first + i * THREADS) % ROWS);
    };
    words_wait(
        c.of_rows,
        [&](int i) {
          const int at = first + i * THREADS;
          return is_given(i)
                     ? S::GIVEN_VECTORS + piece_at<S>(0, at / ROWS, c.first_row(0) + at % ROWS)
                     : -1;
        },
        ALL_WORDS, value);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      const int at = first + i * THREADS, piece = at / ROWS;
      if (at >= ALL) continue;
      const float of[PIECE] = {value[i].x, value[i].y, value[i].z, value[i].w};
      piece_take<S, 1>(c, piece / S::PIECES, piece % S::PIECES, at % ROWS,
                       [&](int k, int) { return is_given(i) ? of[k] : 0; });
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
  if constexpr (S::IS_SHARDED)
    vectors_take<S>(c);
  else
    vectors_look_up<S>(c);
}

/* --- backward -------------------------------------------------------------------------------- */

/* Adds number j of the gradients by some cells' vectors, LOADS at a time: lanes says which cells
 * from number `first` on. All of them have the same word, whose sum is `sum`, or, sums, each has
 * its word's there. */
template <class S>
static __device__ __forceinline__ void cells_add(const context &c, int first, unsigned lanes, int j,
                                                 float &sum, float *sums) {
  const float *grad = memory + S::GRAD + S::NUMBERS + j;
#pragma unroll 1
  while (lanes) {
    float value[LOADS];
    int word[LOADS]; /* -1: none */
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      const int lane = lane_take(lanes, -1), cell = first + max(lane, 0);
      const int row = cell / S::COLUMNS, column = cell % S::COLUMNS;
      word[k] = lane < 0 ? -1 : sums ? word_at<S>(c, row, column) : 0;
      value[k] = lane < 0 ? 0 : grad[row * S::GRAD_LINE + column * S::DIMENSION];
    }
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      if (!sums)
        sum += value[k];
      else if (word[k] >= 0)
        sums[word[k] * S::DIMENSION + j] += value[k];
    }
  }
}

/* The gradient by the table, by all micro-batches so far: a team of lanes, which have neighbouring
 * numbers of a vector, adds up what the cells of its words got, in their order. */
template <class S> static __device__ __forceinline__ void table_backward(const context &c) {
  using TEAMS = word_teams<lanes_for(S::DIMENSION)>;
  constexpr bool ONE_EACH = S::WORDS <= TEAMS::COUNT;
  constexpr int CELLS = ROWS * S::COLUMNS, LANES = TEAMS::LANES;
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
    float sum = ONE_EACH && adds && within ? sums[team * S::DIMENSION + j] : 0;
#pragma unroll 1
    for (int first = 0; first < CELLS; first += WARP) {
      const int cell = first + c.lane, row = cell / S::COLUMNS;
      const bool exists = cell < CELLS && c.is_valid(row);
      const unsigned mine = TEAMS::mine(c, exists ? word_at<S>(c, row, cell % S::COLUMNS) : -1);
      cells_add<S>(c, first, within ? mine : 0, j, sum, ONE_EACH ? nullptr : sums);
    }
    if (ONE_EACH && within) sums[team * S::DIMENSION + j] = sum;
  }
}

template <class S>
static __device__ __forceinline__ void embedding_backward(const context &c, own_words &own) {
  if constexpr (S::WEIGHT_TRAINS && !S::IS_SHARDED) {
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
