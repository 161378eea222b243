/* keeper.cuh: the table of an embedding that is not in every block, for cuda/persistent. KEEPERS
 * blocks beside those of the rows hold it in shared memory for a whole launch, with its optimizer
 * state: number k of them the words k, k + KEEPERS, …, as [KEPT, DIMENSION]. In each step a keeper
 * finds the cells of the batch that hold its words, gives their vectors to the blocks of the rows,
 * takes the gradients by them, and updates.
 *
 * A keeper may have no word in a step: it would not wait for others by words alone. So each block
 * arrives at a counter when it has read all of a step, once all have arrived for the step before,
 * whose words' places the next step's take. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KEEPER_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_KEEPER_CUH

#include "kernels/cuda/device/grid_barrier.cuh"
#include "kernels/cuda/executors/persistent/update.cuh"

constexpr unsigned ROWS_BLOCKS = GROUPS * SLICES;

/* --- the pace -------------------------------------------------------------------------------- */

static __device__ __forceinline__ unsigned *pace_counter(const context &c) {
  return (unsigned *)(c.s.exchange + PACE);
}
/* At the end of a step, between two barriers of the block. That all wait before they arrive makes
 * the sum say how often each has. */
static __device__ __forceinline__ void pace_keep(const context &c) {
  if (KEEPERS == 0 || c.thread > 0) return;
  const long long at = c.step - c.s.first_step;
  counter_wait(pace_counter(c), (unsigned)at * (ROWS_BLOCKS + KEEPERS));
  counter_add(pace_counter(c));
}

/* --- a keeper's memory ----------------------------------------------------------------------- */

/* KEPT words: their vectors, the gradients by them, and, from KEPT_STATE on, each slot of state. */
template <class S> constexpr int kept_words() {
  return KEPT * S::DIMENSION;
}
template <class S> static __device__ __forceinline__ float *kept_table() {
  return memory;
}
template <class S> static __device__ __forceinline__ float *kept_gradient() {
  return memory + kept_words<S>();
}
template <class S> static __device__ __forceinline__ float *kept_state(int slot) {
  return memory + (2 + slot) * kept_words<S>();
}
static __device__ __forceinline__ int keeper_of() {
  return (int)(blockIdx.x - ROWS_BLOCKS);
}

/* run(word of the kept ones, parameter); all of them that exist. */
template <class S, class RUN>
static __device__ __forceinline__ void kept_each(const context &c, RUN run) {
  for (int i = c.thread; i < kept_words<S>(); i += THREADS) {
    const int word = i / S::DIMENSION * KEEPERS + keeper_of();
    if (word < S::WORDS) run(i, S::PARAMETER + word * S::DIMENSION + i % S::DIMENSION);
  }
}

/* --- which cells hold its words -------------------------------------------------------------- */

/* Each warp lists those of LISTED neighbouring cells of a batch, in their order. */
struct hit {
  unsigned word;
  __device__ __forceinline__ int cell() const { return (int)(word >> 16); }
  __device__ __forceinline__ int kept() const {
    return (int)(word & 0xffff);
  } /* of the kept words */
};
static __device__ __forceinline__ hit *hits_at(int parity, int warp) {
  return (hit *)(memory + KEPT_HITS) + (parity * WARPS + warp) * LISTED;
}
static __device__ __forceinline__ int *hits_count(int parity, int warp) {
  return (int *)(memory + KEPT_COUNTS) + parity * WARPS + warp;
}
static __device__ __forceinline__ ep_permutation *kept_order() {
  return (ep_permutation *)(memory + KEPT_ORDER);
}

/* Those of step `number` of an epoch. Rows that a smaller batch lacks hold word 0: each place of
 * the exchange is given to in each step, or its old words would have a later step's tag. All
 * threads call; the lists are there behind a barrier. */
