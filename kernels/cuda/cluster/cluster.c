/* cluster.c: the executor "cuda/cluster": small dense networks with small batches. A segment is one
 * launch of a block, or of one cluster of blocks, with all weights in their shared memory. */
#include <stdlib.h>

#include "kernels/choice.h"
#include "kernels/cuda/cluster/plan.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/instance.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cluster_plan plan;
  cudaKernel_t kernel;
  float *scratch; /* device [plan.scratch_floats], or NULL */
  int64_t bytes;
} cluster;

static bool cluster_accepts(const ep_backend *backend, const ep_program *program) {
  ep_cluster_plan plan;
  return ep_choice_has_large_blocks(backend->capability) && ep_choice_cluster_suits(program) &&
         ep_cluster_plan_make(program, &plan) && ep_cuda_compiler_exists();
}

static void cluster_destroy(void *state) {
  cluster *self = state;
  if (!self) return;
  ep_cuda_free(self->scratch);
  free(self);
}

/* together: lent to the configuration. */
static cudaLaunchConfig_t config_of(const cluster *self, cudaLaunchAttribute *together) {
  const ep_cluster_plan *plan = &self->plan;
  unsigned blocks = (unsigned)(plan->row_blocks * plan->slices);
  *together = (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension};
  together->val.clusterDim.x = blocks;
  together->val.clusterDim.y = together->val.clusterDim.z = 1;
  return (cudaLaunchConfig_t){.gridDim = {blocks, 1, 1},
                              .blockDim = {(unsigned)plan->warps * 32, 1, 1},
                              .dynamicSmemBytes = (size_t)plan->shared_floats * sizeof(float),
                              .stream = self->network->stream,
                              .attrs = together,
                              .numAttrs = blocks > 1 ? 1 : 0};
}

/* Whether the cluster finds neighbours enough. */
static ep_status room_check(const cluster *self, ep_error *error) {
  cudaLaunchAttribute together;
  const cudaLaunchConfig_t config = config_of(self, &together);
  int clusters = 0;
  if (config.numAttrs == 0) return EP_OK;
  cudaError_t code = cudaOccupancyMaxActiveClusters(&clusters, (const void *)self->kernel, &config);
  return ep_cuda_cluster_check(self->network->backend, code, clusters, (int)config.gridDim.x,
                               error);
}

static ep_status kernel_prepare(cluster *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  const ep_cluster_plan *plan = &self->plan;
  char *text = ep_cluster_text(program, plan);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  ep_status status = ep_cuda_compile(backend, "kernels/cuda/cluster/steps.cuh", text, "cluster",
                                     &self->kernel, error);
  free(text);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(
      cudaKernelSetAttributeForDevice(self->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      plan->shared_floats * (int)sizeof(float), backend->device),
      "asking for shared memory");
  EP_CUDA_TRY(cudaKernelSetAttributeForDevice(
                  self->kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1, backend->device),
              "asking for a large cluster");
  return room_check(self, error);
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
  if (status == EP_OK && self->plan.scratch_floats > 0)
    status = ep_cuda_allocate(network->backend, (void **)&self->scratch, self->plan.scratch_floats,
                              (int64_t)sizeof(float), &self->bytes, error);
  if (status != EP_OK) {
    cluster_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static int64_t cluster_bytes(const void *state) {
  const cluster *self = state;
  return self->bytes;
}

static ep_status launch(cluster *self, ep_cluster_span *given, ep_error *error) {
  cudaLaunchAttribute together;
  const cudaLaunchConfig_t config = config_of(self, &together);
  void *arguments[] = {given};
  EP_CUDA_TRY(cudaLaunchKernelExC(&config, (const void *)self->kernel, arguments),
              "launching the steps");
  return EP_OK;
}

static ep_status cluster_run(void *state, const ep_cuda_span *span, ep_error *error) {
  cluster *self = state;
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_cluster_span given = {.first_step = span->first_step,
                           .steps = span->steps,
                           .x = network->train_x,
                           .y = network->train_y,
                           .parameters = network->parameters,
                           .state = network->state,
                           .scratch = self->scratch,
                           .lr = span->lr,
                           .lr_count = span->lr_count,
                           .update = span->update,
                           .loss = span->loss,
                           .errors = span->errors,
                           .seed = program->seed,
                           .optimizer = program->optimizer,
                           .huber_delta = program->huber_delta,
                           .label_smoothing = program->label_smoothing};
  for (int l = 0; l < self->plan.layers_count; l++) {
    given.weight_decay[l] = self->plan.layers[l].weight_decay;
    given.bias_decay[l] = self->plan.layers[l].bias_decay;
  }
  return launch(self, &given, error);
}

static const ep_cuda_method method = {.create = cluster_create,
                                      .destroy = cluster_destroy,
                                      .bytes = cluster_bytes,
                                      .run = cluster_run};

static ep_status cluster_instance(ep_backend *backend, const ep_program *program, void **out,
                                  ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

const ep_executor ep_cuda_cluster = {
    .name = "cuda/cluster",
    .capabilities = {EP_CHOICE_RESIDENT_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = cluster_accepts,
    .create = cluster_instance,
    EP_CUDA_INSTANCE_SLOTS,
};
