/* step.c: what one step queues: the leader's stream begins it, each rank's finds gradients, sums
 * them over the replicas and moves its parameters, and the leader's ends it. A rank's gradients
 * stay as they are until the leader has seen all ranks' updates, so that any rank may read them. */
#include "kernels/cuda/executors/ranks/ranks.h"

static ep_status rank_use(const ep_cuda_rank *rank, ep_error *error) {
  return ep_cuda_device_use(rank->device->backend, error);
}

static ep_status mark(const ep_cuda_rank *rank, ep_cuda_ranks_time kind, ep_error *error) {
  EP_CUDA_TRY(ep_cuda_ranks_mark(ep_cuda_rank_stream(rank), rank->times, kind), "reading the time");
  return EP_OK;
}

static ep_status record(const ep_cuda_rank *rank, cudaEvent_t event, ep_error *error) {
  EP_CUDA_TRY(cudaEventRecord(event, ep_cuda_rank_stream(rank)), "recording an event");
  return EP_OK;
}

static ep_status await(const ep_cuda_rank *rank, cudaEvent_t event, ep_error *error) {
  EP_CUDA_TRY(cudaStreamWaitEvent(ep_cuda_rank_stream(rank), event, 0), "waiting for an event");
  return EP_OK;
}

/* --- the beginning -------------------------------------------------------------------------- */

static ep_status rank_begin(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  const ep_cuda_network *network = rank->pieces[0];
  ep_status status = rank_use(rank, error);
  rank->unsent = rank->sendings_count;
  if (status == EP_OK) status = await(rank, ranks->begun, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_ranks_begin(network->stream, ranks->leader->clock, &ranks->program->optimizer,
                                  network->clock, network->tally, rank->times),
              "a step of a rank");
  return EP_OK;
}

static ep_status step_begin(const ep_cuda_ranks *ranks, ep_error *error) {
  EP_CUDA_TRY(cudaEventRecord(ranks->begun, ranks->leader->stream), "recording an event");
  ep_status status = EP_OK;
  for (int i = 0; i < ranks->count && status == EP_OK; i++)
    status = rank_begin(ranks, &ranks->ranks[i], error);
  return status;
}

/* --- gradients ------------------------------------------------------------------------------ */

static int64_t slice_first(const ep_cuda_ranks *ranks, int replica, int64_t rows) {
  return ep_piece_first(rows, replica, ranks->replicas);
}

static int64_t slice_rows(const ep_cuda_ranks *ranks, int replica, int64_t rows) {
  return slice_first(ranks, replica + 1, rows) - slice_first(ranks, replica, rows);
}

/* Without stages: each replica's slice at once. */
static ep_status slices_queue(ep_cuda_ranks *ranks, int64_t rows, ep_error *error) {
  ep_status status = EP_OK;
  for (int d = 0; d < ranks->replicas && status == EP_OK; d++) {
    ep_cuda_rank *rank = ep_cuda_rank_at(ranks, d, 0);
    const int64_t own = slice_rows(ranks, d, rows);
    rank->pieces[0]->slice_first = slice_first(ranks, d, rows);
    rank->pieces[0]->batch_rows = rows;
    status = rank_use(rank, error);
    if (status == EP_OK && own > 0)
      status = rank->trainer->gradients(rank->trainer_state, own, error);
    if (status == EP_OK) status = mark(rank, EP_RANKS_COMPUTE, error);
  }
  return status;
}

/* --- sums and updates ----------------------------------------------------------------------- */

/* What the other GPUs send is there, and what this one sends is there too. */
static ep_status received_await(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank, int64_t rows,
                                ep_error *error) {
  ep_status status = EP_OK;
  for (int d = 0; d < ranks->replicas && status == EP_OK; d++) {
    const ep_cuda_rank *of = ep_cuda_rank_at(ranks, d, rank->stage);
    const bool sends = of->sendings_count > 0 && slice_rows(ranks, d, rows) > 0;
    if (sends && (rank->received[d] || of == rank)) status = await(rank, of->sent, error);
  }
  return status;
}

/* Waits for the gradients of all replicas. *out: their lists, in the order of the ranks. */
static ep_status gradients_await(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank, int64_t rows,
                                 ep_cuda_ranks_sum *out, ep_error *error) {
  const ep_cuda_network *network = rank->pieces[0];
  *out = (ep_cuda_ranks_sum){.gradients_count = network->gradients_count,
                             .blocks = network->update_blocks,
                             .sums = rank->sums,
                             .batch_rows = rows};
  ep_status status = rank_use(rank, error);
  for (int d = 0; d < ranks->replicas && status == EP_OK; d++) {
    const ep_cuda_rank *of = ep_cuda_rank_at(ranks, d, rank->stage);
    const ep_cuda_rank *last = ep_cuda_rank_at(ranks, d, ranks->stages - 1);
    if (ranks->program->class_weights) {
      out->tallies[out->tallies_count++] = last->pieces[0]->tally;
      status = await(rank, last->added, error);
    }
    if (slice_rows(ranks, d, rows) == 0) continue;
    out->lists[out->count++] = rank->lists[d];
    if (status == EP_OK) status = await(rank, of->added, error);
  }
  if (status == EP_OK) status = mark(rank, EP_RANKS_IDLE, error);
  if (status == EP_OK) status = received_await(ranks, rank, rows, error);
  return status == EP_OK ? mark(rank, EP_RANKS_COMMUNICATION, error) : status;
}

