/* executor.c: the executor "cuda/fused": dense networks of narrow layers on many rows, whose
 * weights fit the shared memory of a multiprocessor. A segment is one launch of blocks that stay.
 */
#include <stdlib.h>

#include "kernels/cuda/executors/fused/plan.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cuda_fused_plan plan;
  ep_cuda_launch launch;
  float *partials; /* device: see args.h */
  char *image;     /* device [image_bytes] */
  double *losses;  /* device [blocks] */
  int32_t *misses; /* device [blocks] */
} fused;

static ep_status memory_take(fused *self, ep_error *error) {
  const ep_cuda_fused_plan *plan = &self->plan;
  const ep_cuda_buffer buffers[] = {
      {&self->partials, plan->blocks, 4 * (int64_t)plan->quads, sizeof(float)},
      {&self->image, 1, plan->image_bytes, 1}, /* its gaps stay zero */
      {&self->losses, 1, plan->blocks, sizeof *self->losses},
      {&self->misses, 1, plan->blocks, sizeof *self->misses},
      {&self->launch.barrier, 1, 1, sizeof *self->launch.barrier},
  };
  return ep_cuda_memory_take_all(&self->network->memory, buffers, sizeof buffers / sizeof *buffers,
                                 error);
}

static ep_status kernel_prepare(fused *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  const ep_cuda_fused_plan *plan = &self->plan;
  self->launch.blocks = plan->blocks;
  self->launch.threads = plan->threads;
  self->launch.shared_bytes = plan->shared_bytes;
  self->launch.cooperative = true;
  self->launch.barrier_bytes = sizeof *self->launch.barrier;
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/fused/kernel.cuh", "fused",
                                ep_cuda_fused_codegen(self->network->program, plan), &self->launch,
                                error);
}

static void fused_destroy(void *state) {
  fused *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status fused_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  fused *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = EP_OK;
  if (!ep_cuda_fused_plan_make(network->program, &network->backend->gpu, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "no program for cuda/fused");
  if (status == EP_OK) status = memory_take(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  if (status != EP_OK) {
    fused_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status fused_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  const fused *self = state;
  const ep_program *program = self->network->program;
  ep_cuda_fused_args given = {EP_CUDA_ARGS_OF(self->network, segment),
                              .partials = self->partials,
                              .image = self->image,
                              .losses = self->losses,
                              .misses = self->misses,
                              .barrier = self->launch.barrier};
  for (int l = 0; l < self->plan.layers_count; l++) {
    const ep_op *op = self->plan.layers[l].op;
    given.decay[l][0] = ep_program_decay_at(program, op->weight);
    given.decay[l][1] = ep_program_decay_at(program, op->bias);
  }
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_fused_executor = {
    .profile = &ep_cuda_fused_profile,
    .takes_numbers = true,
    .available = ep_cuda_compiler_exists,
    .create = fused_create,
    .destroy = fused_destroy,
    .run = fused_run,
};
