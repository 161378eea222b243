/* executor.c: the executor "cuda/resident": small dense networks whose weights, and whose sums of
 * gradients, fit the registers of a thread. A segment is one launch. */
#include <stdlib.h>

#include "kernels/choice.h"
#include "kernels/cuda/executors/launch.h"
#include "kernels/cuda/executors/resident/args.h"
#include "kernels/cuda/executors/resident/plan.h"

enum {
  WARP = 32,
  BLOCK_THREADS = 128, /* a warp for each of a multiprocessor's four schedulers */
  BLOCKS_MAX = 8,      /* of a cluster, on every device that has them */
  SUMS_MAX = (EP_CHOICE_RESIDENT_PARAMETERS + 2 + WARP - 1) / WARP * WARP
};
_Static_assert((3 * BLOCK_THREADS / WARP + 2 * BLOCKS_MAX) * SUMS_MAX * sizeof(float) <=
                   EP_CHOICE_RESIDENT_BYTES,
               "what the choice counts on");

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cuda_launch launch;
  float *decay; /* device [parameters] */
} resident;

/* Shared memory of the kernel: see `exchange` in rows.cuh. */
static int64_t shared_bytes(const ep_program *program, const ep_resident_plan *plan) {
  const int64_t sums = (program->parameters + 2 + WARP - 1) / WARP * WARP;
  const int64_t warps = plan->threads / WARP, blocks = plan->blocks;
  const int64_t floats = 2 * warps * sums + (blocks > 1 ? 2 : 1) * blocks * sums + warps * sums;
  const int64_t order = ep_program_shuffles(program) ? program->train_rows : 0;
  return (floats + order) * (int64_t)sizeof(float);
}

/* As few blocks as give a thread no more than four rows: another block costs a barrier of the
 * cluster, which is as much as some twenty rows of a small network. */
static ep_resident_plan plan_choose(const ep_backend *backend, const ep_program *program) {
  ep_resident_plan plan = {1, BLOCK_THREADS};
  while (plan.threads > WARP && program->batch_size <= plan.threads / 2) plan.threads /= 2;
  int most = backend->capability >= 90 ? BLOCKS_MAX : 1;
  while (plan.blocks < most && program->batch_size > (int64_t)plan.blocks * plan.threads * 4)
    plan.blocks *= 2;
  return plan;
}

static bool resident_accepts(const ep_backend *backend, const ep_program *program) {
  const ep_choice_gpu gpu = {backend->capability, backend->multiprocessors};
  return ep_choice_resident(program, &gpu) && ep_cuda_compiler_exists();
}

static ep_status decay_load(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  float decay[EP_CHOICE_RESIDENT_PARAMETERS];
  ep_program_decay(program, decay);
  return ep_cuda_memory_take_copy(&self->network->memory, &self->decay, decay, program->parameters,
                                  sizeof *decay, error);
}

static ep_status kernel_prepare(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  const ep_resident_plan plan = plan_choose(backend, program);
  self->launch = (ep_cuda_launch){.blocks = plan.blocks,
                                  .threads = plan.threads,
                                  .shared_bytes = shared_bytes(program, &plan),
                                  .cluster = plan.blocks > 1 ? plan.blocks : 0};
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/resident/kernel.cuh", "resident",
                                ep_resident_text(program, &plan), &self->launch, error);
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

static ep_status resident_run(void *state, const ep_cuda_span *span, ep_error *error) {
  const resident *self = state;
  const ep_resident_span given = {EP_CUDA_SPAN_OF(self->network, span), .decay = self->decay};
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_resident = {
    .name = "cuda/resident",
    .capabilities = {EP_CHOICE_RESIDENT_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = resident_accepts,
    .create = resident_create,
    .destroy = resident_destroy,
    .run = resident_run,
};
