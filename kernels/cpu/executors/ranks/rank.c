#include "kernels/cpu/executors/ranks/rank.h"

#include <stdlib.h>

/* --- sizes ---------------------------------------------------------------------------------- */

/* The first parameter of the layers from op `op` on. */
static int64_t parameter_at(const ep_program *program, int op) {
  for (int i = op; i < program->ops_count; i++) {
    if (program->ops[i].weight >= 0) return program->ops[i].weight;
    if (program->ops[i].bias >= 0) return program->ops[i].bias;
  }
  return program->parameters;
}

static int stage_op(const ep_program *program, int stage) {
  if (ep_program_stages(program) == 1) return stage == 0 ? 0 : program->ops_count;
  return program->parallel.stage_first[stage];
}

/* --- one rank ------------------------------------------------------------------------------- */

static void rank_deinit(ep_rank *rank) {
  for (int i = 0; rank->pieces && i < rank->pieces_count; i++) ep_network_deinit(&rank->pieces[i]);
  ep_network_deinit(&rank->whole);
  free(rank->whole_target);
  free(rank->grad_inputs);
  free(rank->target);
  free(rank->pieces);
  if (!rank->semaphores) return;
  sem_destroy(&rank->returned);
  sem_destroy(&rank->arrived);
}

/* Zeroed; counted with the rank's bytes. NULL: there is no memory. */
static void *rank_allocate(ep_rank *rank, int64_t rows, int64_t columns, size_t size) {
  int64_t count, bytes;
  if (__builtin_mul_overflow(rows, columns, &count) ||
      __builtin_mul_overflow(count, (int64_t)size, &bytes))
    return NULL;
  rank->info.bytes += bytes;
  return calloc(count > 0 ? (size_t)count : 1, size);
}

static ep_status pieces_init(ep_rank *rank, ep_error *error) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  int first = stage_op(program, rank->stage), end = stage_op(program, rank->stage + 1);
  int count = ranks->stages - rank->stage;
  rank->pieces = calloc((size_t)count, sizeof *rank->pieces);
  if (!rank->pieces) return ep_fail(error, EP_NO_MEMORY, "no memory for the pieces of a rank");
  ep_status status = EP_OK;
  while (status == EP_OK && rank->pieces_count < count) {
    ep_network *piece = &rank->pieces[rank->pieces_count++];
    status = ep_network_init(piece, program, first, end, ranks->piece_rows, true, error);
    rank->info.bytes += piece->bytes;
  }
  return status;
}

static ep_status evaluation_init(ep_rank *rank, ep_error *error) {
  const ep_program *program = rank->ranks->program;
  ep_status status = ep_network_init(&rank->whole, program, 0, program->ops_count,
                                     EP_RANKS_PIECE_ROWS, false, error);
  if (status != EP_OK) return status;
  rank->info.bytes += rank->whole.bytes;
  rank->whole_target =
      rank_allocate(rank, EP_RANKS_PIECE_ROWS, program->target_columns, sizeof(float));
  return rank->whole_target ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory to evaluate with");
}

static ep_status rank_init(ep_ranks *ranks, int number, ep_error *error) {
  const ep_program *program = ranks->program;
  ep_rank *rank = &ranks->rank[number];
  rank->ranks = ranks;
  rank->replica = number / ranks->stages;
  rank->stage = number % ranks->stages;
  rank->first_parameter = parameter_at(program, stage_op(program, rank->stage));
  rank->end_parameter = parameter_at(program, stage_op(program, rank->stage + 1));
  rank->semaphores = true;
  sem_init(&rank->arrived, 0, 0);
  sem_init(&rank->returned, 0, 0);
  ep_status status = pieces_init(rank, error);
  if (status == EP_OK && number < ep_ranks_evaluators(program))
    status = evaluation_init(rank, error);
  if (status != EP_OK) return status;
  int64_t inputs = ep_network_features(program, stage_op(program, rank->stage));
  bool last = rank->stage + 1 == ranks->stages, first = rank->stage == 0;
  if (last)
    rank->target = rank_allocate(rank, ranks->piece_rows, program->target_columns, sizeof(float));
  if (!first)
    rank->grad_inputs = rank_allocate(rank, (rank->pieces_count + 1) * ranks->piece_rows, inputs,
                                      sizeof *rank->grad_inputs);
  if ((!last || rank->target) && (first || rank->grad_inputs)) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "no memory for a rank's rows");
}

