/* create.c: the GPUs, networks, lists and events of a training on several ranks. */
#include <stdlib.h>

#include "kernels/cuda/executors/ranks/ranks.h"
#include "kernels/cuda/executors/table.h"
#include "kernels/plans/ranks.h"

#define DECLARE(name, compiler) extern const ep_cuda_executor ep_cuda_##name##_executor;
EP_CUDA_EXECUTORS(DECLARE)

#define ROW(name, compiler) &ep_cuda_##name##_executor,
static const ep_cuda_executor *const executors[] = {EP_CUDA_EXECUTORS(ROW)};
enum { EXECUTORS = sizeof executors / sizeof *executors };

/* --- GPUs ----------------------------------------------------------------------------------- */

static ep_status peer_enable(const ep_backend *from, const ep_backend *to, ep_error *error) {
  int can = 0;
  EP_CUDA_TRY(cudaDeviceCanAccessPeer(&can, from->device, to->device), "asking for the links");
  if (!can)
    return ep_fail(error, EP_INVALID,
                   "GPU %d cannot read the memory of GPU %d: ranks need GPUs that can, over NVLink "
                   "or one PCIe root",
                   from->device, to->device);
  ep_status status = ep_cuda_device_use(from, error);
  if (status != EP_OK) return status;
  cudaError_t code = cudaDeviceEnablePeerAccess(to->device, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    code = cudaSuccess;
  }
  EP_CUDA_TRY(code, "linking two GPUs");
  return EP_OK;
}

/* Device `number`, linked with those before it. */
static ep_status device_open(ep_cuda_ranks *ranks, int number, ep_error *error) {
  ep_cuda_ranks_device *device = &ranks->devices[ranks->devices_count];
  ep_status status = ep_cuda_device_open(number, &device->backend, error);
  if (status != EP_OK) return status;
  device->opened = true;
  ranks->devices_count++;
  for (int i = 0; i < ranks->devices_count - 1 && status == EP_OK; i++) {
    status = peer_enable(device->backend, ranks->devices[i].backend, error);
    if (status == EP_OK) status = peer_enable(ranks->devices[i].backend, device->backend, error);
  }
  return status;
}

/* The training rows on a GPU that is not the leader's: filled before the first step. */
static ep_status rows_take(ep_cuda_ranks *ranks, ep_cuda_ranks_device *device, ep_error *error) {
  const ep_program *program = ranks->program;
  ep_status status = ep_cuda_device_use(device->backend, error);
  if (status != EP_OK) return status;
  device->memory = (ep_cuda_memory){.backend = device->backend, .stream = cudaStreamPerThread};
  const ep_cuda_buffer buffers[] = {
      {&device->x, program->train_rows, ep_cuda_row_bytes(program), 1},
      {&device->y, program->train_rows, program->target_columns, sizeof(float)}};
  status = ep_cuda_memory_take_all(&device->memory, buffers, 2, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaStreamSynchronize(cudaStreamPerThread), "clearing device memory");
  return EP_OK;
}

static ep_status devices_take(ep_cuda_ranks *ranks, ep_error *error) {
  const ep_parallel *parallel = &ranks->program->parallel;
  ep_cuda_network *leader = ranks->leader;
  int wanted = parallel->devices_count < ranks->count ? parallel->devices_count : ranks->count;
  ranks->devices = calloc((size_t)(wanted > 1 ? wanted : 1), sizeof *ranks->devices);
  if (!ranks->devices) return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks' devices");
  ranks->devices[0] = (ep_cuda_ranks_device){
      .backend = leader->backend, .x = leader->train_x, .y = leader->train_y};
  ranks->devices_count = 1;
  ep_status status = EP_OK;
  for (int i = 1; i < wanted && status == EP_OK; i++) {
    status = device_open(ranks, parallel->device[i], error);
    if (status == EP_OK) status = rows_take(ranks, &ranks->devices[i], error);
  }
  return status;
}

/* --- networks ------------------------------------------------------------------------------- */

static int64_t slice_rows(const ep_cuda_ranks *ranks, int replica, int64_t rows) {
  return ep_piece_first(rows, replica + 1, ranks->replicas) -
         ep_piece_first(rows, replica, ranks->replicas);
}

