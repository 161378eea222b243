/* executor.c: the executor "cuda/grid": dense networks of small and middle size. A segment is one
 * launch of blocks that stay: a cluster, or one a multiprocessor, with barriers where a graph would
 * have launches. */
#include <stdlib.h>

#include "kernels/cuda/executors/grid/kernel.h"
#include "kernels/cuda/executors/grid/plan.h"
#include "kernels/cuda/executors/grid/tensor_maps.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_grid_plan plan;
  ep_cuda_launch launch; /* its barrier: [EP_GRID_BARRIERS + plan.counters] */
  float *scratch;        /* device [plan.scratch_floats] */
  float *state;          /* device [slots, state_stride], during a launch; NULL: the network's */
} grid;

/* In clusters of two, where the plan wants them and there is room; else without. */
static ep_status launch_prepare(grid *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  ep_error unwanted;
  if (self->plan.args.paired) {
    self->launch.cluster = 2;
    if (ep_cuda_launch_prepare(backend, &self->launch, EP_GRID_SHARED_BYTES, &unwanted) == EP_OK)
      return EP_OK;
    self->launch.cluster = 0;
    self->plan.args.paired = false;
  }
  return ep_cuda_launch_prepare(backend, &self->launch, EP_GRID_SHARED_BYTES, error);
}

static ep_status grid_prepare(grid *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  ep_cuda_memory *memory = &self->network->memory;
  ep_grid_plan *plan = &self->plan;
  if (!ep_grid_plan_make(self->network->program, backend->gpu.multiprocessors, plan))
    return ep_fail(error, EP_INTERNAL, "no program for cuda/grid");
  const int64_t barrier_words = EP_GRID_BARRIERS + plan->counters;
  self->launch = (ep_cuda_launch){.blocks = plan->blocks,
                                  .threads = EP_GRID_THREADS,
                                  .shared_bytes = plan->shared_bytes,
                                  .cluster = plan->args.cluster ? plan->blocks : 0,
                                  .cooperative = !plan->args.cluster,
                                  .barrier_bytes = barrier_words * (int64_t)sizeof(unsigned)};
  const int64_t stride = plan->args.state_stride;
  const bool apart = plan->args.slots > 1 && stride != self->network->program->parameters;
  const ep_cuda_buffer buffers[] = {
      {&self->state, apart ? plan->args.slots : 0, stride, sizeof(float)},
      {&self->scratch, 1, plan->scratch_floats, sizeof(float)},
      {&self->launch.barrier, 1, barrier_words, sizeof(unsigned)},
  };
  ep_status status =
      ep_cuda_memory_take_all(memory, buffers, sizeof buffers / sizeof *buffers, error);
  if (status != EP_OK) return status;
  plan->args.parameters = self->network->parameters;
  plan->args.state = self->state ? self->state : self->network->state;
  plan->args.scratch = self->scratch;
  status = ep_grid_tensor_maps_take(memory, &plan->args, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_grid_kernel(plan->args.precise, &self->launch.kernel), "finding a kernel");
  return launch_prepare(self, error);
}

static ep_status grid_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  grid *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = grid_prepare(self, error);
  if (status != EP_OK) {
    free(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

/* The optimizer's state from where its slots lie one behind the other to where each begins on 16
 * bytes, or back. */
static ep_status state_move(const grid *self, bool back, ep_error *error) {
  const ep_cuda_network *network = self->network;
  const size_t bytes = (size_t)network->program->parameters * sizeof(float),
               stride = (size_t)self->plan.args.state_stride * sizeof(float);
  EP_CUDA_TRY(cudaMemcpy2DAsync(back ? network->state : self->state, back ? bytes : stride,
                                back ? self->state : network->state, back ? stride : bytes, bytes,
                                (size_t)self->plan.args.slots, cudaMemcpyDeviceToDevice,
                                network->stream),
              "moving the optimizer's state");
  return EP_OK;
}

static ep_status grid_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  const grid *self = state;
  const ep_cuda_network *network = self->network;
  ep_grid_args given = self->plan.args;
  given.first_step = segment->first_step;
  given.steps = segment->steps;
  given.x = network->train_x;
  given.y = network->train_y;
  given.barrier = self->launch.barrier;
  given.lr = segment->lr;
  given.lr_count = segment->lr_count;
  given.update = segment->update;
  given.loss = segment->loss;
  given.errors = segment->errors;
  ep_status status = self->state ? state_move(self, false, error) : EP_OK;
  if (status == EP_OK) status = ep_cuda_launch_run(&self->launch, network->stream, &given, error);
  if (status == EP_OK && self->state) status = state_move(self, true, error);
  return status;
}

const ep_cuda_executor ep_cuda_grid_executor = {
    .profile = &ep_cuda_grid_profile,
    .takes_numbers = true,
    .create = grid_create,
    .destroy = free,
    .run = grid_run,
};