/* --- all of them ---------------------------------------------------------------------------- */

static ep_status replicas_init(ep_ranks *ranks, ep_error *error) {
  const ep_program *program = ranks->program;
  size_t parameters = program->parameters > 0 ? (size_t)program->parameters : 1;
  size_t state = ranks->state_count > 0 ? (size_t)ranks->state_count : 1;
  ranks->replica = calloc((size_t)ranks->replicas, sizeof *ranks->replica);
  bool complete = ranks->replica != NULL;
  for (int d = 0; complete && d < ranks->replicas; d++) {
    ranks->replica[d].state = calloc(state, sizeof(ep_real));
    ranks->replica[d].grad = calloc(parameters, sizeof(double));
    complete = ranks->replica[d].state && ranks->replica[d].grad;
  }
  if (complete && ranks->replicas > 1) {
    ranks->sums = calloc(parameters, sizeof *ranks->sums);
    complete = ranks->sums != NULL;
  }
  if (complete) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "no memory for %d replicas of %lld floats", ranks->replicas,
                 (long long)ranks->state_count);
}

static ep_status barriers_init(ep_ranks *ranks, ep_error *error) {
  ranks->stage = calloc((size_t)ranks->stages, sizeof *ranks->stage);
  if (!ranks->stage) return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks");
  if (pthread_barrier_init(&ranks->all, NULL, (unsigned)ranks->count) != 0)
    return ep_fail(error, EP_NO_MEMORY, "no barrier for %d ranks", ranks->count);
  for (ranks->barriers = 1; ranks->barriers <= ranks->stages; ranks->barriers++)
    if (pthread_barrier_init(&ranks->stage[ranks->barriers - 1], NULL, (unsigned)ranks->replicas) !=
        0)
      return ep_fail(error, EP_NO_MEMORY, "no barrier for %d replicas", ranks->replicas);
  return EP_OK;
}

/* A stage's share of its replica's numbers is the rank's. */
static void bytes_count(ep_ranks *ranks) {
  const ep_program *program = ranks->program;
  int64_t slots = program->parameters > 0 ? program->optimizer_floats / program->parameters : 0;
  int64_t each = (int64_t)(sizeof(double) + (size_t)(1 + slots) * sizeof(ep_real));
  int64_t buffers = program->buffers * (int64_t)sizeof(ep_real);
  for (int i = 0; i < ranks->count; i++) {
    ep_rank *rank = &ranks->rank[i];
    rank->info.bytes += (rank->end_parameter - rank->first_parameter) * each;
    if (rank->stage == 0) rank->info.bytes += buffers;
    ranks->bytes += rank->info.bytes;
  }
  if (ranks->sums) ranks->bytes += program->parameters * (int64_t)sizeof *ranks->sums;
}

ep_status ep_ranks_init(ep_ranks *ranks, const ep_program *program, ep_error *error) {
  *ranks = (ep_ranks){.program = program,
                      .replicas = ep_program_replicas(program),
                      .stages = ep_program_stages(program),
                      .count = ep_program_ranks(program),
                      .piece_rows = ep_ranks_piece_rows(program),
                      .state_count = ep_program_state_floats(program) + program->optimizer_floats};
  ranks->rank = calloc((size_t)ranks->count, sizeof *ranks->rank);
  if (!ranks->rank) return ep_fail(error, EP_NO_MEMORY, "no memory for %d ranks", ranks->count);
  ep_status status = replicas_init(ranks, error);
  if (status == EP_OK) status = barriers_init(ranks, error);
  for (int i = 0; status == EP_OK && i < ranks->count; i++) status = rank_init(ranks, i, error);
  if (status == EP_OK) bytes_count(ranks);
  return status;
}

void ep_ranks_deinit(ep_ranks *ranks) {
  for (int i = 0; ranks->rank && i < ranks->count; i++) rank_deinit(&ranks->rank[i]);
  for (int d = 0; ranks->replica && d < ranks->replicas; d++) {
    free(ranks->replica[d].grad);
    free(ranks->replica[d].state);
  }
  for (int i = 1; i < ranks->barriers; i++) pthread_barrier_destroy(&ranks->stage[i - 1]);
  if (ranks->barriers > 0) pthread_barrier_destroy(&ranks->all);
  free(ranks->kept);
  free(ranks->sums);
  free(ranks->stage);
  free(ranks->rank);
  free(ranks->replica);
}
