/* executor.c: the executor "cuda/crews": dense networks with small batches whose weights fit the
 * shared memory of one cluster. A segment is one launch of several clusters, each with all weights
 * and with rows of its own. */
#include <stdlib.h>

#include "kernels/cuda/executors/crews/plan.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_crews_plan plan;
  ep_cuda_launch launch;
  float *scratch; /* device [plan.scratch_floats] */
} crews;

static ep_status kernel_prepare(crews *self, ep_error *error) {
  const ep_crews_plan *plan = &self->plan;
  self->launch.blocks = plan->crews * EP_CREWS_RANKS;
  self->launch.threads = EP_CREWS_WARPS * 32;
  self->launch.shared_bytes = plan->shared_floats * (int64_t)sizeof(float);
  self->launch.cluster = EP_CREWS_RANKS;
  self->launch.cooperative = true;
  self->launch.barrier_bytes = sizeof(unsigned);
  return ep_cuda_launch_compile(self->network->backend, "kernels/cuda/executors/crews/kernel.cuh",
                                "crews", ep_crews_codegen(self->network->program, plan),
                                &self->launch, error);
}

static void crews_destroy(void *state) {
  crews *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status crews_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  crews *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = EP_OK;
  if (!ep_crews_plan_make(network->program, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "no program for cuda/crews");
  if (status == EP_OK) status = kernel_prepare(self, error);
  const ep_cuda_buffer buffers[] = {{&self->scratch, 1, self->plan.scratch_floats, sizeof(float)},
                                    {&self->launch.barrier, 1, 1, sizeof(unsigned)}};
  if (status == EP_OK)
    status =
        ep_cuda_memory_take_all(&network->memory, buffers, sizeof buffers / sizeof *buffers, error);
  if (status != EP_OK) {
    crews_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status crews_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  crews *self = state;
  ep_crews_args given = {EP_CUDA_ARGS_OF(self->network, segment), .scratch = self->scratch,
                         .barrier = self->launch.barrier};
  for (int l = 0; l < self->plan.layers_count; l++) {
    given.weight_decay[l] = self->plan.layers[l].weight_decay;
    given.bias_decay[l] = self->plan.layers[l].bias_decay;
  }
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_crews_executor = {
    .profile = &ep_cuda_crews_profile,
    .takes_numbers = true,
    .available = ep_cuda_compiler_exists,
    .create = crews_create,
    .destroy = crews_destroy,
    .run = crews_run,
};
