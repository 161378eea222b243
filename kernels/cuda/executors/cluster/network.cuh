/* network.cuh: what follows from the program's constants and the plan's, for cuda/cluster. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_NETWORK_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_NETWORK_CUH

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/executors/cluster/args.h"

typedef ep_cluster_args args;

constexpr int THREADS = WARPS * WARP, BLOCKS = ROW_BLOCKS * SLICES, LAST = LAYERS - 1;
constexpr int ROWS = ROW_WARPS * 8;                                   /* of a block: eight a warp */
constexpr int STRIDE = ROWS + 4;                                      /* of a feature's numbers */
constexpr int ROWS_EACH = (BATCH_ROWS + ROW_BLOCKS - 1) / ROW_BLOCKS; /* those of the batch */

/* The outputs of such a layer are shared out over the slices; the last layer's inputs are. */
constexpr bool is_sliced(int l) {
  return SLICES > 1 && l >= FRONT && l < LAST;
}
/* Whether this block has but a part of the inputs. */
constexpr bool takes_slice(int l) {
  return SLICES > 1 && l == LAST;
}

constexpr int tiles_down(int l) {
  return (layer(l).outputs + 15) / 16;
}
/* The weights are summed up and updated in groups of this many tiles of 16 by eight. */
constexpr int GROUP_TILES = 4;
constexpr bool has_norm(int l) {
  return layer(l).normal > 0;
}
constexpr int weight_groups_count(int l) {
  return tiles_down(l) * ((layer(l).inputs / 8 + GROUP_TILES - 1) / GROUP_TILES);
}
/* Behind those of the weights: a norm's weights, then its biases, 16 outputs a group. */
constexpr int groups_count(int l) {
  return weight_groups_count(l) + (has_norm(l) ? 2 * tiles_down(l) : 0);
}
constexpr int groups_before(int layer) {
  int count = 0;
  for (int l = 0; l < layer; l++) count += groups_count(l);
  return count;
}
constexpr int GROUPS = groups_before(LAYERS);

/* Sums that land in another block: of a layer's inputs' gradients, in halves of a tile. */
constexpr int halves_each(int l) {
  return (layer(l).inputs / 8 + SLICES - 1) / SLICES;
}

/* The barriers of a warp, one an exchange of a step. */
constexpr int GATHERS = 0, SCATTERS = LAYERS, FRONT_GATHER = 2 * LAYERS,
              EXCHANGES = SLICES > 1 ? 2 * LAYERS + 1 : 1;

extern __shared__ __align__(16) float memory[];

/* This block's number; the barrier of all blocks, in two parts. */
static __device__ __forceinline__ unsigned block_rank() {
  if constexpr (BLOCKS > 1) return cluster_rank();
  return 0;
}
static __device__ __forceinline__ void blocks_arrive() {
  if constexpr (BLOCKS > 1) cluster_arrive();
}
static __device__ __forceinline__ void blocks_wait() {
  if constexpr (BLOCKS > 1) cluster_wait();
}

template <int L> static __device__ __forceinline__ ep_op activation_of() {
  return activation_of(layer(L).activation, layer(L));
}

/* Where a warp's rows lie, and who it meets on their way. */
struct row_set {
  const args &s;
  int warp, first; /* the first row, in what all layers' features lie in */
  int valid;       /* rows of the batch among the eight */
  unsigned slice, row_block, parity;
  long long step;    /* of the training */
  float scale;       /* of the loss */
  unsigned barriers; /* this warp's, [EXCHANGES] */

  __device__ __forceinline__ unsigned rank_of(unsigned of_slice) const {
    return row_block * SLICES + of_slice;
  }
  __device__ __forceinline__ unsigned barrier(int exchange) const {
    return barriers + exchange * 8;
  }
};

#endif
