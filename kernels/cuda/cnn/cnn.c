/* cnn.c: the executor "cuda/graph": small convolutional networks, of which a row fits the shared
 * memory of a multiprocessor. A segment is one launch of blocks that stay. */
#include <stdlib.h>

#include "kernels/cuda/cnn/plan.h"
#include "kernels/cuda/cnn/span.h"
#include "kernels/cuda/compiler.h"
#include "kernels/cuda/instance.h"

enum { CAPABILITY_MIN = 80 };

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_cnn_plan plan;
  cudaKernel_t kernel;
  float *decay;             /* device [parameters] */
  float *partials, *linear; /* device: see span.h */
  double *losses;           /* device [workers] */
  int32_t *misses;          /* device [workers] */
  unsigned *barrier;        /* device */
  int64_t bytes;
} cnn;

static bool plan_make(const ep_backend *backend, const ep_program *program, const float *decay,
                      ep_cnn_plan *plan) {
  int shared_bytes = 0;
  if (cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                             backend->device) != cudaSuccess)
    return false;
  const int own = 1024; /* what the kernel has beside the plan's */
  return ep_cnn_plan_make(program, backend->multiprocessors, shared_bytes - own, decay, plan);
}

static bool cnn_accepts(const ep_backend *backend, const ep_program *program) {
  const int64_t parameters_max = 1 << 20; /* the plan's own limits are lower */
  if (backend->capability < CAPABILITY_MIN || program->parameters < 1 ||
      program->parameters > parameters_max || program->buffers != 0 || program->class_weights ||
      program->optimizer.clip_norm > 0 || program->data_bytes_max != 0 ||
      !ep_cuda_compiler_exists())
    return false;
  float *decay = malloc((size_t)program->parameters * sizeof *decay);
  ep_cnn_plan plan;
  bool fits = false;
  if (decay) {
    ep_program_decay(program, decay);
    fits = plan_make(backend, program, decay, &plan);
  }
  free(decay);
  return fits;
}

static void cnn_destroy(void *state) {
  cnn *self = state;
  if (!self) return;
  ep_cuda_free(self->barrier);
  ep_cuda_free(self->misses);
  ep_cuda_free(self->losses);
  ep_cuda_free(self->linear);
  ep_cuda_free(self->partials);
  ep_cuda_free(self->decay);
  free(self);
}

static ep_status kernel_prepare(cnn *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  char *text = ep_cnn_plan_text(self->network->program, &self->plan);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  ep_status status =
      ep_cuda_compile(backend, "kernels/cuda/cnn/steps.cuh", text, "cnn", &self->kernel, error);
  free(text);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(
      cudaKernelSetAttributeForDevice(self->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)ep_cnn_plan_shared_bytes(&self->plan), backend->device),
      "asking for shared memory");
  return EP_OK;
}

static ep_status memory_take(cnn *self, ep_error *error) {
  const ep_backend *backend = self->network->backend;
  const ep_cnn_plan *plan = &self->plan;
  const int64_t workers = (int64_t)plan->groups * plan->blocks, size = (int64_t)sizeof(float);
  const int64_t pitch = ((int64_t)plan->convolved + 3) / 4 * 4;
  ep_status status = ep_cuda_allocate(backend, (void **)&self->partials, workers, pitch * size,
                                      &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->linear, plan->linear_floats, size,
                              &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->losses, workers,
                              (int64_t)sizeof *self->losses, &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->misses, workers,
                              (int64_t)sizeof *self->misses, &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->barrier, 1, (int64_t)sizeof *self->barrier,
                              &self->bytes, error);
  if (status != EP_OK) return status;
  /* What lies between rows is read, and not used. */
  cudaStream_t stream = self->network->stream;
  EP_CUDA_TRY(cudaMemsetAsync(self->partials, 0, (size_t)(workers * pitch * size), stream),
              "clearing memory");
  if (self->linear)
    EP_CUDA_TRY(cudaMemsetAsync(self->linear, 0, (size_t)(plan->linear_floats * size), stream),
                "clearing memory");
  return EP_OK;
}