/* What the rank would train on its own: its slices are the batches. */
static void program_make(const ep_cuda_ranks *ranks, ep_cuda_rank *rank) {
  const ep_program *all = ranks->program;
  ep_program *program = &rank->program;
  *program = *all;
  program->parallel = (ep_parallel){.data = 1, .model = 1};
  program->data_bytes_max = 0;
  if (ranks->stages > 1) {
    program->batch_size = ep_ranks_piece_rows(all);
    return;
  }
  const int64_t steps = ep_program_steps_per_epoch(all);
  const int64_t full = slice_rows(ranks, rank->replica, all->batch_size);
  const int64_t tail = slice_rows(ranks, rank->replica, ep_program_batch_rows(all, steps - 1));
  program->batch_size = full > tail ? full : tail;
  program->train_rows = (steps - 1) * program->batch_size + tail;
}

static ep_status pieces_take(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  const ep_program *all = ranks->program;
  ep_cuda_share share = {.train_x = rank->device->x,
                         .train_y = rank->device->y,
                         .train_rows = all->train_rows,
                         .batch_size = all->batch_size};
  if (ranks->stages > 1) {
    share.first = all->parallel.stage_first[rank->stage];
    share.end = all->parallel.stage_first[rank->stage + 1];
  }
  const int count = ranks->stages - rank->stage;
  rank->pieces = calloc((size_t)count, sizeof *rank->pieces);
  if (!rank->pieces) return ep_fail(error, EP_NO_MEMORY, "no memory for a rank's networks");
  ep_status status = EP_OK;
  for (int i = 0; i < count && status == EP_OK; i++) {
    share.shares = i > 0 ? rank->pieces[0] : NULL;
    status = ep_cuda_network_create(rank->device->backend, &rank->program, &share, &rank->pieces[i],
                                    error);
    if (status == EP_OK) rank->pieces_count++;
  }
  return status;
}

/* Whether the executor finds a slice's gradients: "general" those of any, the special ones know two
 * sizes of batches, which must be those of the rank's slices. */
static bool trains(const ep_cuda_executor *executor, const ep_cuda_ranks *ranks,
                   const ep_cuda_rank *rank) {
  const bool even = ranks->program->batch_size % ranks->replicas == 0;
  const ep_device_traits device = {.gpu = rank->device->backend->gpu};
  return executor->gradients && (even || executor == &ep_cuda_general_executor) &&
         ep_executor_can(executor->profile, &rank->program, &device) &&
         (!executor->available || executor->available());
}

static ep_status trainer_take(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  ep_status status = EP_UNSUPPORTED;
  for (int i = 0; i < EXECUTORS && status == EP_UNSUPPORTED; i++) {
    if (!trains(executors[i], ranks, rank)) continue;
    status = executors[i]->create(rank->pieces[0], &rank->trainer_state, error);
    if (status == EP_OK) rank->trainer = executors[i];
  }
  return status;
}

/* --- lists of gradients --------------------------------------------------------------------- */

static void list_flatten(ep_cuda_gradient *rows, size_t count, const float *numbers) {
  for (size_t i = 0; i < count; i++) {
    rows[i].gradient = numbers + rows[i].first;
    rows[i].stride = rows[i].count;
    rows[i].slices = 1;
  }
}

/* The network's list, and the same as of one array [parameters]: of the sums. */
static ep_status lists_make(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  const ep_cuda_network *network = rank->pieces[0];
  const size_t count = (size_t)network->gradients_count;
  if (count == 0) return EP_OK;
  rank->own_rows = calloc(count, sizeof *rank->own_rows);
  ep_cuda_gradient *flat = calloc(count, sizeof *flat);
  cudaError_t code = cudaSuccess;
  ep_status status = EP_OK;
  if (rank->own_rows && flat)
    code = cudaMemcpy(rank->own_rows, network->gradients, count * sizeof *flat,
                      cudaMemcpyDeviceToHost);
  else
    status = ep_fail(error, EP_NO_MEMORY, "no memory for a list of gradients");
  if (code != cudaSuccess) status = ep_cuda_fail(error, code, "reading a list");
  for (size_t i = 0; i < count && status == EP_OK; i++) flat[i] = rank->own_rows[i];
  if (status == EP_OK) {
    list_flatten(flat, count, rank->sums);
    status = ep_cuda_memory_take_copy(&rank->memory, &rank->summed, flat, (int64_t)count,
                                      sizeof *flat, error);
  }
  if (status == EP_OK && ranks->stages > 1) list_flatten(rank->own_rows, count, rank->collected);
  free(flat);
  return status;
}

