/* shards.cuh: the table of an embedding that is not in every block, for cuda/persistent. SHARDS
 * blocks beside those of the rows have it in shared memory for a whole launch, with its optimizer
 * state: number k of them the words k, k + SHARDS, …, as [SHARD_WORDS, DIMENSION]. In each step a
 * shard finds the cells of the batch that hold its words, gives their vectors to the blocks of the
 * rows, takes the gradients by them, and updates. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_SHARDS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_SHARDS_CUH

#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/executors/persistent/update.cuh"
#include "kernels/cuda/executors/persistent/words.cuh"

static_assert(SHARDS == 0 || MICRO_BATCHES == 1, "cells are those of a step");
static_assert(SHARD_LIST % WARP == 0, "whole warps look through them");

constexpr unsigned ROWS_BLOCKS = GROUPS * SLICES, BLOCKS = ROWS_BLOCKS + SHARDS;

/* --- the ends of steps ----------------------------------------------------------------------- */

/* A shard may have no cell in a step, and then waits for no word. A counter bounds the distance: a
 * block ends a step only after all have ended the one before. In front of a barrier of the block,
 * behind which it may look at the next step's words: a place in the exchange that nobody gave to
 * would have a word of four steps before, with the same tag. */
static __device__ __forceinline__ void ends_wait(const context &c) {
  const unsigned ended = (unsigned)(c.step - c.s.first_step);
  if (SHARDS > 0 && c.thread == 0)
    counter_wait((unsigned *)(c.s.exchange + ENDS_COUNTER), ended * BLOCKS);
}
/* Behind a barrier behind which the block has read all of a step. That all wait first makes the sum
 * say how often each has come here. */
static __device__ __forceinline__ void ends_add(const context &c) {
  if (SHARDS > 0 && c.thread == 0) counter_add((unsigned *)(c.s.exchange + ENDS_COUNTER));
}

/* --- a shard's memory ------------------------------------------------------------------------ */

/* [SHARD_WORDS, DIMENSION] each: its part of the table, the gradients by it, each slot of state. */
template <class S> constexpr int shard_numbers() {
  return SHARD_WORDS * S::DIMENSION;
}
template <class S> static __device__ __forceinline__ float *shard_table() {
  return memory;
}
template <class S> static __device__ __forceinline__ float *shard_gradient() {
  return memory + shard_numbers<S>();
}
template <class S> static __device__ __forceinline__ float *shard_state(int slot) {
  return memory + (2 + slot) * shard_numbers<S>();
}

static __device__ __forceinline__ int shard_number() {
  return (int)(blockIdx.x - ROWS_BLOCKS);
}

/* run(number of the shard's table, parameter); those of words that exist. */
template <class S, class RUN>
static __device__ __forceinline__ void shard_each(const context &c, RUN run) {
  for (int i = c.thread; i < shard_numbers<S>(); i += THREADS) {
    const int word = i / S::DIMENSION * SHARDS + shard_number();
    if (word < S::WORDS) run(i, S::PARAMETER + word * S::DIMENSION + i % S::DIMENSION);
  }
}

/* --- the cells that hold its words ----------------------------------------------------------- */

/* cell: column of a row of the batch; line: of the shard's table. Each below 2^16. */
struct shard_cell {
  unsigned both;

  static __device__ __forceinline__ shard_cell of(int cell, int line) {
    return {(unsigned)cell << 16 | (unsigned)line};
  }
  __device__ __forceinline__ int line() const { return (int)(both & 0xffff); }
  template <class S> __device__ __forceinline__ int column() const {
    return (int)(both >> 16) % S::COLUMNS;
  }
  template <class S> __device__ __forceinline__ int batch_row() const {
    return (int)(both >> 16) / S::COLUMNS;
  }
};

/* Each warp lists those of SHARD_LIST neighbouring cells, in their order. */
static __device__ __forceinline__ shard_cell *list_at(int parity, int warp) {
  return (shard_cell *)(memory + SHARD_CELLS) + (parity * WARPS + warp) * SHARD_LIST;
}
static __device__ __forceinline__ int *list_count(int parity, int warp) {
  return (int *)(memory + SHARD_COUNTS) + parity * WARPS + warp;
}
static __device__ __forceinline__ ep_permutation *shard_order() {
  return (ep_permutation *)(memory + SHARD_ORDER);
}

