/* words.cuh: the words of an embedding, for cuda/persistent: numbers of the input that choose rows
 * of its table. A cell is one of them: a column of a row of the batch. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_WORDS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_WORDS_CUH

#include "kernels/cuda/executors/persistent/context.cuh"

constexpr int PIECE = EP_PERSISTENT_PIECE; /* numbers of a vector that are exchanged together */

/* The data are checked where they come from; nothing else may reach beyond the table. */
template <class S> static __device__ __forceinline__ int word_of(float cell) {
  return cell > 0 ? min((int)cell, S::WORDS - 1) : 0;
}

/* IS_SHARDED: where a piece of a cell's vector, or of the gradient by it, lies in the exchange. */
template <class S>
static __device__ __forceinline__ int piece_at(int column, int piece, int batch_row) {
  return ((column * S::PIECES + piece) * (GROUPS * ROWS) + batch_row) * PIECE;
}

constexpr int lanes_for(int count) {
  return count < WARP ? power_above(count) : WARP;
}

/* Teams of neighbouring lanes share out words, or rows of a table: number t of COUNT teams has
 * number t, t + COUNT, … */
template <int LANES_> struct word_teams {
  static constexpr int LANES = LANES_, COUNT = THREADS / LANES, PER_WARP = WARP / LANES;

  /* A warp, whose lanes have a word each, or -1: which lanes' are the calling lane's team's. */
  static __device__ __forceinline__ unsigned mine(const context &c, int word) {
    const int team = word < 0 ? -1 : word % COUNT;
    unsigned lanes = 0;
#pragma unroll
    for (int i = 0; i < PER_WARP; i++) {
      const unsigned found = __ballot_sync(ALL_LANES, team == c.warp * PER_WARP + i);
      if (c.lane / LANES == i) lanes = found;
    }
    return lanes;
  }
};

/* Takes the lowest lane out of a set; `none` of an empty one. */
static __device__ __forceinline__ int lane_take(unsigned &lanes, int none) {
  const int lane = lanes ? __ffs(lanes) - 1 : none;
  lanes &= lanes - 1;
  return lane;
}

#endif
