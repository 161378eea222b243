/* pipeline.c: slices through stages, in pieces: one forward, one back. A stage takes a piece's
 * input from the stage before when it is ready for it, and gives the gradient by that input back as
 * soon as it is there: no earlier piece's is still in its place. */
#include "kernels/cuda/executors/ranks/ranks.h"

/* Piece `number` of a rank's slice. */
typedef struct {
  ep_cuda_ranks *ranks;
  ep_cuda_rank *rank;
  int number;
  int64_t first, rows;
  ep_cuda_network *network; /* that it is in */
} piece;

static piece piece_of(ep_cuda_ranks *ranks, ep_cuda_rank *rank, int number, int64_t batch_rows) {
  const int64_t first = ep_piece_first(batch_rows, rank->replica, ranks->replicas);
  const int64_t rows = ep_piece_first(batch_rows, rank->replica + 1, ranks->replicas) - first;
  const int64_t before = ep_piece_first(rows, number, ranks->micro_batches);
  piece p = {.ranks = ranks,
             .rank = rank,
             .number = number,
             .first = first + before,
             .rows = ep_piece_first(rows, number + 1, ranks->micro_batches) - before,
             .network = rank->pieces[number % rank->pieces_count]};
  p.network->slice_first = p.first;
  p.network->batch_rows = batch_rows;
  return p;
}

static ep_cuda_rank *neighbour(const piece *p, int step) {
  return ep_cuda_rank_at(p->ranks, p->rank->replica, p->rank->stage + step);
}

static ep_cuda_network *neighbour_network(const piece *p, int step) {
  const ep_cuda_rank *rank = neighbour(p, step);
  return rank->pieces[p->number % rank->pieces_count];
}

static bool is_last(const piece *p) {
  return p->rank->stage == p->ranks->stages - 1;
}

static ep_status mark(const piece *p, ep_cuda_ranks_time kind, ep_error *error) {
  EP_CUDA_TRY(ep_cuda_ranks_mark(p->network->stream, p->rank->times, kind), "reading the time");
  return EP_OK;
}

/* Waits, and counts the time. */
static ep_status await(const piece *p, cudaEvent_t event, ep_error *error) {
  EP_CUDA_TRY(cudaStreamWaitEvent(p->network->stream, event, 0), "waiting for a stage");
  return mark(p, EP_RANKS_IDLE, error);
}

static ep_status copy(const piece *p, float *to, const float *from, int64_t features,
                      ep_error *error) {
  EP_CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)(p->rows * features) * sizeof(float),
                              cudaMemcpyDefault, p->network->stream),
              "copying from stage to stage");
  return mark(p, EP_RANKS_COMMUNICATION, error);
}

/* --- forward -------------------------------------------------------------------------------- */

static const float *input_of(const piece *p) {
  const ep_cuda_network *network = p->network;
  bool lies_there = p->rank->stage == 0 && !network->gathers;
  return lies_there ? (const float *)network->train_x : network->input;
}

static const void *targets_of(const piece *p) {
  const ep_cuda_network *network = p->network;
  return network->gathers ? network->batch_y : network->train_y;
}

/* Rows for the first stage, targets for the last one. */
static ep_status rows_take(const piece *p, ep_error *error) {
  ep_cuda_network *network = p->network;
  if (!network->gathers) return EP_OK;
  ep_cuda_batch batch =
      ep_cuda_network_batch(network, network->train_x, network->train_y, NULL, true);
  if (p->rank->stage > 0) batch.batch_x = NULL;
  EP_CUDA_TRY(ep_cuda_batch_take(network->stream, &batch, p->rows, network->clock), "a piece");
  return EP_OK;
}

/* What the stage before has made of it. */
static ep_status input_take(const piece *p, ep_error *error) {
  const ep_cuda_network *network = p->network, *before = neighbour_network(p, -1);
  const int first = network->share.first;
  ep_status status = await(p, neighbour(p, -1)->forward[p->number], error);
  if (status != EP_OK) return status;
  return copy(p, network->input, before->layers[first - 1].value,
              network->program->ops[first].in_features, error);
}

static ep_status forward_compute(const piece *p, ep_error *error) {
  const float *output;
  ep_status status = EP_OK;
  if (p->rank->stage > 0) status = input_take(p, error);
  if (status == EP_OK && (p->rank->stage == 0 || is_last(p))) status = rows_take(p, error);
  if (status == EP_OK)
    status = ep_cuda_network_forward_from(p->network, p->network->share.first, input_of(p), p->rows,
                                          true, &output, error);
  return status == EP_OK ? mark(p, EP_RANKS_COMPUTE, error) : status;
}

static ep_status forward(const piece *p, ep_error *error) {
  ep_status status = p->rows > 0 ? forward_compute(p, error) : EP_OK;
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaEventRecord(p->rank->forward[p->number], p->network->stream),
              "recording an event");
  return EP_OK;
}