template <class S>
static __device__ __forceinline__ void hits_list(const context &c, long long epoch, int number,
                                                 int parity, bool new_epoch) {
  const int rows = rows_of(number), first = c.warp * LISTED;
  hit *list = hits_at(parity, c.warp);
  int count = 0;
  if (SHUFFLES && new_epoch) {
    if (c.warp == 0) permutation_make(c, epoch, kept_order());
    block_sync();
  }
#pragma unroll 1
  for (int i = c.lane; i < LISTED; i += WARP) {
    const int cell = first + i, row = cell / S::COLUMNS;
    int word = 0;
    if (row < rows) {
      const unsigned at = (unsigned)(number * BATCH_ROWS + row);
      const long long from = SHUFFLES ? ep_permutation_at(kept_order(), at) : at;
      word = table_word<S>(c.s.rows[from * ROW_WORDS + S::NUMBERS + cell % S::COLUMNS]);
    }
    const bool is_mine = row < BATCH_ROWS && word % KEEPERS == keeper_of();
    const unsigned found = __ballot_sync(ALL_LANES, is_mine);
    if (is_mine)
      list[count + __popc(found & ((1u << c.lane) - 1))] = {(unsigned)cell << 16 |
                                                            (unsigned)(word / KEEPERS)};
    count += __popc(found);
  }
  if (c.lane == 0) *hits_count(parity, c.warp) = count;
}

/* --- a step ---------------------------------------------------------------------------------- */

/* Each warp: the vectors that the cells of its list hold. */
template <class S> static __device__ __forceinline__ void vectors_give(const context &c) {
  const hit *list = hits_at(c.parity, c.warp);
  const int count = *hits_count(c.parity, c.warp) * S::PIECES;
#pragma unroll 1
  for (int i = c.lane; i < count; i += WARP) {
    const hit of = list[i / S::PIECES];
    const int piece = i % S::PIECES;
    const float *from = kept_table<S>() + of.kept() * S::DIMENSION + piece * 4;
    float value[4];
#pragma unroll
    for (int k = 0; k < 4; k++) value[k] = piece * 4 + k < S::DIMENSION ? from[k] : 0;
    const float lower[2] = {value[0], value[1]}, upper[2] = {value[2], value[3]};
    const int to =
        S::GIVEN_VECTORS + piece_word<S>(of.cell() % S::COLUMNS, piece, of.cell() / S::COLUMNS);
    c.of_rows.give(to, lower);
    c.of_rows.give(to + 2, upper);
  }
}

/* Adds up the gradients by the kept words. A team of lanes, which have neighbouring pieces of a
 * vector, has every TEAMS-th word, and takes what its cells got, in their order. */
