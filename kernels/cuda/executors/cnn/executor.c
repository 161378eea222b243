/* executor.c: the executor "cuda/cnn": small convolutional networks, of which a row fits the
 * shared memory of a multiprocessor. A segment is one launch of blocks that stay. */
#include <stdlib.h>

#include "kernels/cuda/executors/cnn/args.h"
#include "kernels/cuda/executors/cnn/memory.h"
#include "kernels/cuda/executors/cnn/plan.h"
#include "kernels/cuda/executors/launch.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cnn_plan plan;
  ep_cuda_launch launch;
  float *decay;             /* device [parameters] */
  float *partials, *linear; /* device: see args.h */
  double *losses;           /* device [workers] */
  int32_t *misses, *order;  /* device [workers]; [2, batch_size] */
} cnn;

static ep_status memory_take(cnn *self, ep_error *error) {
  const ep_cnn_plan *plan = &self->plan;
  const int64_t workers = (int64_t)plan->groups * plan->blocks;
  const ep_cuda_buffer buffers[] = {
      /* what lies between rows is read, and not used */
      {&self->partials, workers, ep_cnn_vectors(plan->convolved), sizeof(float)},
      {&self->linear, 1, plan->linear_floats, sizeof(float)},
      {&self->losses, 1, workers, sizeof *self->losses},
      {&self->misses, 1, workers, sizeof *self->misses},
      {&self->order, 2, self->network->program->batch_size, sizeof *self->order},
      {&self->launch.barrier, 1, 1, sizeof *self->launch.barrier},
  };
  return ep_cuda_memory_take_all(&self->network->memory, buffers, sizeof buffers / sizeof *buffers,
                                 error);
}

static ep_status kernel_prepare(cnn *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  const ep_cnn_plan *plan = &self->plan;
  self->launch.blocks = plan->blocks;
  self->launch.threads = plan->groups * plan->threads;
  self->launch.shared_bytes = ep_cnn_plan_shared_bytes(plan);
  self->launch.cooperative = true;
  self->launch.barrier_bytes = sizeof *self->launch.barrier;
  return ep_cuda_launch_compile(backend, "kernels/cuda/executors/cnn/kernel.cuh", "cnn",
                                ep_cnn_codegen(self->network->program, plan), &self->launch, error);
}

static ep_status cnn_prepare(cnn *self, ep_error *error) {
  const ep_program *program = self->network->program;
  float *decay = malloc((size_t)program->parameters * sizeof *decay);
  if (!decay) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  ep_program_decay(program, decay);
  ep_status status = EP_OK;
  if (!ep_cnn_plan_make(program, &self->network->backend->gpu, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "the network does not fit the device after all");
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(&self->network->memory, &self->decay, decay,
                                      program->parameters, sizeof *decay, error);
  free(decay);
  if (status == EP_OK) status = memory_take(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  return status;
}

static void cnn_destroy(void *state) {
  cnn *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status cnn_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  cnn *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = cnn_prepare(self, error);
  if (status != EP_OK) {
    cnn_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static ep_status cnn_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  const cnn *self = state;
  const ep_cuda_network *network = self->network;
  const ep_cnn_args given = {EP_CUDA_ARGS_OF(network, segment),
                             .x_scale = network->x_scale,
                             .x_shift = network->x_shift,
                             .decay = self->decay,
                             .partials = self->partials,
                             .linear = self->linear,
                             .losses = self->losses,
                             .misses = self->misses,
                             .order = self->order,
                             .barrier = self->launch.barrier,
                             .augment = network->program->augment};
  return ep_cuda_launch_run(&self->launch, network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_cnn_executor = {
    .profile = &ep_cuda_cnn_profile,
    .available = ep_cuda_compiler_exists,
    .create = cnn_create,
    .destroy = cnn_destroy,
    .run = cnn_run,
};