static ep_status rank_memory_take(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  const int64_t parameters = ranks->program->parameters;
  rank->memory =
      (ep_cuda_memory){.backend = rank->device->backend, .stream = ep_cuda_rank_stream(rank)};
  const ep_cuda_buffer buffers[] = {
      {&rank->collected, ranks->stages > 1 ? 1 : 0, parameters, sizeof(float)},
      {&rank->sums, ranks->program->optimizer.clip_norm > 0 ? 1 : 0, parameters, sizeof(float)},
      {&rank->times, 1, 1, sizeof(ep_cuda_ranks_times)},
  };
  rank->lists = calloc((size_t)ranks->replicas, sizeof *rank->lists);
  rank->received = calloc((size_t)ranks->replicas, sizeof *rank->received);
  rank->found = calloc((size_t)rank->pieces_count, sizeof *rank->found);
  if (!rank->lists || !rank->received || !rank->found)
    return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks' lists");
  ep_status status =
      ep_cuda_memory_take_all(&rank->memory, buffers, sizeof buffers / sizeof *buffers, error);
  for (int i = 0; i < rank->pieces_count; i++) rank->found[i] = rank->pieces[i]->gradients;
  if (status == EP_OK) status = lists_make(ranks, rank, error);
  if (status == EP_OK) status = ep_cuda_ranks_sendings_choose(ranks, rank, error);
  if (status != EP_OK) return status;
  rank->pieces[0]->gradients = rank->summed; /* what the update goes by */
  if (rank->sendings_count > 0 && ranks->stages == 1) {
    rank->pieces[0]->found = ep_cuda_ranks_send;
    rank->pieces[0]->found_context = rank;
  }
  EP_CUDA_TRY(cudaStreamSynchronize(ep_cuda_rank_stream(rank)), "clearing device memory");
  return EP_OK;
}

static ep_status events_take(cudaEvent_t *events, int count, ep_error *error) {
  for (int i = 0; i < count; i++)
    EP_CUDA_TRY(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming), "making an event");
  return EP_OK;
}

static ep_status rank_events_take(const ep_cuda_ranks *ranks, ep_cuda_rank *rank, ep_error *error) {
  cudaEvent_t *const own[] = {&rank->added, &rank->squared, &rank->updated, &rank->found_event,
                              &rank->sent};
  ep_status status = EP_OK;
  for (size_t i = 0; i < sizeof own / sizeof *own && status == EP_OK; i++)
    status = events_take(own[i], 1, error);
  if (status == EP_OK && rank->sendings_count > 0)
    EP_CUDA_TRY(cudaStreamCreateWithFlags(&rank->sender, cudaStreamNonBlocking), "making a stream");
  if (status != EP_OK || ranks->stages == 1) return status;
  rank->forward = calloc((size_t)ranks->micro_batches, sizeof *rank->forward);
  rank->backward = calloc((size_t)ranks->micro_batches, sizeof *rank->backward);
  if (!rank->forward || !rank->backward)
    return ep_fail(error, EP_NO_MEMORY, "no memory for the events of the micro-batches");
  status = events_take(rank->forward, ranks->micro_batches, error);
  return status == EP_OK ? events_take(rank->backward, ranks->micro_batches, error) : status;
}

/* --- create, destroy ------------------------------------------------------------------------ */

static ep_status rank_create(ep_cuda_ranks *ranks, int number, ep_error *error) {
  ep_cuda_rank *rank = &ranks->ranks[number];
  rank->ranks = ranks;
  rank->replica = number / ranks->stages;
  rank->stage = number % ranks->stages;
  rank->device = &ranks->devices[number * ranks->devices_count / ranks->count];
  program_make(ranks, rank);
  ep_status status = ep_cuda_device_use(rank->device->backend, error);
  if (status == EP_OK) status = pieces_take(ranks, rank, error);
  if (status == EP_OK && ranks->stages == 1) status = trainer_take(ranks, rank, error);
  if (status == EP_OK) status = rank_memory_take(ranks, rank, error);
  return status == EP_OK ? rank_events_take(ranks, rank, error) : status;
}