template <class S> static __device__ __forceinline__ void vectors_add(const context &c) {
  constexpr int LANES = S::PIECES < WARP ? power_above(S::PIECES) : WARP;
  constexpr int TEAMS = THREADS / LANES, PER_WARP = WARP / LANES;
#pragma unroll 1
  for (int piece = c.lane % LANES; piece < divide_up(S::PIECES, LANES) * LANES; piece += LANES) {
    const int numbers = min(4, S::DIMENSION - piece * 4); /* of the piece; none: below 1 */
#pragma unroll 1
    for (int warp = 0; warp < WARPS; warp++) {
      const hit *list = hits_at(c.parity, warp);
      const int count = *hits_count(c.parity, warp);
#pragma unroll 1
      for (int first = 0; first < count; first += WARP) {
        const int owner = first + c.lane < count ? list[first + c.lane].kept() % TEAMS : -1;
        unsigned mine = 0;
#pragma unroll
        for (int i = 0; i < PER_WARP; i++) {
          const unsigned found = __ballot_sync(ALL_LANES, owner == c.warp * PER_WARP + i);
          if (c.lane / LANES == i) mine = found;
        }
#pragma unroll 1
        while (mine && numbers > 0) {
          float4 grad[LOADS];
          int to[LOADS], from[LOADS]; /* -1: none */
#pragma unroll
          for (int k = 0; k < LOADS; k++) {
            const hit of = list[first + (mine ? __ffs(mine) - 1 : 0)];
            to[k] = mine ? of.kept() * S::DIMENSION + piece * 4 : -1;
            from[k] = S::GIVEN_VECTOR_GRADS +
                      piece_word<S>(of.cell() % S::COLUMNS, piece, of.cell() / S::COLUMNS);
            mine &= mine - 1;
          }
          for (int turns = 0;; tagged_poll(turns)) {
            unsigned missing = 0;
#pragma unroll
            for (int k = 0; k < LOADS; k++)
              if (to[k] >= 0) grad[k] = c.of_rows.load4(from[k]);
#pragma unroll
            for (int k = 0; k < LOADS; k++)
              if (to[k] >= 0) missing |= c.of_rows.is_missing(grad[k], (1u << numbers) - 1);
            if (!missing) break;
          }
#pragma unroll
          for (int k = 0; k < LOADS; k++) {
            if (to[k] < 0) continue;
            const float of[4] = {grad[k].x, grad[k].y, grad[k].z, grad[k].w};
#pragma unroll
            for (int q = 0; q < 4; q++)
              if (q < numbers) kept_gradient<S>()[to[k] + q] += untagged(of[q]);
          }
        }
      }
    }
  }
}

/* Updates all kept words, also those that no cell holds, and clears the gradients. */
template <class S> static __device__ __forceinline__ void kept_update(const context &c) {
  const float decay = DECAYS ? c.s.decay[S::NUMBER][0] : 0;
#pragma unroll 4
  for (int i = c.thread; i < kept_words<S>(); i += THREADS) {
    float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) state[slot] = kept_state<S>(slot)[i];
    float *word = kept_table<S>() + i, *grad = kept_gradient<S>() + i;
    *word = ep_optimizer_update(&c.optimizer, &c.update, decay, *word,
                                ep_clip(&c.optimizer, 1, *grad), state, 1);
    *grad = 0;
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) kept_state<S>(slot)[i] = state[slot];
  }
}

/* --- a launch -------------------------------------------------------------------------------- */

template <class S> static __device__ __forceinline__ void kept_load(const context &c) {
  kept_each<S>(c, [&](int i, int parameter) {
    kept_table<S>()[i] = c.s.parameters[parameter];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      kept_state<S>(slot)[i] = c.s.state[(long long)slot * PARAMETERS + parameter];
  });
}
template <class S> static __device__ __forceinline__ void kept_store(const context &c) {
  kept_each<S>(c, [&](int i, int parameter) {
    c.s.parameters[parameter] = kept_table<S>()[i];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      c.s.state[(long long)slot * PARAMETERS + parameter] = kept_state<S>(slot)[i];
  });
}

/* A keeper's launch. All threads that compute call; shared memory is zero. */
template <class S> static __device__ __forceinline__ void keeper_run(context &c) {
  kept_load<S>(c);
  hits_list<S>(c, c.epoch, c.number, (int)(c.s.first_step & 1), true);
  block_sync();
#pragma unroll 1
  for (long long at = 0; at < c.s.steps; at++) {
    step_begin(c, at);
    micro_batch_begin(c, 0);
    c.update = update_of(c.s, at);
    vectors_give<S>(c);
    const bool last = c.number + 1 == STEPS_PER_EPOCH;
    hits_list<S>(c, c.epoch + last, last ? 0 : c.number + 1, c.parity ^ 1, last);
    block_sync();
    if constexpr (S::WEIGHT_TRAINS) vectors_add<S>(c);
    block_sync();
    pace_keep(c);
    if constexpr (S::WEIGHT_TRAINS) kept_update<S>(c);
    block_sync();
  }
  if constexpr (S::WEIGHT_TRAINS) kept_store<S>(c);
}

#endif
