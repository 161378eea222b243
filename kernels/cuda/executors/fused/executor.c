/* executor.c: the executor "cuda/fused": dense networks of narrow layers on many rows, whose
 * weights fit the shared memory of a multiprocessor. A segment is one launch of blocks that stay.
 */
#include <stdlib.h>

#include "kernels/choice.h"
#include "kernels/cuda/executors/fused/plan.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_narrow_plan plan;
  ep_cuda_launch launch;
  float *partials; /* device: see span.h */
  char *image;     /* device [image_bytes] */
  double *losses;  /* device [blocks] */
  int32_t *misses; /* device [blocks] */
} narrow;

static bool plan_make(const ep_backend *backend, const ep_program *program, ep_narrow_plan *plan) {
  ep_choice_gpu gpu = {backend->capability, backend->multiprocessors};
  ep_choice_narrow_work work;
  return ep_choice_narrow(program, &gpu, &work) &&
         ep_narrow_plan_make(program, gpu.multiprocessors, ep_choice_shared_bytes(gpu.capability),
                             plan, &work);
}

static bool narrow_accepts(const ep_backend *backend, const ep_program *program) {
  ep_narrow_plan plan;
  return plan_make(backend, program, &plan) && ep_cuda_compiler_exists();
}

static ep_status memory_take(narrow *self, ep_error *error) {
  const ep_narrow_plan *plan = &self->plan;
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

static ep_status kernel_prepare(narrow *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  const ep_narrow_plan *plan = &self->plan;
  self->launch.blocks = plan->blocks;
  self->launch.threads = plan->threads;
  self->launch.shared_bytes = plan->shared_bytes;
  self->launch.cooperative = true;
  self->launch.barrier_bytes = sizeof *self->launch.barrier;
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/fused/kernel.cuh", "narrow",
                                ep_narrow_text(self->network->program, plan), &self->launch, error);
}

static void narrow_destroy(void *state) {
  narrow *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status narrow_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  narrow *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = EP_OK;
  if (!plan_make(network->backend, network->program, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "no program for cuda/fused");
  if (status == EP_OK) status = memory_take(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  if (status != EP_OK) {
    narrow_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status narrow_run(void *state, const ep_cuda_span *span, ep_error *error) {
  const narrow *self = state;
  const ep_program *program = self->network->program;
  ep_narrow_span given = {EP_CUDA_SPAN_OF(self->network, span),
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

const ep_cuda_executor ep_cuda_fused = {
    .name = "cuda/fused",
    .capabilities = {EP_CHOICE_RESIDENT_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = narrow_accepts,
    .create = narrow_create,
    .destroy = narrow_destroy,
    .run = narrow_run,
};
