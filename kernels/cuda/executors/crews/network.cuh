/* network.cuh: what follows from the program's constants and the plan's, for cuda/crews. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_NETWORK_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_NETWORK_CUH

#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/executors/crews/args.h"

typedef ep_crews_args args;

constexpr int RANKS = EP_CREWS_RANKS, WARPS = EP_CREWS_WARPS, ROWS = EP_CREWS_ROWS;
constexpr int ROW_WARPS = WARPS - 1; /* the last one fetches rows */
constexpr int THREADS = WARPS * WARP, BLOCKS = CREWS * RANKS, LAST = LAYERS - 1;

constexpr int tiles_down(int l) {
  return (layer(l).outputs + 15) / 16;
}
/* Tiles of a block's weights: of eight outputs, of sixteen inputs. */
constexpr int down(int l) {
  return layer(l).outputs / 8;
}
constexpr int across(int l) {
  return layer(l).inputs / 16;
}
/* A rank's floats of a layer's piece. */
constexpr int piece_floats(int l) {
  return layer(l).outputs * layer(l).inputs + (layer(l).outputs + 3) / 4 * 4;
}
/* Where a layer's inputs lie, and what lands on its account. */
constexpr int place(int l) {
  return (l - FRONT) % 2 ? PLACE_SECOND : PLACE_FIRST;
}
/* The inputs of a layer of the front, by turns, or of the one behind it. */
constexpr int front_place(int l) {
  return l < FRONT ? FEATURES + l % 2 * 1024 : PLACE_FIRST;
}
/* Columns of four inputs of layer l whose gradient a block sums up. */
constexpr int columns_each(int l) {
  return (layer(l).inputs / 4 + RANKS - 1) / RANKS;
}

/* A block's barriers, one an exchange of a step. */
constexpr int GATHERS = 0, SCATTERS = LAYERS, PIECES = 2 * LAYERS, STAGES = 3 * LAYERS,
              REFETCH = 4 * LAYERS, SCORES = 4 * LAYERS + 1, FRONT_GATHER = 4 * LAYERS + 2,
              EXCHANGES = 4 * LAYERS + 3;

extern __shared__ __align__(128) float memory[];

template <int L> static __device__ __forceinline__ ep_op activation_of() {
  return activation_of(layer(L).activation, layer(L));
}

/* Rows that a warp has at hand, and where its block stands. */
struct row_set {
  const args &s;
  int warp, first; /* the first row, of the crew's */
  int valid;       /* rows of the batch behind it */
  unsigned rank, row_block /* the crew */, parity;
  float scale;       /* of the loss */
  unsigned barriers; /* the block's, [EXCHANGES] */

  __device__ __forceinline__ unsigned barrier(int exchange) const {
    return barriers + exchange * 8;
  }
};

#endif
