/* executor.c: the executor "cuda/ranks": one training on several ranks: replicas that have a slice
 * of every batch, stages that have some of the layers, or both, on one GPU or several. The host
 * queues all of it from one thread, as a graph that spans the GPUs. */
#include "kernels/cuda/executors/ranks/plan.h"
#include "kernels/cuda/executors/ranks/ranks.h"
#include "kernels/operators/operator.h"

static ep_status create(ep_cuda_network *network, void **out, ep_error *error) {
  ep_cuda_ranks *ranks;
  ep_status status = ep_cuda_ranks_create(network, &ranks, error);
  *out = ranks;
  return status;
}

static void destroy(void *self) {
  ep_cuda_ranks_destroy(self);
}

static ep_status step(void *self, int64_t rows, ep_error *error) {
  return ep_cuda_ranks_step_queue(self, rows, error);
}

static ep_status copy(const ep_cuda_ranks *ranks, void *to, const void *from, int64_t bytes,
                      ep_error *error) {
  if (bytes == 0 || to == from) return EP_OK;
  EP_CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, ranks->leader->stream),
              "copying from GPU to GPU");
  return EP_OK;
}

/* What a rank's own way of training makes of parameters that came from outside. */
static ep_status trainers_adopt(const ep_cuda_ranks *ranks, ep_error *error) {
  ep_status status = EP_OK;
  EP_CUDA_TRY(cudaStreamSynchronize(ranks->leader->stream), "copying from GPU to GPU");
  for (int i = 0; i < ranks->count && status == EP_OK; i++) {
    const ep_cuda_rank *rank = &ranks->ranks[i];
    if (!rank->trainer || !rank->trainer->adopt) continue;
    status = ep_cuda_device_use(rank->device->backend, error);
    if (status == EP_OK) status = rank->trainer->adopt(rank->trainer_state, error);
    if (status != EP_OK) break;
    EP_CUDA_TRY(cudaStreamSynchronize(ep_cuda_rank_stream(rank)), "adopting parameters");
  }
  ep_status back = ep_cuda_device_use(ranks->leader->backend, status == EP_OK ? error : NULL);
  return status == EP_OK ? back : status;
}

/* The leader's parameters, state and rows to all ranks and GPUs. */
static ep_status adopt(void *self, ep_error *error) {
  const ep_cuda_ranks *ranks = self;
  const ep_program *program = ranks->program;
  const ep_cuda_network *leader = ranks->leader;
  const int64_t size = sizeof(float);
  ep_status status = EP_OK;
  for (int i = 0; i < ranks->devices_count && status == EP_OK; i++) {
    const ep_cuda_ranks_device *device = &ranks->devices[i];
    status = copy(ranks, device->x, leader->train_x,
                  program->train_rows * ep_cuda_row_bytes(program), error);
    if (status == EP_OK)
      status = copy(ranks, device->y, leader->train_y,
                    program->train_rows * program->target_columns * size, error);
  }
  for (int i = 0; i < ranks->count && status == EP_OK; i++) {
    const ep_cuda_network *network = ranks->ranks[i].pieces[0];
    status = copy(ranks, network->parameters, leader->parameters,
                  ep_program_state_floats(program) * size, error);
    if (status == EP_OK)
      status = copy(ranks, network->state, leader->state, program->optimizer_floats * size, error);
  }
  return status == EP_OK ? trainers_adopt(ranks, error) : status;
}

/* Parameters first … first + count - 1 and their state, from a rank's to the leader's. */
static ep_status range_settle(const ep_cuda_ranks *ranks, const ep_cuda_network *from,
                              int64_t first, int64_t count, ep_error *error) {
  const ep_program *program = ranks->program;
  const ep_cuda_network *leader = ranks->leader;
  const int64_t size = sizeof(float);
  ep_status status =
      copy(ranks, leader->parameters + first, from->parameters + first, count * size, error);
  for (int64_t at = first; at < program->optimizer_floats && status == EP_OK;
       at += program->parameters)
    status = copy(ranks, leader->state + at, from->state + at, count * size, error);
  return status;
}

/* The first replica's: the others have the same. */
static ep_status settle(void *self, ep_error *error) {
  const ep_cuda_ranks *ranks = self;
  const ep_program *program = ranks->program;
  ep_status status = EP_OK;
  for (int m = 0; m < ranks->stages; m++) {
    const ep_cuda_network *from = ep_cuda_rank_at(ranks, 0, m)->pieces[0];
    for (int i = from->share.first; i < from->share.end && status == EP_OK; i++) {
      const ep_op *op = &program->ops[i];
      const int64_t buffers = program->parameters + op->running;
      if (ep_op_parameters(op) > 0)
        status = range_settle(ranks, from, ep_op_parameters_first(op), ep_op_parameters(op), error);
      if (status == EP_OK && op->type == EP_LAYER_BATCH_NORM)
        status = copy(ranks, ranks->leader->parameters + buffers, from->parameters + buffers,
                      2 * op->in.channels * (int64_t)sizeof(float), error);
    }
  }
  return status;
}

static int64_t rank_bytes(const ep_cuda_rank *rank) {
  int64_t bytes = rank->memory.bytes;
  for (int i = 0; i < rank->pieces_count; i++) bytes += rank->pieces[i]->memory.bytes;
  return bytes;
}

static void info(const void *self, ep_instance_info *out) {
  const ep_cuda_ranks *ranks = self;
  out->ranks = ranks->count;
  for (int i = 0; i < ranks->devices_count; i++) out->bytes += ranks->devices[i].memory.bytes;
  for (int i = 0; i < ranks->count; i++) {
    const ep_cuda_rank *rank = &ranks->ranks[i];
    ep_cuda_ranks_times times = {0};
    ep_cuda_device_use(rank->device->backend, NULL);
    cudaMemcpy(&times, rank->times, sizeof times, cudaMemcpyDeviceToHost);
    const uint64_t *spent = times.nanoseconds;
    out->rank[i] =
        (ep_rank_info){.bytes = rank_bytes(rank),
                       .compute_seconds = 1e-9 * (double)spent[EP_RANKS_COMPUTE],
                       .communication_seconds = 1e-9 * (double)spent[EP_RANKS_COMMUNICATION],
                       .idle_seconds = 1e-9 * (double)spent[EP_RANKS_IDLE]};
    out->bytes += out->rank[i].bytes;
  }
  ep_cuda_device_use(ranks->leader->backend, NULL);
}

const ep_cuda_executor ep_cuda_ranks_executor = {
    .profile = &ep_cuda_ranks_profile,
    .create = create,
    .destroy = destroy,
    .adopt = adopt,
    .step = step,
    .settle = settle,
    .info = info,
};