/* The word that a cell of a step holds. Rows that a smaller batch lacks are shared out: each place
 * of the exchange is given to in each step. */
template <class S>
static __device__ __forceinline__ int cell_word(const context &c, int number, int cell) {
  const int row = cell / S::COLUMNS;
  if (row >= rows_of(number)) return cell % S::WORDS;
  const unsigned at = (unsigned)(number * BATCH_ROWS + row);
  const long long from = SHUFFLES ? ep_permutation_at(shard_order(), at) : at;
  return word_of<S>(c.s.rows[from * ROW_WORDS + S::NUMBERS + cell % S::COLUMNS]);
}

/* Lists the cells of step `number` of an epoch. All threads call; the lists are there behind a
 * barrier. */
template <class S>
static __device__ __forceinline__ void cells_list(const context &c, long long epoch, int number,
                                                  int parity, bool new_epoch) {
  shard_cell *list = list_at(parity, c.warp);
  int count = 0;
  if (SHUFFLES && new_epoch) {
    if (c.warp == 0) permutation_make(c, epoch, shard_order());
    block_sync();
  }
#pragma unroll 1
  for (int i = c.lane; i < SHARD_LIST; i += WARP) {
    const int cell = c.warp * SHARD_LIST + i;
    const int word = cell < BATCH_ROWS * S::COLUMNS ? cell_word<S>(c, number, cell) : -1;
    const bool is_mine = word >= 0 && word % SHARDS == shard_number();
    const unsigned found = __ballot_sync(ALL_LANES, is_mine);
    if (is_mine)
      list[count + __popc(found & ((1u << c.lane) - 1))] = shard_cell::of(cell, word / SHARDS);
    count += __popc(found);
  }
  if (c.lane == 0) *list_count(parity, c.warp) = count;
}

/* --- a step ---------------------------------------------------------------------------------- */

/* Each warp: the vectors of the cells of its list. */
template <class S> static __device__ __forceinline__ void vectors_give(const context &c) {
  const shard_cell *list = list_at(c.parity, c.warp);
  const int count = *list_count(c.parity, c.warp) * S::PIECES;
#pragma unroll 1
  for (int i = c.lane; i < count; i += WARP) {
    const shard_cell cell = list[i / S::PIECES];
    const int piece = i % S::PIECES;
    const float *from = shard_table<S>() + cell.line() * S::DIMENSION + piece * PIECE;
    float value[PIECE];
#pragma unroll
    for (int k = 0; k < PIECE; k++) value[k] = piece * PIECE + k < S::DIMENSION ? from[k] : 0;
    const float lower[2] = {value[0], value[1]}, upper[2] = {value[2], value[3]};
    const int to = S::GIVEN_VECTORS + piece_at<S>(cell.column<S>(), piece, cell.batch_row<S>());
    c.of_rows.give(to, lower);
    c.of_rows.give(to + 2, upper);
  }
}

/* Adds a piece of the gradients by some cells' vectors, LOADS at a time: lanes says which of those
 * from `list` on. */
template <class S>
static __device__ __forceinline__ void pieces_add(const context &c, const shard_cell *list,
                                                  unsigned lanes, int piece) {
  const int numbers = min(PIECE, S::DIMENSION - piece * PIECE);
#pragma unroll 1
  while (lanes && numbers > 0) {
    float4 grad[LOADS];
    int to[LOADS], from[LOADS]; /* -1: none */
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      const int lane = lane_take(lanes, -1);
      const shard_cell cell = list[lane < 0 ? 0 : lane];
      to[k] = cell.line() * S::DIMENSION + piece * PIECE;
      from[k] = lane < 0 ? -1
                         : S::GIVEN_VECTOR_GRADS +
                               piece_at<S>(cell.column<S>(), piece, cell.batch_row<S>());
    }
    words_wait(
        c.of_rows, [&](int k) { return from[k]; }, (1u << numbers) - 1, grad);
#pragma unroll
    for (int k = 0; k < LOADS; k++) {
      const float of[PIECE] = {grad[k].x, grad[k].y, grad[k].z, grad[k].w};
#pragma unroll
      for (int q = 0; q < PIECE; q++)
        if (from[k] >= 0 && q < numbers) shard_gradient<S>()[to[k] + q] += of[q];
    }
  }
}

