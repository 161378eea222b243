/* executor.c: the executor "cuda/persistent": dense networks that fit the multiprocessors' shared
 * memory. A segment is one cooperative launch of blocks that keep the parameters until its end. */
#include <stdlib.h>

#include "kernels/cuda/executors/launch.h"
#include "kernels/cuda/executors/persistent/plan.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_persistent_plan plan;
  ep_cuda_launch launch;
  float *exchange; /* device [plan.exchange_words] */
  float *rows;     /* device [train_rows, plan.row_words] */
  int32_t *places; /* device [plan.slices, plan.vector_words] */
  int64_t loads;   /* of the network, when these were copied */
} persistent;

static ep_status kernel_prepare(persistent *self, ep_error *error) {
  const ep_persistent_plan *plan = &self->plan;
  self->launch =
      (ep_cuda_launch){.blocks = ep_persistent_blocks(plan),
                       .threads = ep_persistent_warps(plan) * EP_GPU_WARP,
                       .shared_bytes = plan->memory_words * (int64_t)sizeof(float),
                       .cluster = plan->clustered ? plan->groups : 0,
                       .cooperative = ep_persistent_blocks(plan) > 1 && !plan->clustered};
  return ep_cuda_launch_compile(
      self->network->backend, "kernels/cuda/executors/persistent/kernel.cuh", "persistent",
      ep_persistent_codegen(self->network->program, plan), &self->launch, error);
}

static void persistent_destroy(void *state) {
  persistent *self = state;
  if (!self) return;
  ep_cuda_launch_deinit(&self->launch);
  free(self);
}

static ep_status places_bring(persistent *self, ep_error *error) {
  const int64_t count = (int64_t)self->plan.slices * self->plan.vector_words;
  int32_t *places = malloc((size_t)count * sizeof *places);
  if (!places) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  ep_persistent_places(self->network->program, &self->plan, places);
  const ep_status status = ep_cuda_memory_take_copy(&self->network->memory, &self->places, places,
                                                    count, sizeof *places, error);
  free(places);
  return status;
}

/* Brings what the plan needs. */
static ep_status plan_use(persistent *self, ep_error *error) {
  ep_cuda_memory *memory = &self->network->memory;
  ep_status status = ep_cuda_memory_take(memory, &self->exchange, 1, self->plan.exchange_words,
                                         sizeof(float), error);
  if (status == EP_OK)
    status = ep_cuda_memory_take(memory, &self->rows, self->network->program->train_rows,
                                 self->plan.row_words, sizeof(float), error);
  if (status == EP_OK) status = places_bring(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  return status;
}

static ep_status persistent_create(ep_cuda_network *network, void **out, ep_error *error) {
  const ep_gpu_traits *gpu = &network->backend->gpu;
  *out = NULL;
  persistent *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = ep_persistent_plan_make(network->program, gpu, &self->plan)
                         ? plan_use(self, error)
                         : ep_fail(error, EP_UNSUPPORTED, "%s has no room for the network",
                                   network->backend->name);
  if (status == EP_UNSUPPORTED && self->plan.clustered) { /* a slice of a GPU */
    ep_cuda_launch_deinit(&self->launch);
    if (ep_persistent_plan_apart(network->program, gpu, &self->plan))
      status = plan_use(self, error);
  }
  if (status != EP_OK) {
    persistent_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

/* Columns of the training rows, to `column` of their copy. */
static cudaError_t columns_copy(const persistent *self, int column, const void *from,
                                int64_t columns) {
  const size_t size = sizeof(float), bytes = (size_t)columns * size;
  return cudaMemcpy2DAsync(self->rows + column, (size_t)self->plan.row_words * size, from, bytes,
                           bytes, (size_t)self->network->program->train_rows,
                           cudaMemcpyDeviceToDevice, self->network->stream);
}

/* The copy of the training rows that the kernel reads, in vectors of 16 bytes. */
static ep_status rows_copy(persistent *self, ep_error *error) {
  const ep_cuda_network *network = self->network;
  if (self->loads == network->loads) return EP_OK;
  EP_CUDA_TRY(columns_copy(self, 0, network->train_x, network->program->in_features),
              "copying training rows");
  EP_CUDA_TRY(
      columns_copy(self, self->plan.targets, network->train_y, network->program->target_columns),
      "copying targets");
  self->loads = network->loads;
  return EP_OK;
}

/* Nothing of the exchange has arrived. */
static ep_status exchange_clear(const persistent *self, int64_t first_step, ep_error *error) {
  ep_persistent_fill fills[EP_PERSISTENT_FILLS];
  ep_persistent_fills(&self->plan, first_step, fills);
  for (int i = 0; i < EP_PERSISTENT_FILLS; i++)
    EP_CUDA_TRY(cudaMemsetAsync(self->exchange + fills[i].at, fills[i].byte,
                                (size_t)fills[i].words * sizeof(float), self->network->stream),
                "clearing the exchange");
  return EP_OK;
}

static ep_status persistent_run(void *state, const ep_cuda_segment *segment, ep_error *error) {
  persistent *self = state;
  const ep_program *program = self->network->program;
  ep_persistent_args given = {EP_CUDA_STEPS_OF(self->network, segment), .exchange = self->exchange,
                              .rows = self->rows, .places = self->places};
  ep_persistent_decays(program, &self->plan, given.decay);
  ep_status status = rows_copy(self, error);
  if (status == EP_OK) status = exchange_clear(self, segment->first_step, error);
  if (status != EP_OK) return status;
  return ep_cuda_launch_run(&self->launch, self->network->stream, &given, error);
}

const ep_cuda_executor ep_cuda_persistent_executor = {
    .profile = &ep_cuda_persistent_profile,
    .takes_numbers = true,
    .available = ep_cuda_compiler_exists,
    .create = persistent_create,
    .destroy = persistent_destroy,
    .run = persistent_run,
};
