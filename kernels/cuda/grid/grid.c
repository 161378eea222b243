/* grid.c: the executor "cuda/grid": dense networks of small and middle size. A segment is one
 * launch of blocks that stay: a cluster, or one a multiprocessor, with barriers where a graph would
 * have launches. */
#include <stdlib.h>

#include "kernels/choice.h"
#include "kernels/cuda/grid/plan.h"
#include "kernels/cuda/grid/steps.h"
#include "kernels/cuda/instance.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_grid_plan plan;
  float *scratch;    /* device [plan.scratch_floats] */
  unsigned *barrier; /* device [EP_GRID_BARRIERS + plan.counters] */
  int64_t bytes;
} grid;

static bool grid_accepts(const ep_backend *backend, const ep_program *program) {
  ep_grid_plan plan;
  return ep_choice_has_large_blocks(backend->capability) &&
         backend->generation >= EP_GRID_GENERATION && ep_choice_grid_suits(program) &&
         ep_grid_plan_make(program, backend->multiprocessors, &plan);
}

static void grid_destroy(void *state) {
  grid *self = state;
  if (!self) return;
  ep_cuda_free(self->barrier);
  ep_cuda_free(self->scratch);
  free(self);
}

static ep_status memory_take(grid *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  ep_grid_plan *plan = &self->plan;
  if (!ep_grid_plan_make(self->network->program, backend->multiprocessors, plan))
    return ep_fail(error, EP_INTERNAL, "no program for cuda/grid");
  ep_status status = ep_cuda_allocate(backend, (void **)&self->scratch, plan->scratch_floats,
                                      (int64_t)sizeof(float), &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->barrier, EP_GRID_BARRIERS + plan->counters,
                              (int64_t)sizeof(unsigned), &self->bytes, error);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(ep_cuda_grid_prepare(plan->span.precise, EP_GRID_SHARED_BYTES),
              "asking for shared memory");
  if (plan->span.cluster) {
    int clusters = 0;
    cudaError_t code =
        ep_cuda_grid_clusters(&plan->span, plan->blocks, plan->shared_bytes, &clusters);
    status = ep_cuda_cluster_check(backend, code, clusters, plan->blocks, error);
    if (status != EP_OK) return status;
  }
  EP_CUDA_TRY(cudaMemsetAsync(self->scratch, 0, (size_t)plan->scratch_floats * sizeof(float),
                              self->network->stream),
              "clearing the scratch");
  return EP_OK;
}

static ep_status grid_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  grid *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  ep_status status = memory_take(self, error);
  if (status != EP_OK) {
    grid_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static int64_t grid_bytes(const void *state) {
  const grid *self = state;
  return self->bytes;
}

static ep_status grid_run(void *state, const ep_cuda_span *span, ep_error *error) {
  grid *self = state;
  const ep_cuda_network *network = self->network;
  ep_grid_span given = self->plan.span;
  given.first_step = span->first_step;
  given.steps = span->steps;
  given.x = network->train_x;
  given.y = network->train_y;
  given.parameters = network->parameters;
  given.state = network->state;
  given.scratch = self->scratch;
  given.barrier = self->barrier;
  given.lr = span->lr;
  given.lr_count = span->lr_count;
  given.update = span->update;
  given.loss = span->loss;
  given.errors = span->errors;
  EP_CUDA_TRY(
      cudaMemsetAsync(self->barrier, 0,
                      (size_t)(EP_GRID_BARRIERS + self->plan.counters) * sizeof *self->barrier,
                      network->stream),
      "clearing the barrier");
  EP_CUDA_TRY(
      ep_cuda_grid_steps(network->stream, &given, self->plan.blocks, self->plan.shared_bytes),
      "launching the steps");
  return EP_OK;
}

static const ep_cuda_method method = {
    .create = grid_create, .destroy = grid_destroy, .bytes = grid_bytes, .run = grid_run};

static ep_status grid_instance(ep_backend *backend, const ep_program *program, void **out,
                               ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

#define LAYER(type) (UINT64_C(1) << EP_LAYER_##type)

const ep_executor ep_cuda_grid = {
    .name = "cuda/grid",
    .capabilities = {LAYER(LINEAR) | LAYER(RELU) | LAYER(LEAKY_RELU) | LAYER(TANH) |
                         LAYER(SIGMOID) | LAYER(GELU) | LAYER(SIN) | LAYER(ELU) | LAYER(SILU) |
                         LAYER(SOFTPLUS) | LAYER(FLATTEN),
                     ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = grid_accepts,
    .create = grid_instance,
    EP_CUDA_INSTANCE_SLOTS,
};