/* Adds up the gradients by the shard's words: a team of lanes, which have neighbouring pieces of a
 * vector, what the cells of its words got, in their order. */
template <class S> static __device__ __forceinline__ void vectors_add(const context &c) {
  using TEAMS = word_teams<lanes_for(S::PIECES)>;
#pragma unroll 1
  for (int first = 0; first < S::PIECES; first += TEAMS::LANES)
#pragma unroll 1
    for (int warp = 0; warp < WARPS; warp++) {
      const shard_cell *list = list_at(c.parity, warp);
      const int count = *list_count(c.parity, warp);
#pragma unroll 1
      for (int i = 0; i < count; i += WARP) {
        const bool exists = i + c.lane < count && list[i + c.lane].template batch_row<S>() < c.rows;
        const unsigned mine = TEAMS::mine(c, exists ? list[i + c.lane].line() : -1);
        pieces_add<S>(c, list + i, mine, first + c.lane % TEAMS::LANES);
      }
    }
}

/* Updates all words of the shard, also those that no cell holds, and clears the gradients. */
template <class S> static __device__ __forceinline__ void shard_update(const context &c) {
  const float decay = DECAYS ? c.s.decay[S::NUMBER][0] : 0;
#pragma unroll 4
  for (int i = c.thread; i < shard_numbers<S>(); i += THREADS) {
    float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) state[slot] = shard_state<S>(slot)[i];
    float *number = shard_table<S>() + i, *grad = shard_gradient<S>() + i;
    *number = ep_optimizer_update(&c.optimizer, &c.update, decay, *number,
                                  ep_clip(&c.optimizer, 1, *grad), state, 1);
    *grad = 0;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) shard_state<S>(slot)[i] = state[slot];
  }
}

/* --- a launch -------------------------------------------------------------------------------- */

template <class S> static __device__ __forceinline__ void shard_load(const context &c) {
  shard_each<S>(c, [&](int i, int parameter) {
    shard_table<S>()[i] = c.s.parameters[parameter];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      shard_state<S>(slot)[i] = c.s.state[(long long)slot * PARAMETERS + parameter];
  });
}
template <class S> static __device__ __forceinline__ void shard_store(const context &c) {
  shard_each<S>(c, [&](int i, int parameter) {
    c.s.parameters[parameter] = shard_table<S>()[i];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      c.s.state[(long long)slot * PARAMETERS + parameter] = shard_state<S>(slot)[i];
  });
}

/* A shard's launch. All threads that compute call; shared memory is zero. */
template <class S> static __device__ __forceinline__ void shard_run(context &c) {
  shard_load<S>(c);
  cells_list<S>(c, c.epoch, c.number, (int)(c.s.first_step & 1), true);
  block_sync();
#pragma unroll 1
  for (long long at = 0; at < c.s.steps; at++) {
    step_begin(c, at);
    micro_batch_begin(c, 0);
    c.update = update_of(c.s, at);
    vectors_give<S>(c);
    const bool last = c.number + 1 == STEPS_PER_EPOCH;
    cells_list<S>(c, c.epoch + last, last ? 0 : c.number + 1, c.parity ^ 1, last);
    block_sync();
    if constexpr (S::WEIGHT_TRAINS) vectors_add<S>(c);
    ends_wait(c);
    block_sync();
    ends_add(c);
    if constexpr (S::WEIGHT_TRAINS) shard_update<S>(c);
    block_sync();
  }
  if constexpr (S::WEIGHT_TRAINS) shard_store<S>(c);
}

#endif
