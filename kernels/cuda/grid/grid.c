/* grid.c: the executor "cuda/grid": dense networks of middle size. A segment is one launch of
 * blocks that stay: a cluster, or one a multiprocessor, with barriers where a graph would have
 * launches. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/compiler.h"
#include "kernels/cuda/grid/span.h"
#include "kernels/cuda/instance.h"
#include "kernels/cuda/resident/program.h"
#include "kernels/formulas/augment.h"

enum {
  THREADS = 256,
  GROUP = 8, /* rows of a tile */
  ROWS_MAX = 1024,
  OUTPUTS_MAX = 32, /* of the last layer: a warp keeps them all */
  THIN_FEATURES_MAX = 64,
  THIN_PARAMETERS_MAX = 8192,
  CLUSTER_BLOCKS = 16,
  CLUSTER_PARAMETERS_MAX = 100000, /* more are faster with all multiprocessors */
  PARAMETERS_MAX = 1 << 26
};

typedef struct {
  ep_cuda_network *network; /* lent */
  ep_grid_shape shape;
  cudaKernel_t kernel;
  size_t shared_bytes;
  float *scratch;
  unsigned *barrier;
  ep_optimizer_step *update; /* device [update_steps], or NULL */
  int64_t update_steps, update_bytes, bytes;
} grid;

static int64_t layer_parameters(const ep_grid_layer *layer) {
  const ep_op *op = layer->linear;
  return op->out_features * op->in_features + (op->bias >= 0 ? op->out_features : 0);
}

static bool layer_is_thin(const ep_grid_layer *layer) {
  return layer->linear->in_features <= THIN_FEATURES_MAX &&
         layer->linear->out_features <= THIN_FEATURES_MAX;
}

/* false: not a program for this executor. */
static bool shape_choose(const ep_backend *backend, const ep_program *program,
                         ep_grid_shape *shape) {
  *shape = (ep_grid_shape){0};
  shape->layers_count = ep_grid_layers(program, shape->layers, EP_GRID_LAYERS_MAX);
  if (shape->layers_count < 2) return false;
  int64_t thin = 0;
  while (shape->thin < shape->layers_count - 1 && layer_is_thin(&shape->layers[shape->thin]) &&
         thin + layer_parameters(&shape->layers[shape->thin]) <= THIN_PARAMETERS_MAX)
    thin += layer_parameters(&shape->layers[shape->thin++]);
  shape->cluster = program->parameters <= CLUSTER_PARAMETERS_MAX;
  shape->blocks = shape->cluster ? CLUSTER_BLOCKS : backend->multiprocessors;
  return true;
}

static int64_t tiles_count(const ep_program *program) {
  return (program->batch_size + GROUP - 1) / GROUP;
}

static int64_t thin_parameters(const ep_grid_shape *shape) {
  int64_t count = 0;
  for (int l = 0; l < shape->thin; l++) count += layer_parameters(&shape->layers[l]);
  return count;
}

/* Floats of what layers.cuh calls the scratch. */
static int64_t scratch_floats(const ep_program *program, const ep_grid_shape *shape) {
  int64_t rows = tiles_count(program) * GROUP, floats = 2 * rows;
  for (int l = 0; l < shape->layers_count; l++)
    floats += 3 * rows * ((shape->layers[l].linear->out_features + 3) / 4 * 4);
  return floats + tiles_count(program) * thin_parameters(shape);
}

/* Of what layers.cuh calls shared_memory. */
static size_t shared_bytes(const ep_program *program, const ep_grid_shape *shape) {
  int64_t thin_row = program->in_features, floats = tiles_count(program) * GROUP;
  for (int l = 0; l < shape->thin; l++) thin_row += 3 * shape->layers[l].linear->out_features;
  floats += shape->thin > 0 ? thin_parameters(shape) + GROUP * thin_row : 2;
  return (size_t)(floats + EP_GRID_REDUCTION) * sizeof(float);
}

static bool parameters_cover(const ep_program *program, const ep_grid_shape *shape) {
  int64_t at = 0;
  for (int l = 0; l < shape->layers_count; l++) {
    if (shape->layers[l].linear->weight != at) return false;
    at += layer_parameters(&shape->layers[l]);
  }
  return at == program->parameters;
}

static bool grid_accepts(const ep_backend *backend, const ep_program *program) {
  ep_grid_shape shape;
  return backend->capability >= 90 &&
         (program->precision == EP_PRECISION_FP32 || program->precision == EP_PRECISION_TF32) &&
         program->parameters > 0 && program->parameters <= PARAMETERS_MAX &&
         program->batch_size <= ROWS_MAX && program->out_features <= OUTPUTS_MAX &&
         program->buffers == 0 && program->x_type == EP_X_FLOAT32 && !program->class_weights &&
         program->optimizer.clip_norm == 0 && program->data_bytes_max == 0 &&
         !ep_program_augments(&program->augment, program->stored, program->in) &&
         ep_cuda_compiler_exists() && shape_choose(backend, program, &shape) &&
         parameters_cover(program, &shape);
}

static void grid_destroy(void *state) {
  grid *self = state;
  if (!self) return;
  ep_cuda_free(self->update);
  ep_cuda_free(self->barrier);
  ep_cuda_free(self->scratch);
  free(self);
}

