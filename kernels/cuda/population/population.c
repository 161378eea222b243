#include "kernels/cuda/population/population.h"

#include <pthread.h>
#include <stdlib.h>

#include "kernels/cuda/executors/launch.h"
#include "kernels/cuda/population/members.h"
#include "kernels/cuda/population/rows.h"

enum {
  TRAIN = 0, /* of the splits; then those to predict */
  SPLITS = 4,
  TURNS = 4, /* of all members that are trained at once: the last ones begin while others end */
  SIZE_MAX_MEMBERS = 1 << 16,
  OUTPUTS_BYTES = 256 << 20, /* that are on the device at once */
  MEMORY_SHARE = 4           /* of the device's memory, as a divisor, that members may take */
};

struct ep_cuda_population {
  ep_population_split splits[SPLITS];
};

/* Guards what all backends keep. It is held while a population is trained, which fills the device.
 */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- sizes ---------------------------------------------------------------------------------- */

int64_t ep_cuda_population_size(const ep_backend *backend, const ep_program *program) {
  ep_population_plan plan;
  if (!ep_cuda_compiler_exists() || !ep_population_plan_make(program, &backend->gpu, &plan))
    return 0;
  int64_t each = (program->parameters + program->optimizer_floats) * (int64_t)sizeof(float);
  int64_t most = backend->memory_bytes / MEMORY_SHARE / each, wanted = TURNS * plan.residents;
  if (most > SIZE_MAX_MEMBERS) most = SIZE_MAX_MEMBERS;
  return wanted < most ? wanted : most;
}

/* --- a call --------------------------------------------------------------------------------- */

typedef struct {
  ep_backend *backend;
  ep_population *population;
  ep_program shape;
  ep_population_plan plan;
  ep_cuda_memory memory;
  ep_cuda_launch launch;
  ep_population_args args;
} call;

static ep_status rows_load(call *self, ep_error *error) {
  ep_backend *backend = self->backend;
  if (!backend->population) backend->population = calloc(1, sizeof *backend->population);
  if (!backend->population) return ep_fail(error, EP_NO_MEMORY, "no memory for a population");
  ep_population_split *splits = backend->population->splits;
  ep_status status = ep_population_split_load(&splits[TRAIN], backend, &self->shape,
                                              &self->population->train, error);
  for (int i = 0; i < SPLITS - 1 && status == EP_OK; i++) {
    const ep_population_rows rows = {.x = self->population->predict[i].x,
                                     .rows = self->population->predict[i].rows};
    if (rows.rows > 0 && self->population->outputs[i])
      status = ep_population_split_load(&splits[1 + i], backend, &self->shape, &rows, error);
  }
  self->args.x = splits[TRAIN].x;
  self->args.y = splits[TRAIN].y;
  return status;
}

/* As many blocks as have a member, at most one a multiprocessor and place of it. */
static ep_status kernel_prepare(call *self, ep_error *error) {
  const ep_population_plan *plan = &self->plan;
  const int64_t blocks = plan->residents / plan->members;
  self->launch = (ep_cuda_launch){
      .blocks = (int)(self->population->count < blocks ? self->population->count : blocks),
      .threads = plan->threads,
      .shared_bytes = plan->shared_bytes};
  return ep_cuda_launch_compile(self->backend, plan->file, plan->kernel,
                                ep_population_codegen(&self->shape, plan), &self->launch, error);
}

/* The outputs of one split, of as many members at once as there is room for. */
static ep_status split_predict(call *self, int split, float *outputs, ep_error *error) {
  const ep_population_split *rows = &self->backend->population->splits[1 + split];
  const int64_t count = self->population->count, each = rows->rows * self->shape.out_features;
  int64_t at_once = OUTPUTS_BYTES / (int64_t)sizeof(float) / each;
  if (at_once < 1) at_once = 1;
  if (at_once > count) at_once = count;
  ep_population_args args = self->args;
  ep_status status = ep_cuda_memory_take(&self->memory, &args.outputs, at_once, each,
                                         (int64_t)sizeof(float), error);
  args.predict_x = rows->x;
  args.predict_rows = rows->rows;
  for (args.first = 0; status == EP_OK && args.first < count; args.first += at_once) {
    args.count = count - args.first < at_once ? count - args.first : at_once;
    status = ep_cuda_launch_run(&self->launch, self->memory.stream, &args, error);
    if (status != EP_OK) return status;
    EP_CUDA_TRY(cudaMemcpyAsync(outputs + args.first * each, args.outputs,
                                (size_t)(args.count * each) * sizeof(float), cudaMemcpyDeviceToHost,
                                self->memory.stream),
                "copying a population's outputs");
    EP_CUDA_TRY(cudaStreamSynchronize(self->memory.stream), "a population's predictions");
  }
  return status;
}

/* Where blocks keep what shared memory has no room for. */
static ep_status activations_take(call *self, ep_error *error) {
  return ep_cuda_memory_take(&self->memory, &self->args.activations, self->launch.blocks,
                             self->plan.activation_floats, (int64_t)sizeof(float), error);
}

static ep_status call_run(call *self, ep_error *error) {
  ep_population *population = self->population;
  ep_status status = rows_load(self, error);
  if (status == EP_OK) status = kernel_prepare(self, error);
  if (status == EP_OK) status = activations_take(self, error);
  if (status == EP_OK)
    status =
        ep_population_members_upload(population, &self->shape, &self->memory, &self->args, error);
  if (status == EP_OK)
    status = ep_cuda_launch_run(&self->launch, self->memory.stream, &self->args, error);
  if (status == EP_OK)
    status = ep_population_members_download(&self->args, &self->shape, self->memory.stream,
                                            population, error);
  for (int i = 0; i < SPLITS - 1 && status == EP_OK; i++)
    if (population->predict[i].rows > 0 && population->outputs[i])
      status = split_predict(self, i, population->outputs[i], error);
  return status;
}

static ep_status population_train(ep_backend *backend, ep_population *population, ep_error *error) {
  call self = {.backend = backend, .population = population, .memory = {.backend = backend}};
  ep_status status = ep_population_shape(population, &self.shape, error);
  if (status != EP_OK) return status;
  if (!ep_cuda_compiler_exists() ||
      !ep_population_plan_make(&self.shape, &backend->gpu, &self.plan))
    return ep_fail(error, EP_UNSUPPORTED, "such programs are trained one by one");
  EP_CUDA_TRY(cudaStreamCreateWithFlags(&self.memory.stream, cudaStreamNonBlocking),
              "making a stream");
  status = call_run(&self, error);
  cudaStreamSynchronize(self.memory.stream);
  cudaStreamDestroy(self.memory.stream);
  ep_cuda_launch_deinit(&self.launch);
  ep_cuda_memory_deinit(&self.memory);
  return status;
}

ep_status ep_cuda_population_train(ep_backend *backend, ep_population *population,
                                   ep_error *error) {
  if (population->count == 0) return EP_OK;
  pthread_mutex_lock(&mutex);
  ep_status status = population_train(backend, population, error);
  pthread_mutex_unlock(&mutex);
  return status;
}

void ep_cuda_population_forget(ep_backend *backend) {
  if (!backend || !backend->population) return;
  for (int i = 0; i < SPLITS; i++) ep_population_split_deinit(&backend->population->splits[i]);
  free(backend->population);
  backend->population = NULL;
}