/* For the norm that gradients are clipped to, the sums are written first. */
static ep_status gradients_square(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank,
                                  int64_t rows, ep_error *error) {
  ep_cuda_ranks_sum sum;
  ep_status status = gradients_await(ranks, rank, rows, &sum, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_ranks_sum_run(ep_cuda_rank_stream(rank), &sum),
              "summing the ranks' gradients");
  const ep_cuda_update update = ep_cuda_network_update_of(rank->pieces[0]);
  EP_CUDA_TRY(ep_cuda_optimizer_square(ep_cuda_rank_stream(rank), &update), "the gradients' norm");
  return record(rank, rank->squared, error);
}

/* The squares of the replica's other stages. */
static ep_cuda_other_squares other_squares(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank) {
  ep_cuda_other_squares others = {0};
  for (int m = 0; m < ranks->stages; m++) {
    const ep_cuda_network *other = ep_cuda_rank_at(ranks, rank->replica, m)->pieces[0];
    if (m != rank->stage)
      others.part[others.count++] =
          (ep_cuda_squares){other->squares, other->squares ? other->update_blocks : 0};
  }
  return others;
}

static ep_status clipped_update(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank,
                                ep_error *error) {
  const ep_cuda_update update = ep_cuda_network_update_of(rank->pieces[0]);
  const ep_cuda_other_squares others = other_squares(ranks, rank);
  ep_status status = EP_OK;
  for (int m = 0; m < ranks->stages && status == EP_OK; m++)
    status = await(rank, ep_cuda_rank_at(ranks, rank->replica, m)->squared, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_optimizer_step(ep_cuda_rank_stream(rank), &update, &others),
              "the optimizer's step");
  return EP_OK;
}

static ep_status summed_update(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank, int64_t rows,
                               ep_error *error) {
  const ep_cuda_update update = ep_cuda_network_update_of(rank->pieces[0]);
  ep_cuda_ranks_sum sum;
  ep_status status = gradients_await(ranks, rank, rows, &sum, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_ranks_sum_step(ep_cuda_rank_stream(rank), &sum, &update),
              "the optimizer's step");
  return EP_OK;
}

static ep_status rank_update(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank, int64_t rows,
                             ep_error *error) {
  ep_status status = rank_use(rank, error);
  if (status == EP_OK)
    status = ranks->program->optimizer.clip_norm > 0 ? clipped_update(ranks, rank, error)
                                                     : summed_update(ranks, rank, rows, error);
  if (status == EP_OK && rank->trainer && rank->trainer->adopt)
    status = rank->trainer->adopt(rank->trainer_state, error);
  if (status == EP_OK) status = mark(rank, EP_RANKS_COMPUTE, error);
  return status == EP_OK ? record(rank, rank->updated, error) : status;
}

static ep_status sums_queue(const ep_cuda_ranks *ranks, int64_t rows, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < ranks->count && status == EP_OK; i++) {
    status = rank_use(&ranks->ranks[i], error);
    if (status == EP_OK && slice_rows(ranks, ranks->ranks[i].replica, rows) > 0)
      status = ep_cuda_ranks_send_rest(&ranks->ranks[i], error);
    if (status == EP_OK) status = record(&ranks->ranks[i], ranks->ranks[i].added, error);
  }
  if (ranks->program->optimizer.clip_norm > 0)
    for (int i = 0; i < ranks->count && status == EP_OK; i++)
      status = gradients_square(ranks, &ranks->ranks[i], rows, error);
  for (int i = 0; i < ranks->count && status == EP_OK; i++)
    status = rank_update(ranks, &ranks->ranks[i], rows, error);
  return status;
}

/* --- the end -------------------------------------------------------------------------------- */

static ep_status step_end(const ep_cuda_ranks *ranks, ep_error *error) {
  const ep_cuda_network *leader = ranks->leader;
  ep_cuda_ranks_end end = {.count = ranks->replicas, .clock = leader->clock};
  ep_status status = ep_cuda_device_use(leader->backend, error);
  if (status != EP_OK) return status;
  for (int d = 0; d < ranks->replicas; d++)
    end.tallies[d] = ep_cuda_rank_at(ranks, d, ranks->stages - 1)->pieces[0]->tally;
  for (int i = 0; i < ranks->count; i++)
    EP_CUDA_TRY(cudaStreamWaitEvent(leader->stream, ranks->ranks[i].updated, 0),
                "waiting for a rank");
  EP_CUDA_TRY(ep_cuda_ranks_end_run(leader->stream, &end), "a step's loss");
  return EP_OK;
}

ep_status ep_cuda_ranks_step_queue(ep_cuda_ranks *ranks, int64_t rows, ep_error *error) {
  ep_status status = step_begin(ranks, error);
  if (status == EP_OK)
    status = ranks->stages > 1 ? ep_cuda_ranks_pipeline_queue(ranks, rows, error)
                               : slices_queue(ranks, rows, error);
  if (status == EP_OK) status = sums_queue(ranks, rows, error);
  if (status == EP_OK) return step_end(ranks, error);
  ep_cuda_device_use(ranks->leader->backend, NULL);
  return status;
}
