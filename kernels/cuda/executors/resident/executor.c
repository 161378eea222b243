/* executor.c: the executor "cuda/resident": small dense networks whose weights, and whose sums of
 * gradients, fit the registers of a thread. A segment is one launch. */
#include <stdlib.h>

#include "kernels/cuda/executors/launch.h"
#include "kernels/cuda/executors/resident/args.h"
#include "kernels/cuda/executors/resident/plan.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cuda_launch launch;
  float *decay; /* device [parameters] */
} resident;

static ep_status decay_load(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  float decay[EP_RESIDENT_PARAMETERS_MAX];
  ep_program_decay(program, decay);
  return ep_cuda_memory_take_copy(&self->network->memory, &self->decay, decay, program->parameters,
                                  sizeof *decay, error);
}

static ep_status kernel_prepare(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  ep_resident_plan plan;
  if (!ep_resident_plan_make(program, &backend->gpu, &plan))
    return ep_fail(error, EP_INTERNAL, "no program for cuda/resident");
  self->launch = (ep_cuda_launch){.blocks = plan.blocks,
                                  .threads = plan.threads,
                                  .shared_bytes = ep_resident_plan_shared_bytes(program, &plan),
                                  .cluster = plan.blocks > 1 ? plan.blocks : 0};
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/resident/kernel.cuh", "resident",
                                ep_resident_codegen(program, &plan), &self->launch, error);
}

static void resident_destroy(void *state) {
  resident *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status resident_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  resident *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = kernel_prepare(self, error);
  if (status == EP_OK) status = decay_load(self, error);
  if (status != EP_OK) {
    resident_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status resident_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  const resident *self = state;
  const ep_resident_args given = {EP_CUDA_ARGS_OF(self->network, segment), .decay = self->decay};
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_resident_executor = {
    .profile = &ep_cuda_resident_profile,
    .takes_numbers = true,
    .available = ep_cuda_compiler_exists,
    .create = resident_create,
    .destroy = resident_destroy,
    .run = resident_run,
};
