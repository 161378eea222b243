/* narrow.c: the executor "cuda/fused": dense networks of narrow layers on many rows, whose weights
 * fit the shared memory of a multiprocessor. A segment is one launch of blocks that stay. */
#include <stdlib.h>

#include "kernels/choice.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/instance.h"
#include "kernels/cuda/narrow/plan.h"

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_narrow_plan plan;
  cudaKernel_t kernel;
  float *partials;   /* device: see span.h */
  char *image;       /* device [image_bytes] */
  double *losses;    /* device [blocks] */
  int32_t *misses;   /* device [blocks] */
  unsigned *barrier; /* device */
  int64_t bytes;
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

static void narrow_destroy(void *state) {
  narrow *self = state;
  if (!self) return;
  ep_cuda_free(self->barrier);
  ep_cuda_free(self->misses);
  ep_cuda_free(self->losses);
  ep_cuda_free(self->image);
  ep_cuda_free(self->partials);
  free(self);
}

static ep_status kernel_prepare(narrow *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  char *text = ep_narrow_plan_text(self->network->program, &self->plan);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  ep_status status = ep_cuda_compile(backend, "kernels/cuda/narrow/steps.cuh", text, "narrow",
                                     &self->kernel, error);
  free(text);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaKernelSetAttributeForDevice(self->kernel,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              self->plan.shared_bytes, backend->device),
              "asking for shared memory");
  return EP_OK;
}

static ep_status memory_take(narrow *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  const ep_narrow_plan *plan = &self->plan;
  const int64_t quad_bytes = 4 * (int64_t)sizeof(float);
  ep_status status = ep_cuda_allocate(backend, (void **)&self->partials, plan->blocks,
                                      plan->quads * quad_bytes, &self->bytes, error);
  if (status == EP_OK)
    status =
        ep_cuda_allocate(backend, (void **)&self->image, plan->image_bytes, 1, &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->losses, plan->blocks,
                              (int64_t)sizeof *self->losses, &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->misses, plan->blocks,
                              (int64_t)sizeof *self->misses, &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->barrier, 1, (int64_t)sizeof *self->barrier,
                              &self->bytes, error);
  if (status != EP_OK) return status;
  /* Its gaps stay zero. */
  EP_CUDA_TRY(cudaMemsetAsync(self->image, 0, (size_t)plan->image_bytes, self->network->stream),
              "clearing memory");
  return EP_OK;
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

static int64_t narrow_bytes(const void *state) {
  const narrow *self = state;
  return self->bytes;
}

static ep_status launch(narrow *self, ep_narrow_span *given, ep_error *error) {
  cudaLaunchAttribute together = {.id = cudaLaunchAttributeCooperative};
  together.val.cooperative = 1;
  cudaLaunchConfig_t config = {.gridDim = {(unsigned)self->plan.blocks, 1, 1},
                               .blockDim = {(unsigned)self->plan.threads, 1, 1},
                               .dynamicSmemBytes = (size_t)self->plan.shared_bytes,
                               .stream = self->network->stream,
                               .attrs = &together,
                               .numAttrs = 1};
  void *arguments[] = {given};
  EP_CUDA_TRY(cudaMemsetAsync(self->barrier, 0, sizeof *self->barrier, self->network->stream),
              "clearing the barrier");
  EP_CUDA_TRY(cudaLaunchKernelExC(&config, (const void *)self->kernel, arguments),
              "launching the steps");
  return EP_OK;
}

static ep_status narrow_run(void *state, const ep_cuda_span *span, ep_error *error) {
  narrow *self = state;
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_narrow_span given = {.first_step = span->first_step,
                          .steps = span->steps,
                          .x = network->train_x,
                          .y = network->train_y,
                          .parameters = network->parameters,
                          .state = network->state,
                          .partials = self->partials,
                          .image = self->image,
                          .losses = self->losses,
                          .misses = self->misses,
                          .barrier = self->barrier,
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
    const ep_op *op = self->plan.layers[l].op;
    given.decay[l][0] = ep_program_decay_at(program, op->weight);
    given.decay[l][1] = ep_program_decay_at(program, op->bias);
  }
  return launch(self, &given, error);
}

static const ep_cuda_method method = {
    .create = narrow_create, .destroy = narrow_destroy, .bytes = narrow_bytes, .run = narrow_run};

static ep_status narrow_instance(ep_backend *backend, const ep_program *program, void **out,
                                 ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

const ep_executor ep_cuda_fused = {
    .name = "cuda/fused",
    .capabilities = {EP_CHOICE_RESIDENT_LAYERS, ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = narrow_accepts,
    .create = narrow_instance,
    EP_CUDA_INSTANCE_SLOTS,
};
