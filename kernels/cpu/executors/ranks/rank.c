#include "kernels/cpu/executors/ranks/rank.h"

#include <stdlib.h>

/* --- sizes ---------------------------------------------------------------------------------- */

/* The first parameter of the layers from op `op` on. */
static int64_t parameter_at(const ep_program *program, int op) {
  for (int i = op; i < program->ops_count; i++) {
    const int64_t first = ep_op_parameters_first(&program->ops[i]);
    if (first >= 0) return first;
  }
  return program->parameters;
}

/* Likewise the first buffer. */
static int64_t buffer_at(const ep_program *program, int op) {
  for (int i = op; i < program->ops_count; i++)
    if (program->ops[i].running >= 0) return program->ops[i].running;
  return program->buffers;
}

static int stage_op(const ep_program *program, int stage) {
  if (ep_program_stages(program) == 1) return stage == 0 ? 0 : program->ops_count;
  return program->parallel.stage_first[stage];
}

int64_t ep_rank_in_features(const ep_rank *rank) {
  const ep_program *program = rank->ranks->program;
  return ep_network_features(program, stage_op(program, rank->stage));
}

int64_t ep_rank_out_features(const ep_rank *rank) {
  const ep_program *program = rank->ranks->program;
  return ep_network_features(program, stage_op(program, rank->stage + 1));
}

int ep_rank_state(const ep_rank *rank, ep_state_range out[EP_STATE_RANGES]) {
  const ep_program *program = rank->ranks->program;
  int64_t buffer = buffer_at(program, stage_op(program, rank->stage));
  int64_t buffer_end = buffer_at(program, stage_op(program, rank->stage + 1));
  int64_t slots = program->parameters > 0 ? program->optimizer_floats / program->parameters : 0;
  int count = 0;
  out[count++] = (ep_state_range){rank->first_parameter, ep_rank_parameters(rank)};
  out[count++] = (ep_state_range){program->parameters + buffer, buffer_end - buffer};
  for (int64_t slot = 0; slot < slots && count < EP_STATE_RANGES; slot++)
    out[count++] = (ep_state_range){ep_program_state_floats(program) + slot * program->parameters +
                                        rank->first_parameter,
                                    ep_rank_parameters(rank)};
  return count;
}

/* --- one rank ------------------------------------------------------------------------------- */

static void rank_deinit(ep_rank *rank) {
  for (int i = 0; rank->pieces && i < rank->pieces_count; i++) ep_network_deinit(&rank->pieces[i]);
  ep_network_deinit(&rank->whole);
  free(rank->whole_target);
  free(rank->totals);
  free(rank->handed);
  free(rank->grad_inputs);
  free(rank->target);
  free(rank->pieces);
  if (!rank->semaphores) return;
  sem_destroy(&rank->told);
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

/* Room for what goes to the neighbours: of a rank elsewhere, for what comes from there. */
static ep_status handover_init(ep_rank *rank, ep_error *error) {
  ep_ranks *ranks = rank->ranks;
  const ep_rank *before = rank->stage > 0 ? rank - 1 : NULL;
  const ep_rank *behind = rank->stage + 1 < ranks->stages ? rank + 1 : NULL;
  bool returns = before && (before->number >= ranks->first && before->number < ranks->end);
  bool hands =
      !rank->here && behind && (rank->number + 1 >= ranks->first && rank->number + 1 < ranks->end);
  if (returns)
    rank->grad_inputs = rank_allocate(rank, (rank->pieces_count + 1) * ranks->piece_rows,
                                      ep_rank_in_features(rank), sizeof *rank->grad_inputs);
  if (hands)
    rank->handed = rank_allocate(rank, rank->pieces_count * ranks->piece_rows,
                                 ep_rank_out_features(rank), sizeof *rank->handed);
  if ((returns && !rank->grad_inputs) || (hands && !rank->handed))
    return ep_fail(error, EP_NO_MEMORY, "no memory for what ranks hand on");
  return EP_OK;
}

/* What a rank that is here works with. */
static ep_status work_init(ep_rank *rank, ep_error *error) {
  const ep_ranks *ranks = rank->ranks;
  const ep_program *program = ranks->program;
  ep_status status = pieces_init(rank, error);
  if (status == EP_OK && ranks->node == 0 && rank->number < ep_ranks_evaluators(program))
    status = evaluation_init(rank, error);
  if (status != EP_OK) return status;
  bool last = rank->stage + 1 == ranks->stages, sums = ranks->node > 0 && ranks->replicas > 1;
  if (last)
    rank->target = rank_allocate(rank, ranks->piece_rows, program->target_columns, sizeof(float));
  if (sums) { /* of pages that are never touched no memory is taken */
    rank->totals = calloc((size_t)program->parameters + 1, sizeof *rank->totals);
    rank->info.bytes += ep_rank_parameters(rank) * (int64_t)sizeof *rank->totals;
  }
  if ((!last || rank->target) && (!sums || rank->totals)) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "no memory for a rank's rows");
}