static ep_status ranks_build(ep_cuda_ranks *ranks, ep_error *error) {
  ep_status status = devices_take(ranks, error);
  if (status == EP_OK) {
    ranks->ranks = calloc((size_t)ranks->count, sizeof *ranks->ranks);
    if (!ranks->ranks) status = ep_fail(error, EP_NO_MEMORY, "no memory for the ranks");
  }
  for (int i = 0; i < ranks->count && status == EP_OK; i++) status = rank_create(ranks, i, error);
  for (int i = 0; i < ranks->count && status == EP_OK; i++)
    status = ep_cuda_ranks_lists_take(ranks, &ranks->ranks[i], error);
  ep_status back = ep_cuda_device_use(ranks->leader->backend, status == EP_OK ? error : NULL);
  if (status == EP_OK) status = back;
  return status == EP_OK ? events_take(&ranks->begun, 1, error) : status;
}

ep_status ep_cuda_ranks_create(ep_cuda_network *leader, ep_cuda_ranks **out, ep_error *error) {
  const ep_program *program = leader->program;
  *out = NULL;
  if (!leader->resident)
    return ep_fail(error, EP_UNSUPPORTED, "the training rows do not fit a GPU of the ranks");
  ep_cuda_ranks *ranks = calloc(1, sizeof *ranks);
  if (!ranks) return ep_fail(error, EP_NO_MEMORY, "no memory for the ranks");
  ranks->leader = leader;
  ranks->program = program;
  ranks->replicas = ep_program_replicas(program);
  ranks->stages = ep_program_stages(program);
  ranks->count = ep_program_ranks(program);
  ranks->micro_batches = 1;
  if (ranks->stages > 1 && program->parallel.micro_batches > 1)
    ranks->micro_batches = program->parallel.micro_batches;
  ep_status status = ranks_build(ranks, error);
  if (status != EP_OK) {
    ep_cuda_ranks_destroy(ranks);
    return status;
  }
  *out = ranks;
  return EP_OK;
}

static void events_destroy(cudaEvent_t *events, int count) {
  for (int i = 0; events && i < count; i++)
    if (events[i]) cudaEventDestroy(events[i]);
}

/* Ranks read each other's memory: none of it goes before all are done. */
static void rank_wait(const ep_cuda_rank *rank) {
  if (!rank->device || rank->pieces_count == 0) return;
  ep_cuda_device_use(rank->device->backend, NULL);
  cudaStreamSynchronize(ep_cuda_rank_stream(rank));
  if (rank->sender) cudaStreamSynchronize(rank->sender);
}

static void rank_destroy(const ep_cuda_ranks *ranks, ep_cuda_rank *rank) {
  if (!rank->device) return;
  ep_cuda_device_use(rank->device->backend, NULL);
  events_destroy(rank->forward, ranks->micro_batches);
  events_destroy(rank->backward, ranks->micro_batches);
  events_destroy(&rank->added, 1);
  events_destroy(&rank->squared, 1);
  events_destroy(&rank->updated, 1);
  events_destroy(&rank->found_event, 1);
  events_destroy(&rank->sent, 1);
  if (rank->sender) cudaStreamDestroy(rank->sender);
  free(rank->sendings);
  free(rank->received);
  free(rank->own_rows);
  free(rank->forward);
  free(rank->backward);
  free(rank->lists);
  free(rank->found);
  if (rank->trainer && rank->trainer->destroy) rank->trainer->destroy(rank->trainer_state);
  ep_cuda_memory_deinit(&rank->memory);
  for (int i = rank->pieces_count - 1; i >= 0; i--) ep_cuda_network_destroy(rank->pieces[i]);
  free(rank->pieces);
}

void ep_cuda_ranks_destroy(ep_cuda_ranks *ranks) {
  if (!ranks) return;
  for (int i = 0; ranks->ranks && i < ranks->count; i++) rank_wait(&ranks->ranks[i]);
  for (int i = 0; ranks->ranks && i < ranks->count; i++) rank_destroy(ranks, &ranks->ranks[i]);
  for (int i = 0; i < ranks->devices_count; i++) {
    ep_cuda_ranks_device *device = &ranks->devices[i];
    ep_cuda_device_use(device->backend, NULL);
    ep_cuda_memory_deinit(&device->memory);
    if (device->opened) ep_cuda_device_close(device->backend);
  }
  ep_cuda_device_use(ranks->leader->backend, NULL);
  events_destroy(&ranks->begun, 1);
  free(ranks->devices);
  free(ranks->ranks);
  free(ranks);
}
