#include "kernels/cpu/executors/ranks/slices.h"

ep_ranks_rows ep_rank_slice(const ep_rank *rank, int64_t step) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  const int64_t number = step % ep_program_steps_per_epoch(program);
  const int64_t rows = ep_program_batch_rows(program, number);
  const int64_t first = ep_piece_first(rows, rank->replica, ranks->replicas);
  return (ep_ranks_rows){first, ep_piece_first(rows, rank->replica + 1, ranks->replicas) - first};
}

int ep_ranks_pieces(const ep_ranks *ranks, int64_t slice_rows) {
  const ep_program *program = ranks->program;
  if (ranks->stages > 1)
    return program->parallel.micro_batches > 1 ? program->parallel.micro_batches : 1;
  const int64_t pieces = (slice_rows + ranks->piece_rows - 1) / ranks->piece_rows;
  return pieces > 1 ? (int)pieces : 1;
}

ep_ranks_rows ep_ranks_piece(ep_ranks_rows slice, int number, int pieces) {
  const int64_t first = ep_piece_first(slice.rows, number, pieces);
  return (ep_ranks_rows){slice.first + first,
                         ep_piece_first(slice.rows, number + 1, pieces) - first};
}
