/* ranks.h: how many rows a rank takes at a time, and which ranks evaluate: what cpu/ranks does, and
 * what the plan counts its memory by. */
#ifndef EP_KERNELS_PLANS_RANKS_H
#define EP_KERNELS_PLANS_RANKS_H

#include "kernels/program.h"

enum {
  EP_RANKS_PIECE_ROWS = 128, /* in evaluation, and where there are no stages */
  EP_RANKS_EVALUATE = 8      /* ranks at most, whatever machine it is: each has all layers */
};

/* The first ones evaluate. */
static inline int ep_ranks_evaluators(const ep_program *program) {
  int ranks = ep_program_ranks(program);
  return ranks < EP_RANKS_EVALUATE ? ranks : EP_RANKS_EVALUATE;
}

/* The most rows of a piece of a slice: of a micro-batch where there are stages, else as many as
 * suit the cache, unless a batch_norm must see the whole slice. */
static inline int64_t ep_ranks_piece_rows(const ep_program *program) {
  int replicas = ep_program_replicas(program);
  int64_t slice = (program->batch_size + replicas - 1) / replicas;
  int64_t pieces = program->parallel.micro_batches > 1 ? program->parallel.micro_batches : 1;
  if (ep_program_stages(program) > 1) return (slice + pieces - 1) / pieces;
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].type == EP_LAYER_BATCH_NORM) return slice;
  return slice < EP_RANKS_PIECE_ROWS ? slice : EP_RANKS_PIECE_ROWS;
}

#endif
