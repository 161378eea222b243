/* exchange.c: wide gradients are sent to the other GPUs while the rank finds the next ones. The
 * copy engines send: no multiprocessor waits for a link. What is narrow, or in slices, stays where
 * it is, and is read there. */
#include <stdlib.h>

#include "kernels/cuda/executors/ranks/ranks.h"

static bool same_device(const ep_cuda_rank *a, const ep_cuda_rank *b) {
  return a->device == b->device;
}

static bool has_far_replica(const ep_cuda_ranks *ranks, const ep_cuda_rank *rank) {
  for (int d = 0; d < ranks->replicas; d++)
    if (!same_device(rank, ep_cuda_rank_at(ranks, d, rank->stage))) return true;
  return false;
}

/* --- who sends what ------------------------------------------------------------------------- */

ep_status ep_cuda_ranks_sendings_choose(const ep_cuda_ranks *ranks, ep_cuda_rank *rank,
                                        ep_error *error) {
  const int count = rank->pieces[0]->gradients_count;
  if (count == 0 || !has_far_replica(ranks, rank)) return EP_OK;
  rank->sendings = calloc((size_t)count, sizeof *rank->sendings);
  if (!rank->sendings) return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks' exchange");
  for (int i = 0; i < count; i++) {
    const ep_cuda_gradient *of = &rank->own_rows[i];
    if (of->slices != 1 || of->count * (int64_t)sizeof(float) < EP_CUDA_RANKS_SENDING_BYTES)
      continue;
    rank->sendings[rank->sendings_count++] = (ep_cuda_sending){.row = i,
                                                               .first = of->first,
                                                               .count = of->count,
                                                               .from = of->gradient,
                                                               .place = rank->sent_floats};
    rank->sent_floats += of->count;
  }
  return EP_OK;
}

/* Device memory for what the rank of replica d sends here; without it, it is read there. */
static ep_status place_take(ep_cuda_rank *rank, const ep_cuda_rank *of, float **place,
                            ep_error *error) {
  ep_status status =
      ep_cuda_memory_take(&rank->memory, place, 1, of->sent_floats, (int64_t)sizeof(float), error);
  return status == EP_NO_MEMORY ? EP_OK : status;
}

/* What this rank adds up of replica d, from its own GPU's memory. */
static ep_status list_take(ep_cuda_ranks *ranks, ep_cuda_rank *rank, int d, ep_error *error) {
  const ep_cuda_rank *of = ep_cuda_rank_at(ranks, d, rank->stage);
  const size_t count = (size_t)rank->pieces[0]->gradients_count;
  if ((size_t)of->pieces[0]->gradients_count != count)
    return ep_fail(error, EP_INTERNAL, "two replicas find their gradients in different ways");
  if (count == 0) return EP_OK;
  ep_cuda_gradient *rows = calloc(count, sizeof *rows);
  if (!rows) return ep_fail(error, EP_NO_MEMORY, "no memory for a list of gradients");
  for (size_t i = 0; i < count; i++) rows[i] = of->own_rows[i];
  ep_status status = EP_OK;
  if (!same_device(rank, of) && of->sendings_count > 0)
    status = place_take(rank, of, &rank->received[d], error);
  for (int i = 0; rank->received[d] && i < of->sendings_count; i++)
    rows[of->sendings[i].row].gradient = rank->received[d] + of->sendings[i].place;
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&rank->memory, &rank->lists[d], rows, (int64_t)count,
                                      sizeof *rows, error);
  free(rows);
  return status;
}

ep_status ep_cuda_ranks_lists_take(ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  ep_status status = ep_cuda_device_use(rank->device->backend, error);
  for (int d = 0; d < ranks->replicas && status == EP_OK; d++)
    status = list_take(ranks, rank, d, error);
  return status;
}

/* --- a step --------------------------------------------------------------------------------- */

static ep_status sending_queue(const ep_cuda_rank *rank, const ep_cuda_sending *sending,
                               ep_error *error) {
  const ep_cuda_ranks *ranks = rank->ranks;
  for (int d = 0; d < ranks->replicas; d++) {
    float *to = ep_cuda_rank_at(ranks, d, rank->stage)->received[rank->replica];
    if (!to) continue;
    EP_CUDA_TRY(cudaMemcpyAsync(to + sending->place, sending->from,
                                (size_t)sending->count * sizeof(float), cudaMemcpyDefault,
                                rank->sender),
                "sending a gradient");
  }
  return EP_OK;
}

ep_status ep_cuda_ranks_send(void *self, int64_t first, ep_error *error) {
  ep_cuda_rank *rank = self;
  if (rank->unsent == 0 || rank->sendings[rank->unsent - 1].first < first) return EP_OK;
  EP_CUDA_TRY(cudaEventRecord(rank->found_event, ep_cuda_rank_stream(rank)), "recording an event");
  EP_CUDA_TRY(cudaStreamWaitEvent(rank->sender, rank->found_event, 0), "waiting for a gradient");
  ep_status status = EP_OK;
  while (rank->unsent > 0 && rank->sendings[rank->unsent - 1].first >= first && status == EP_OK)
    status = sending_queue(rank, &rank->sendings[--rank->unsent], error);
  return status;
}

ep_status ep_cuda_ranks_send_rest(ep_cuda_rank *rank, ep_error *error) {
  ep_status status = ep_cuda_ranks_send(rank, 0, error);
  if (status != EP_OK || rank->sendings_count == 0) return status;
  EP_CUDA_TRY(cudaEventRecord(rank->sent, rank->sender), "recording an event");
  return EP_OK;
}