static ep_status kernel_prepare(grid *self, ep_error *error) {
  const ep_program *program = self->network->program;
  const ep_backend *backend = self->network->backend;
  self->shared_bytes = shared_bytes(program, &self->shape);
  char *text = ep_grid_program_text(program, &self->shape);
  if (!text) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  ep_status status =
      ep_cuda_compile(backend, "kernels/cuda/grid/layers.cuh", text, "grid", &self->kernel, error);
  free(text);
  if (status != EP_OK) return status;
  EP_CUDA_TRY(cudaKernelSetAttributeForDevice(self->kernel,
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              (int)self->shared_bytes, backend->device),
              "asking for shared memory");
  if (self->shape.cluster)
    EP_CUDA_TRY(cudaKernelSetAttributeForDevice(self->kernel,
                                                cudaFuncAttributeNonPortableClusterSizeAllowed, 1,
                                                backend->device),
                "asking for a large cluster");
  return EP_OK;
}

static ep_status grid_create(ep_cuda_network *network, void **out, ep_error *error) {
  *out = NULL;
  if (!network->resident)
    return ep_fail(error, EP_NO_MEMORY, "the training rows do not fit the device");
  grid *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->network = network;
  shape_choose(network->backend, network->program, &self->shape);
  int64_t floats = scratch_floats(network->program, &self->shape);
  ep_status status = kernel_prepare(self, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(network->backend, (void **)&self->scratch, floats,
                              (int64_t)sizeof(float), &self->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(network->backend, (void **)&self->barrier, 1,
                              (int64_t)sizeof(unsigned), &self->bytes, error);
  if (status == EP_OK) {
    cudaError_t code = cudaMemset(self->scratch, 0, (size_t)floats * sizeof(float));
    if (code != cudaSuccess) status = ep_cuda_fail(error, code, "clearing the scratch");
  }
  if (status != EP_OK) {
    grid_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static int64_t grid_bytes(const void *state) {
  const grid *self = state;
  return self->bytes + self->update_bytes;
}

/* The weight decay of the parameter at an offset, negative when it is frozen; 0 for none. */
static float decay_at(const ep_program *program, int64_t offset) {
  for (int g = 0; offset >= 0 && g < program->groups_count; g++) {
    const ep_parameter_group *group = &program->groups[g];
    if (offset >= group->first && offset < group->first + group->count)
      return group->frozen ? -1 : group->weight_decay;
  }
  return 0;
}

static ep_status update_queue(grid *self, const ep_cuda_span *span, ep_error *error) {
  const ep_optimizer *optimizer = &self->network->program->optimizer;
  if (optimizer->type != EP_OPTIMIZER_ADAM && optimizer->type != EP_OPTIMIZER_ADAMW &&
      optimizer->type != EP_OPTIMIZER_ADAGRAD)
    return EP_OK;
  if (span->steps > self->update_steps) {
    ep_cuda_free(self->update);
    self->update = NULL;
    self->update_steps = self->update_bytes = 0;
    ep_status status = ep_cuda_allocate(self->network->backend, (void **)&self->update, span->steps,
                                        (int64_t)sizeof *self->update, &self->update_bytes, error);
    if (status != EP_OK) return status;
    self->update_steps = span->steps;
  }
  EP_CUDA_TRY(ep_cuda_optimizer_steps(self->network->stream, optimizer, span->first_step,
                                      span->steps, span->lr, span->lr_count, self->update),
              "preparing the steps");
  return EP_OK;
}

static ep_status launch(grid *self, ep_grid_span *given, ep_error *error) {
  cudaLaunchAttribute together = {.id = cudaLaunchAttributeCooperative};
  together.val.cooperative = 1;
  if (self->shape.cluster) {
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim.x = (unsigned)self->shape.blocks;
    together.val.clusterDim.y = together.val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config = {.gridDim = {(unsigned)self->shape.blocks, 1, 1},
                               .blockDim = {THREADS, 1, 1},
                               .dynamicSmemBytes = self->shared_bytes,
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

static ep_status grid_run(void *state, const ep_cuda_span *span, ep_error *error) {
  grid *self = state;
  const ep_cuda_network *network = self->network;
  const ep_program *program = network->program;
  ep_status status = update_queue(self, span, error);
  if (status != EP_OK) return status;
  ep_grid_span given = {.first_step = span->first_step,
                        .steps = span->steps,
                        .x = network->train_x,
                        .y = network->train_y,
                        .parameters = network->parameters,
                        .state = network->state,
                        .scratch = self->scratch,
                        .barrier = self->barrier,
                        .lr = span->lr,
                        .lr_count = span->lr_count,
                        .update = self->update,
                        .loss = span->loss,
                        .errors = span->errors,
                        .seed = program->seed,
                        .optimizer = program->optimizer,
                        .huber_delta = program->huber_delta,
                        .label_smoothing = program->label_smoothing};
  for (int l = 0; l < self->shape.layers_count; l++) {
    given.weight_decay[l] = decay_at(program, self->shape.layers[l].linear->weight);
    given.bias_decay[l] = decay_at(program, self->shape.layers[l].linear->bias);
  }
  return launch(self, &given, error);
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
