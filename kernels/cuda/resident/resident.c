/* resident.c: the executor "cuda/resident": small dense networks whose weights, and whose sums of
 * gradients, fit the registers of a thread. A segment is one launch. */
#include <stdlib.h>
#include <string.h>

#include "kernels/choice.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/instance.h"
#include "kernels/cuda/resident/program.h"
#include "kernels/cuda/resident/span.h"

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
  cudaKernel_t kernel;
  ep_resident_grid grid;
  size_t shared_bytes;
  float *decay; /* device [parameters] */
  int64_t bytes;
} resident;

/* Shared memory of the kernel: see `exchange` in rows.cuh. */
static size_t shared_bytes(const ep_program *program, ep_resident_grid grid) {
  size_t sums = (size_t)(program->parameters + 2 + WARP - 1) / WARP * WARP;
  size_t warps = (size_t)(grid.threads / WARP), blocks = (size_t)grid.blocks;
  size_t floats = 2 * warps * sums + (blocks > 1 ? 2 : 1) * blocks * sums + warps * sums;
  size_t order = ep_program_shuffles(program) ? (size_t)program->train_rows : 0;
  return (floats + order) * sizeof(float);
}

/* As few blocks as give a thread no more than four rows: another block costs a barrier of the
 * cluster, which is as much as some twenty rows of a small network. */
static ep_resident_grid grid_choose(const ep_backend *backend, const ep_program *program) {
  ep_resident_grid grid = {1, BLOCK_THREADS};
  while (grid.threads > WARP && program->batch_size <= grid.threads / 2) grid.threads /= 2;
  int most = backend->capability >= 90 ? BLOCKS_MAX : 1;
  while (grid.blocks < most && program->batch_size > (int64_t)grid.blocks * grid.threads * 4)
    grid.blocks *= 2;
  return grid;
}

static bool resident_accepts(const ep_backend *backend, const ep_program *program) {
  const ep_choice_gpu gpu = {backend->capability, backend->multiprocessors};
  return ep_choice_resident(program, &gpu) && ep_cuda_compiler_exists();
}

static void resident_destroy(void *state) {
  resident *self = state;
  if (!self) return;
  ep_cuda_free(self->decay);
  free(self);
}

static ep_status decay_load(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  float decay[EP_CHOICE_RESIDENT_PARAMETERS];
  ep_program_decay(program, decay);
  ep_status status =
      ep_cuda_allocate(self->network->backend, (void **)&self->decay, program->parameters,
                       (int64_t)sizeof(float), &self->bytes, error);
  if (status != EP_OK) return status;
  cudaStream_t stream = self->network->stream;
  EP_CUDA_TRY(cudaMemcpyAsync(self->decay, decay, (size_t)program->parameters * sizeof(float),
                              cudaMemcpyHostToDevice, stream),
              "copying to the device");
  EP_CUDA_TRY(cudaStreamSynchronize(stream), "copying to the device");
  return EP_OK;
}

static ep_status kernel_prepare(resident *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  self->grid = grid_choose(backend, program);
  self->shared_bytes = shared_bytes(program, self->grid);
  char *text = ep_resident_program_text(program, self->grid);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  ep_status status = ep_cuda_compile(backend, "kernels/cuda/resident/rows.cuh", text, "resident",
                                     &self->kernel, error);
  free(text);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaKernelSetAttributeForDevice(self->kernel,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              (int)self->shared_bytes, backend->device),
              "asking for shared memory");
  return EP_OK;
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

static int64_t resident_bytes(const void *state) {
  const resident *self = state;
  return self->bytes;
}

static ep_status resident_run(void *state, const ep_cuda_span *span, ep_error *error) {
  resident *self = state;
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_resident_span given = {.first_step = span->first_step,
                            .steps = span->steps,
                            .x = network->train_x,
                            .y = network->train_y,
                            .parameters = network->parameters,
                            .state = network->state,
                            .decay = self->decay,
                            .lr = span->lr,
                            .lr_count = span->lr_count,
                            .update = span->update,
                            .loss = span->loss,
                            .errors = span->errors,
                            .seed = program->seed,
                            .optimizer = program->optimizer,
                            .huber_delta = program->huber_delta,
                            .label_smoothing = program->label_smoothing};
  cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
  cluster.val.clusterDim.x = (unsigned)self->grid.blocks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {.gridDim = {(unsigned)self->grid.blocks, 1, 1},
                               .blockDim = {(unsigned)self->grid.threads, 1, 1},
                               .dynamicSmemBytes = self->shared_bytes,
                               .stream = network->stream,
                               .attrs = &cluster,
                               .numAttrs = self->grid.blocks > 1 ? 1 : 0};
  void *arguments[] = {&given};
  EP_CUDA_TRY(cudaLaunchKernelExC(&config, (const void *)self->kernel, arguments),
              "launching the steps");
  return EP_OK;
}

static const ep_cuda_method method = {.create = resident_create,
                                      .destroy = resident_destroy,
                                      .bytes = resident_bytes,
                                      .run = resident_run};

static ep_status resident_instance(ep_backend *backend, const ep_program *program, void **out,
                                   ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

const ep_executor ep_cuda_resident = {
    .name = "cuda/resident",
    .capabilities = {EP_CHOICE_RESIDENT_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = resident_accepts,
    .create = resident_instance,
    EP_CUDA_INSTANCE_SLOTS,
};
