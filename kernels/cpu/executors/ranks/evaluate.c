/* evaluate.c: the ranks of the leader's node evaluate, with the first replica's numbers. */
#include <string.h>

#include "kernels/cpu/executors/ranks/targets.h"
#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/losses.h"

/* Rows first … first + rows - 1 through all layers, by `rank`, as a part of `share`. */
static void rows_evaluate(ep_rank *rank, ep_rank *share, const ep_ranks_data *data, int64_t first,
                          int64_t rows, float *output) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  ep_network *network = &rank->whole;
  ep_real *state = ranks->replica[0].state;
  size_t target_bytes = (size_t)program->target_columns * sizeof(float);
  for (int64_t i = 0; i < rows; i++)
    ep_reference_read_evaluation_row(program, data->x, first + i,
                                     network->values[0] + i * program->in_features);
  ep_reference_pass pass = {.parameters = state,
                            .buffers = state + program->parameters,
                            .rows = rows,
                            .seed = program->seed};
  const ep_real *y = ep_network_forward(network, &pass);
  for (int64_t i = 0; output && i < rows * program->out_features; i++)
    output[first * program->out_features + i] = (float)y[i];
  if (!data->y) return;
  memcpy(rank->whole_target, ep_target_at(program, data, first), (size_t)rows * target_bytes);
  for (int64_t i = 0; i < rows; i++)
    share->divisor += ep_reference_loss_share(program, ep_target_at(program, data, first + i));
  share->loss += ep_reference_loss(program, y, rank->whole_target, rows, 1, NULL, &share->errors);
}

static void share_evaluate(ep_rank *rank, ep_rank *share, const ep_ranks_data *data,
                           float *output) {
  int evaluators = ep_ranks_evaluators(rank->ranks->program);
  share->loss = share->divisor = 0;
  share->errors = 0;
  int64_t end = ep_piece_first(data->rows, share->number + 1, evaluators);
  for (int64_t at = ep_piece_first(data->rows, share->number, evaluators); at < end;
       at += EP_RANKS_PIECE_ROWS) {
    int64_t rows = end - at < EP_RANKS_PIECE_ROWS ? end - at : EP_RANKS_PIECE_ROWS;
    rows_evaluate(rank, share, data, at, rows, output);
  }
}

void ep_rank_evaluate(ep_rank *rank, const ep_ranks_data *data, float *output) {
  const ep_ranks *ranks = rank->ranks;
  int evaluators = ep_ranks_evaluators(ranks->program);
  if (!rank->here) return;
  for (int share = rank->number; share < evaluators; share += ranks->end - ranks->first)
    share_evaluate(rank, &ranks->rank[share], data, output);
}