/* --- back ----------------------------------------------------------------------------------- */

/* Adds the piece's gradients to what the rank has collected. */
static ep_status collect(const piece *p, ep_error *error) {
  const ep_cuda_rank *rank = p->rank;
  const ep_cuda_network *network = p->network;
  ep_cuda_ranks_sum sum = {.count = 1,
                           .lists = {rank->found[p->number % rank->pieces_count]},
                           .gradients_count = network->gradients_count,
                           .blocks = network->update_blocks,
                           .adds = rank->collects,
                           .sums = rank->collected};
  EP_CUDA_TRY(ep_cuda_ranks_sum_run(network->stream, &sum), "adding up the pieces' gradients");
  p->rank->collects = true;
  return mark(p, EP_RANKS_COMPUTE, error);
}

static ep_status grad_give(const piece *p, const float *grad, ep_error *error) {
  const ep_cuda_network *network = p->network;
  const int first = network->share.first;
  if (!network->values[first].learns) return EP_OK; /* nobody before it is trained */
  return copy(p, neighbour_network(p, -1)->grad, grad, network->program->ops[first].in_features,
              error);
}

static ep_status backward_compute(const piece *p, ep_error *error) {
  ep_cuda_network *network = p->network;
  const float *grad = NULL, *output = network->layers[network->share.end - 1].value;
  ep_status status = is_last(p)
                         ? ep_cuda_network_loss(network, output, targets_of(p), p->rows, error)
                         : await(p, neighbour(p, 1)->backward[p->number], error);
  if (status == EP_OK)
    status = ep_cuda_network_backward_to(network, network->share.first, input_of(p), p->rows, &grad,
                                         error);
  if (status == EP_OK) status = mark(p, EP_RANKS_COMPUTE, error);
  if (status == EP_OK && p->rank->stage > 0) status = grad_give(p, grad, error);
  return status == EP_OK ? collect(p, error) : status;
}

static ep_status backward(const piece *p, ep_error *error) {
  ep_status status = p->rows > 0 ? backward_compute(p, error) : EP_OK;
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaEventRecord(p->rank->backward[p->number], p->network->stream),
              "recording an event");
  return EP_OK;
}

/* --- the order ------------------------------------------------------------------------------ */

/* Queues what is the rank's turn, if what it waits for is queued: as many pieces as it holds go
 * forward, then one back for each forward. *moved: whether there was something. */
static ep_status rank_move(ep_cuda_ranks *ranks, ep_cuda_rank *rank, int64_t rows, bool *moved,
                           ep_error *error) {
  const int all = ranks->micro_batches;
  const bool goes_forward =
      rank->forwards < all && rank->forwards - rank->backwards < rank->pieces_count;
  const int number = goes_forward ? rank->forwards : rank->backwards;
  if (number == all) return EP_OK;
  const int step = goes_forward ? -1 : 1, stage = rank->stage + step;
  if (stage >= 0 && stage < ranks->stages) {
    const ep_cuda_rank *other = ep_cuda_rank_at(ranks, rank->replica, stage);
    if ((goes_forward ? other->forwards : other->backwards) <= number) return EP_OK;
  }
  const piece p = piece_of(ranks, rank, number, rows);
  ep_status status = ep_cuda_device_use(rank->device->backend, error);
  if (status == EP_OK) status = goes_forward ? forward(&p, error) : backward(&p, error);
  if (goes_forward)
    rank->forwards++;
  else
    rank->backwards++;
  *moved = true;
  return status;
}

/* A slice without rows has no gradient. */
static ep_status rank_finish(const ep_cuda_rank *rank, int64_t parameters, ep_error *error) {
  if (rank->collects) return EP_OK;
  ep_status status = ep_cuda_device_use(rank->device->backend, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaMemsetAsync(rank->collected, 0, (size_t)parameters * sizeof(float),
                              ep_cuda_rank_stream(rank)),
              "clearing gradients");
  return EP_OK;
}

ep_status ep_cuda_ranks_pipeline_queue(ep_cuda_ranks *ranks, int64_t rows, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < ranks->count; i++) {
    ep_cuda_rank *rank = &ranks->ranks[i];
    rank->forwards = rank->backwards = 0;
    rank->collects = false;
  }
  for (bool moved = true; moved && status == EP_OK;) {
    moved = false;
    for (int i = 0; i < ranks->count && status == EP_OK; i++)
      status = rank_move(ranks, &ranks->ranks[i], rows, &moved, error);
  }
  for (int i = 0; i < ranks->count && status == EP_OK; i++)
    status = rank_finish(&ranks->ranks[i], ranks->program->parameters, error);
  return status;
}
