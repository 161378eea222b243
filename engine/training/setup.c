#include "engine/training/setup.h"
#include "engine/host/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/verify.h"
#include "engine/data/prepare/job.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"
#include "engine/plan/cost.h"
#include "engine/training/checkpointing.h"
#include "engine/training/layers.h"
#include "engine/training/segment.h"
#include "engine/weights/weights.h"
#include "kernels/cache/cache.h"

/* The first segment is sized as if the device did this many operations a second: a low guess, of a
 * core and of a GPU. */
static const double cpu_operations_per_second = 1e9, gpu_operations_per_second = 1e11;
/* … and takes at most so many steps, because what a step costs beside its operations (10 us of
 * launches on a GPU) is not known before. */
enum { FIRST_SEGMENT_STEPS_MAX = 1024 };

/* Where there is not even that much memory, asking for it might end in the system's killing
 * someone. Ranks spread over their GPUs, which are taken to be alike. */
static ep_status memory_check(const ep_trainer *t, ep_error *error) {
  ep_backend_info info;
  int64_t bytes = ep_plan_least_bytes(t->plan);
  ep_status status = t->job->backend_ops->info(t->job->backend, &info, error);
  const int gpus = t->job->gpus_count > 1 ? t->job->gpus_count : 1;
  const int64_t there = ep_memory_read().total_bytes; /* of a control group, say */
  if (strcmp(t->job->device, "cpu") == 0 && info.memory_bytes > there) info.memory_bytes = there;
  if (status != EP_OK || info.memory_bytes <= 0 || bytes <= gpus * info.memory_bytes) return status;
  return ep_fail_at(error, EP_NO_MEMORY, "/model",
                    "training takes at least %lld MiB of memory, %s%s %lld MiB",
                    (long long)(bytes >> 20), t->job->device,
                    gpus > 1 ? " and the job's other GPUs have" : " has",
                    (long long)(gpus * info.memory_bytes >> 20));
}

static ep_status buffers_create(ep_trainer *t, ep_error *error) {
  t->plan->program.data_bytes_max = t->job->data_bytes_max;
  const int64_t memory_bytes = ep_memory_read().total_bytes; /* of a control group, say */
  t->plan->program.memory_bytes_max = memory_bytes > 2 * EP_LIMIT_DAEMON_BYTES
                                          ? memory_bytes - EP_LIMIT_DAEMON_BYTES
                                          : memory_bytes;
  ep_parallel *parallel = &t->plan->program.parallel;
  for (int i = 0; i < t->job->gpus_count && i < EP_LIMIT_RANKS; i++)
    parallel->device[parallel->devices_count++] = t->job->gpus[i];
  t->steps_per_epoch = ep_program_steps_per_epoch(&t->plan->program);
  int64_t epochs = t->job->spec->epochs, most_epochs = t->job->epochs_most;
  t->steps_total =
      t->steps_per_epoch * (most_epochs > 0 && most_epochs < epochs ? most_epochs : epochs);
  if (t->job->spec->find[0]) t->steps_total = EP_LIMIT_FOUND_STEPS;
  int64_t most = t->steps_total < EP_SEGMENT_STEPS_MAX ? t->steps_total : EP_SEGMENT_STEPS_MAX;
  double step_operations = (double)t->plan->operations / (double)t->steps_per_epoch;
  double guess =
      strcmp(t->job->device, "cpu") == 0 ? cpu_operations_per_second : gpu_operations_per_second;
  guess *= EP_SEGMENT_SECONDS / (step_operations + 1);
  if (guess > FIRST_SEGMENT_STEPS_MAX) guess = FIRST_SEGMENT_STEPS_MAX;
  t->segment_steps = guess < 1 ? 1 : (int64_t)guess;
  t->lr = malloc((size_t)most * sizeof *t->lr);
  t->loss = malloc((size_t)most * sizeof *t->loss);
  t->errors = malloc((size_t)most * sizeof *t->errors);
  if (!t->lr || !t->loss || !t->errors) return ep_fail_memory(error);
  ep_schedule_init(&t->schedule, t->job->spec, t->steps_per_epoch);
  const ep_program *program = &t->plan->program;
  return ep_early_stopping_init(&t->early_stopping, t->job->spec, ep_program_state_floats(program),
                                program->optimizer_floats, error);
}

/* Onto the device: the rows of every split that has some. */
static ep_status data_load(ep_trainer *t, ep_error *error) {
  ep_status status = EP_OK;
  for (int split = 0; status == EP_OK && split < EP_SPLIT_COUNT; split++) {
    const void *y = ep_prepared_targets(&t->data, (ep_split)split);
    if (y)
      status = t->job->backend_ops->load_data(t->instance, (ep_split)split, t->data.x[split], y,
                                              t->data.rows[split], error);
  }
  return status;
}

/* Nothing is trained on what a disk has damaged. */
static ep_status dataset_verify(const ep_trainer *t, const char *folder, ep_error *error) {
  return ep_dataset_verify(folder, t->job->sink.alive, t->job->sink.context, NULL, error);
}

/* Weights of a job have the hash that the spec has, a checkpoint has its own; uploaded ones are a
 * dataset. */
static ep_status init_weights_verify(const ep_trainer *t, ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  char folder[EP_PATH_BYTES];
  if (spec->init_checkpoint != 0 || spec->init_optimizer)
    return ep_checkpoint_check(t->job->init_weights, error);
  if (spec->init_job[0])
    return spec->init_sha256[0]
               ? ep_verified_sha256_at(t->job->init_weights, spec->init_sha256, error)
               : EP_OK;
  snprintf(folder, sizeof folder, "%s", t->job->init_weights);
  *strrchr(folder, '/') = 0;
  return dataset_verify(t, folder, error);
}