static ep_status rank_init(ep_ranks *ranks, int number, ep_error *error) {
  const ep_program *program = ranks->program;
  ep_rank *rank = &ranks->rank[number];
  rank->first_parameter = parameter_at(program, stage_op(program, rank->stage));
  rank->end_parameter = parameter_at(program, stage_op(program, rank->stage + 1));
  rank->semaphores = true;
  sem_init(&rank->arrived, 0, 0);
  sem_init(&rank->returned, 0, 0);
  sem_init(&rank->told, 0, 0);
  if (!rank->here) rank->pieces_count = ranks->stages - rank->stage;
  ep_status status = rank->here ? work_init(rank, error) : EP_OK;
  return status == EP_OK ? handover_init(rank, error) : status;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* Whether a replica has a rank here. */
static bool replica_is_here(const ep_ranks *ranks, int replica) {
  return replica * ranks->stages < ranks->end && (replica + 1) * ranks->stages > ranks->first;
}

static ep_status replicas_init(ep_ranks *ranks, ep_error *error) {
  const ep_program *program = ranks->program;
  size_t parameters = program->parameters > 0 ? (size_t)program->parameters : 1;
  size_t state = ranks->state_count > 0 ? (size_t)ranks->state_count : 1;
  bool leads = ranks->node == 0;
  ranks->replica = calloc((size_t)ranks->replicas, sizeof *ranks->replica);
  bool complete = ranks->replica != NULL;
  for (int d = 0; complete && d < ranks->replicas; d++) {
    bool here = replica_is_here(ranks, d), whole = here || (leads && d == 0);
    ep_replica *replica = &ranks->replica[d];
    if (whole) replica->state = calloc(state, sizeof(ep_real));
    if (here || leads) replica->grad = calloc(parameters, sizeof(double));
    complete = (!whole || replica->state) && ((!here && !leads) || replica->grad);
  }
  if (complete && ranks->replicas > 1 && leads) {
    ranks->sums = calloc(parameters, sizeof *ranks->sums);
    complete = ranks->sums != NULL;
  }
  if (complete) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "no memory for %d replicas of %lld floats", ranks->replicas,
                 (long long)ranks->state_count);
}

static ep_status barriers_init(ep_ranks *ranks, ep_error *error) {
  ep_barrier_init(&ranks->all, ranks->count);
  ranks->stage = calloc((size_t)ranks->stages, sizeof *ranks->stage);
  if (!ranks->stage) return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks");
  for (int m = 0; m < ranks->stages; m++) ep_barrier_init(&ranks->stage[m], ranks->replicas);
  return EP_OK;
}

void ep_ranks_break(ep_ranks *ranks) {
  if (atomic_exchange(&ranks->broken, true)) return;
  ep_barrier_break(&ranks->all);
  for (int m = 0; m < ranks->stages; m++) ep_barrier_break(&ranks->stage[m]);
  for (int i = 0; i < ranks->count; i++) {
    sem_post(&ranks->rank[i].arrived);
    sem_post(&ranks->rank[i].returned);
    sem_post(&ranks->rank[i].told);
  }
}

/* A stage's share of its replica's numbers is the rank's. */
static void bytes_count(ep_ranks *ranks) {
  const ep_program *program = ranks->program;
  int64_t slots = program->parameters > 0 ? program->optimizer_floats / program->parameters : 0;
  int64_t each = (int64_t)(sizeof(double) + (size_t)(1 + slots) * sizeof(ep_real));
  int64_t buffers = program->buffers * (int64_t)sizeof(ep_real);
  for (int i = 0; i < ranks->count; i++) {
    ep_rank *rank = &ranks->rank[i];
    if (!rank->here) continue;
    rank->info.bytes += (rank->end_parameter - rank->first_parameter) * each;
    if (rank->stage == 0) rank->info.bytes += buffers;
    ranks->bytes += rank->info.bytes;
  }
  if (ranks->sums) ranks->bytes += program->parameters * (int64_t)sizeof *ranks->sums;
}

/* Which replica and stage each rank is, and whether it is here. */
static void ranks_number(ep_ranks *ranks) {
  for (int i = 0; i < ranks->count; i++) {
    ep_rank *rank = &ranks->rank[i];
    rank->ranks = ranks;
    rank->number = i;
    rank->replica = i / ranks->stages;
    rank->stage = i % ranks->stages;
    rank->here = i >= ranks->first && i < ranks->end;
    for (int k = 0; k < ranks->nodes; k++)
      if (i >= ep_piece_first(ranks->count, k, ranks->nodes)) rank->info.node = k;
  }
}

ep_status ep_ranks_init(ep_ranks *ranks, const ep_program *program, ep_rank_node node,
                        ep_error *error) {
  *ranks = (ep_ranks){.program = program,
                      .replicas = ep_program_replicas(program),
                      .stages = ep_program_stages(program),
                      .count = ep_program_ranks(program),
                      .node = node.node,
                      .nodes = node.nodes,
                      .piece_rows = ep_ranks_piece_rows(program),
                      .state_count = ep_program_state_floats(program) + program->optimizer_floats};
  ranks->first = (int)ep_piece_first(ranks->count, node.node, node.nodes);
  ranks->end = (int)ep_piece_first(ranks->count, node.node + 1, node.nodes);
  ranks->rank = calloc((size_t)ranks->count, sizeof *ranks->rank);
  if (!ranks->rank) return ep_fail(error, EP_NO_MEMORY, "no memory for %d ranks", ranks->count);
  ranks_number(ranks);
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
  for (int m = 0; ranks->stage && m < ranks->stages; m++) ep_barrier_deinit(&ranks->stage[m]);
  if (ranks->all.count > 0) ep_barrier_deinit(&ranks->all);
  free(ranks->kept);
  free(ranks->sums);
  free(ranks->stage);
  free(ranks->rank);
  free(ranks->replica);
}