static ep_status decay_load(cnn *self, const float *decay, ep_error *error) {
  const int64_t count = self->network->program->parameters;
  ep_status status = ep_cuda_allocate(self->network->backend, (void **)&self->decay, count,
                                      (int64_t)sizeof *decay, &self->bytes, error);
  if (status != EP_OK) return status;
  cudaStream_t stream = self->network->stream;
  EP_CUDA_TRY(cudaMemcpyAsync(self->decay, decay, (size_t)count * sizeof *decay,
                              cudaMemcpyHostToDevice, stream),
              "copying to the device");
  EP_CUDA_TRY(cudaStreamSynchronize(stream), "copying to the device");
  return EP_OK;
}

static ep_status cnn_prepare(cnn *self, ep_error *error) {
  const ep_program *program = self->network->program;
  float *decay = malloc((size_t)program->parameters * sizeof *decay);
  if (!decay) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  ep_program_decay(program, decay);
  ep_status status = EP_OK;
  if (!plan_make(self->network->backend, program, decay, &self->plan))
    status = ep_fail(error, EP_INTERNAL, "the network does not fit the device after all");
  if (status == EP_OK) status = decay_load(self, decay, error);
  free(decay);
  if (status == EP_OK) status = memory_take(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  return status;
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

static int64_t cnn_bytes(const void *state) {
  const cnn *self = state;
  return self->bytes;
}

static ep_status launch(cnn *self, ep_cnn_span *given, ep_error *error) {
  cudaLaunchAttribute together = {.id = cudaLaunchAttributeCooperative};
  together.val.cooperative = 1;
  const ep_cnn_plan *plan = &self->plan;
  cudaLaunchConfig_t config = {.gridDim = {(unsigned)plan->blocks, 1, 1},
                               .blockDim = {(unsigned)(plan->groups * plan->threads), 1, 1},
                               .dynamicSmemBytes = (size_t)ep_cnn_plan_shared_bytes(plan),
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

static ep_status cnn_run(void *state, const ep_cuda_span *span, ep_error *error) {
  cnn *self = state;
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_cnn_span given = {.first_step = span->first_step,
                       .steps = span->steps,
                       .x = network->train_x,
                       .y = network->train_y,
                       .x_scale = network->x_scale,
                       .x_shift = network->x_shift,
                       .parameters = network->parameters,
                       .state = network->state,
                       .decay = self->decay,
                       .partials = self->partials,
                       .linear = self->linear,
                       .losses = self->losses,
                       .misses = self->misses,
                       .barrier = self->barrier,
                       .lr = span->lr,
                       .lr_count = span->lr_count,
                       .update = span->update,
                       .loss = span->loss,
                       .errors = span->errors,
                       .seed = program->seed,
                       .augment = program->augment,
                       .optimizer = program->optimizer,
                       .huber_delta = program->huber_delta,
                       .label_smoothing = program->label_smoothing};
  return launch(self, &given, error);
}

static const ep_cuda_method method = {
    .create = cnn_create, .destroy = cnn_destroy, .bytes = cnn_bytes, .run = cnn_run};

static ep_status cnn_instance(ep_backend *backend, const ep_program *program, void **out,
                              ep_error *error) {
  return ep_cuda_instance_create(backend, program, &method, out, error);
}

#define LAYER(type) (UINT64_C(1) << EP_LAYER_##type)

const ep_executor ep_cuda_cnn = {
    .name = "cuda/graph",
    .capabilities = {LAYER(CONV2D) | LAYER(MAX_POOL2D) | LAYER(AVG_POOL2D) | LAYER(DROPOUT) |
                         LAYER(DROPOUT2D) | LAYER(LINEAR) | LAYER(RELU) | LAYER(LEAKY_RELU) |
                         LAYER(TANH) | LAYER(SIGMOID) | LAYER(GELU) | LAYER(SIN) | LAYER(ELU) |
                         LAYER(SILU) | LAYER(SOFTPLUS) | LAYER(SOFTMAX) | LAYER(LOG_SOFTMAX) |
                         LAYER(FLATTEN),
                     ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = cnn_accepts,
    .create = cnn_instance,
    EP_CUDA_INSTANCE_SLOTS,
};