/* First weights: those of a checkpoint, or of the file that the job names, which has all of them,
 * or drawn ones. */
static ep_status weights_make(ep_trainer *t, ep_error *error) {
  const ep_program *program = &t->plan->program;
  size_t state_floats = (size_t)ep_program_state_floats(program);
  t->state = calloc(state_floats + (size_t)program->optimizer_floats, sizeof *t->state);
  if (!t->state) return ep_fail_memory(error);
  if (program->optimizer_floats) t->optimizer = t->state + state_floats;
  ep_status status = ep_checkpoint_resume(t, error);
  if (status != EP_OK || t->resumed.step >= 0) return status;
  if (!t->job->init_weights) {
    ep_plan_initialize(t->plan, t->job->spec, t->state);
    return EP_OK;
  }
  status = init_weights_verify(t, error);
  if (status != EP_OK) return status;
  return ep_weights_load_into(t->job->init_weights, t->plan, t->state, error);
}

/* The first instance is there before the weights: a checkpoint is of an executor. */
ep_status ep_trainer_instance_make(ep_trainer *t, const char *executor, ep_error *error) {
  const ep_backend_ops *ops = t->job->backend_ops;
  ep_status status =
      ops->compile(t->job->backend, &t->plan->program, executor, &t->instance, error);
  if (status == EP_OK && !t->state) status = weights_make(t, error);
  if (status == EP_OK) status = ops->import_state(t->instance, t->state, t->optimizer, error);
  return status == EP_OK ? data_load(t, error) : status;
}

/* --- the first executor ---------------------------------------------------------------------- */

/* The first of the device's executors that takes the program; NULL: none does. */
static const ep_executor_profile *own_choice(const ep_trainer *t, const ep_device_info *device) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(device->id, &count);
  for (int i = 0; i < count; i++)
    if (ep_cost_executor_takes(executors[i], t->plan, device)) return executors[i];
  return NULL;
}

/* The executor that a training on a GPU begins with; NULL: the device's own choice. Where that one
 * has to be compiled first and the training is so short that another one is expected to end sooner,
 * it is the other one, and its kernel is compiled meanwhile, for those that come. name:
 * [EP_EXECUTOR_BYTES], written. */
static const char *first_executor(const ep_trainer *t, char *name) {
  const ep_backend_ops *ops = t->job->backend_ops;
  ep_backend_info backend;
  ep_error error;
  if (strcmp(t->job->device, "cpu") == 0 || ep_program_ranks(&t->plan->program) > 1 ||
      !ops->compile_ahead || ops->info(t->job->backend, &backend, &error) != EP_OK)
    return NULL;
  const ep_device_info device = ep_trainer_device(t, &backend);
  const ep_executor_profile *own = own_choice(t, &device);
  const ep_estimate sooner = ep_plan_estimate(t->plan, t->job->spec, &device, NULL, NULL);
  if (!own || !sooner.executor[0] || strcmp(own->name, sooner.executor) == 0 ||
      ops->compile_ahead(t->job->backend, &t->plan->program, own->name))
    return NULL;
  snprintf(name, EP_EXECUTOR_BYTES, "%s", sooner.executor);
  return name;
}

ep_status ep_trainer_init(ep_trainer *t, ep_error *error) {
  const ep_job_spec *spec = t->job->spec;
  ep_status status = EP_OK;
  bool read = !t->job->prepared;
  if (read && t->job->dataset_folder) status = dataset_verify(t, t->job->dataset_folder, error);
  ep_job job = {0};
  const ep_job_source source = {.spec = spec, .dataset_folder = t->job->dataset_folder};
  if (status == EP_OK) status = ep_job_open(&source, &job, error);
  t->plan = ep_job_take_plan(&job);
  if (status == EP_OK) status = memory_check(t, error);
  if (!read) t->data = *t->job->prepared;
  if (status == EP_OK && read)
    status = ep_prepare(&spec->data, spec->loss, t->job->dataset_folder, &t->data, error);
  /* an embedding takes floats, however its columns are stored */
  if (status == EP_OK && read && t->plan->program.x_type == EP_X_FLOAT32)
    status = ep_prepared_widen(&t->data, error);
  if (status == EP_OK)
    status = ep_plan_balance(t->plan, spec, t->data.classes[EP_SPLIT_TRAIN],
                             t->data.rows[EP_SPLIT_TRAIN], error);
  if (status == EP_OK) status = buffers_create(t, error);
  if (status != EP_OK) return status;
  if (spec->executor[0]) return ep_trainer_instance_make(t, spec->executor, error);
  char name[EP_EXECUTOR_BYTES];
  const char *first = first_executor(t, name);
  if (first) status = ep_trainer_instance_make(t, first, error);
  return !first || status == EP_UNSUPPORTED ? ep_trainer_instance_make(t, NULL, error) : status;
}

void ep_trainer_deinit(ep_trainer *t) {
  ep_checkpointing_deinit(t);
  ep_layers_deinit(t);
  if (t->instance) t->job->backend_ops->release(t->instance);
  free(t->state);
  ep_early_stopping_deinit(&t->early_stopping);
  free(t->errors);
  free(t->loss);
  free(t->lr);
  ep_plan_destroy(t->plan);
  if (!t->job->prepared) ep_prepared_deinit(&t->data);
}
