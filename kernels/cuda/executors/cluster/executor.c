/* executor.c: the executor "cuda/cluster": small dense networks with small batches. A segment is
 * one launch of a block, or of one cluster of blocks, with all weights in their shared memory. */
#include <stdlib.h>

#include "kernels/cuda/executors/cluster/plan.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cluster_plan plan;
  ep_cuda_launch launch;
  float *scratch; /* device [plan.scratch_floats], or NULL */
} cluster;

static ep_status kernel_prepare(cluster *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  const ep_cluster_plan *plan = &self->plan;
  const int blocks = plan->row_blocks * plan->slices;
  self->launch = (ep_cuda_launch){.blocks = blocks,
                                  .threads = plan->warps * 32,
                                  .shared_bytes = plan->shared_floats * (int64_t)sizeof(float),
                                  .cluster = blocks > 1 ? blocks : 0};
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/cluster/kernel.cuh", "cluster",
                                ep_cluster_codegen(program, plan), &self->launch, error);
}

static void cluster_destroy(void *state) {
  cluster *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status cluster_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  cluster *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = EP_OK;
  if (!ep_cluster_plan_make(network->program, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "no program for cuda/cluster");
  if (status == EP_OK) status = kernel_prepare(self, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take(&network->memory, &self->scratch, 1, self->plan.scratch_floats,
                                 sizeof(float), error);
  if (status != EP_OK) {
    cluster_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status cluster_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  cluster *self = state;
  ep_cluster_args given = {EP_CUDA_ARGS_OF(self->network, segment), .scratch = self->scratch};
  for (int l = 0; l < self->plan.layers_count; l++) {
    given.weight_decay[l] = self->plan.layers[l].weight_decay;
    given.bias_decay[l] = self->plan.layers[l].bias_decay;
    given.norm_weight_decay[l] = self->plan.layers[l].norm_weight_decay;
    given.norm_bias_decay[l] = self->plan.layers[l].norm_bias_decay;
  }
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_cluster_executor = {
    .profile = &ep_cuda_cluster_profile,
    .takes_numbers = true,
    .available = ep_cuda_compiler_exists,
    .create = cluster_create,
    .destroy = cluster_destroy,
    .run = cluster_run,
};
