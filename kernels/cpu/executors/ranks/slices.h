/* slices.h: which rows of a step a rank takes: a slice of the batch for each replica, in pieces
 * that go through its stages. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_SLICES_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_SLICES_H

#include "kernels/cpu/executors/ranks/rank.h"

/* Rows of a batch, counted within it. */
typedef struct {
  int64_t first, rows;
} ep_ranks_rows;

/* The rows of the step's batch that the rank's replica has. */
ep_ranks_rows ep_rank_slice(const ep_rank *rank, int64_t step);
/* The pieces of a slice of so many rows: with several stages as many of each. */
int ep_ranks_pieces(const ep_ranks *ranks, int64_t slice_rows);
/* Piece `number` of so many. */
ep_ranks_rows ep_ranks_piece(ep_ranks_rows slice, int number, int pieces);

#endif
