/* plugin.c: the CUDA backend behind kernels/backend.h: the table of executors, and each slot of the
 * interface handed to the instance's own, on the right device. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/executors/table.h"
#include "kernels/cuda/instance.h"
#include "kernels/cuda/plans/plans.h"
#include "kernels/cuda/population/population.h"
#include "kernels/cuda/runtime/nvrtc.h"
#include "kernels/cuda/runtime/probe.h"

#define DECLARE(name, compiler) extern const ep_cuda_executor ep_cuda_##name##_executor;
EP_CUDA_EXECUTORS(DECLARE)

#define ROW(name, compiler) &ep_cuda_##name##_executor,
static const ep_cuda_executor *const executors[] = {EP_CUDA_EXECUTORS(ROW)};
enum { EXECUTORS_COUNT = sizeof executors / sizeof *executors };

/* Whether executor `at` takes the program here; one that is named yields to none. */
static bool executor_takes(const ep_backend *backend, const ep_program *program, bool named,
                           int at) {
  int count;
  const ep_executor_profile *const *profiles = ep_cuda_profiles(&count);
  const ep_device_traits device = {.gpu = backend->gpu};
  return (named ? ep_executor_can(profiles[at], program, &device)
                : ep_executor_takes(profiles, count, at, program, &device)) &&
         (!executors[at]->available || executors[at]->available());
}

/* The first from *at on that takes the program, which *at then is; EXECUTORS_COUNT: none does. */
static ep_status executor_choose(const ep_backend *backend, const ep_program *program,
                                 const char *name, int *at, ep_error *error) {
  bool known = false;
  for (; *at < EXECUTORS_COUNT; ++*at) {
    if (name && strcmp(executors[*at]->profile->name, name) != 0) continue;
    known = true;
    if (executor_takes(backend, program, name != NULL, *at)) return EP_OK;
  }
  if (name && !known)
    return ep_fail(error, EP_UNSUPPORTED, "the cuda backend has no executor \"%s\"", name);
  if (name) return ep_fail(error, EP_UNSUPPORTED, "%s cannot run this program", name);
  return ep_fail(error, EP_UNSUPPORTED, "no executor of the cuda backend can run this program");
}

static ep_status told(ep_error *error, const ep_error *why, ep_status status) {
  if (error && status != EP_OK) *error = *why;
  return status;
}

/* An executor may find only now that it cannot after all, as where cuDNN has no algorithm, or that
 * it takes more memory than there is: then another one is asked, unless this one was named. Where
 * none can, the first that lacked memory says so. */
static ep_status cuda_compile(ep_backend *backend, const ep_program *program, const char *name,
                              ep_instance **out, ep_error *error) {
  ep_error why, lack;
  bool lacked = false;
  *out = NULL;
  ep_status status = ep_cuda_device_use(backend, error);
  if (status != EP_OK) return status;
  for (int at = 0; executor_choose(backend, program, name, &at, &why) == EP_OK; at++) {
    status = ep_cuda_instance_create(backend, program, executors[at], out, &why);
    if (name || (status != EP_UNSUPPORTED && status != EP_NO_MEMORY))
      return told(error, &why, status);
    if (status == EP_NO_MEMORY && !lacked) lack = why;
    lacked = lacked || status == EP_NO_MEMORY;
  }
  return lacked ? told(error, &lack, EP_NO_MEMORY) : told(error, &why, EP_UNSUPPORTED);
}

/* The kernel of an executor whose kernel is compiled at run time. */
typedef struct {
  const char *file; /* NULL: the executor's kernels are part of the plug-in */
  char *(*source)(const ep_program *program, const ep_gpu_traits *gpu);
} run_time_kernel;

#define SOURCE_NVCC(name)
#define SOURCE_NVRTC(name) \
  char *ep_cuda_##name##_source(const ep_program *program, const ep_gpu_traits *gpu);
#define SOURCE(name, compiler) SOURCE_##compiler(name)
EP_CUDA_EXECUTORS(SOURCE)

#define KERNEL_NVCC(name) {NULL, NULL},
#define KERNEL_NVRTC(name) {"kernels/cuda/executors/" #name "/kernel.cuh", ep_cuda_##name##_source},
#define KERNEL(name, compiler) KERNEL_##compiler(name)
static const run_time_kernel kernels[] = {EP_CUDA_EXECUTORS(KERNEL)};

static bool cuda_compile_ahead(ep_backend *backend, const ep_program *program, const char *name) {
  int at = 0;
  if (executor_choose(backend, program, name, &at, NULL) != EP_OK || !kernels[at].file) return true;
  return ep_cuda_compile_ahead(backend, kernels[at].file,
                               kernels[at].source(program, &backend->gpu));
}

static void cuda_release(ep_instance *instance) {
  if (!instance) return;
  ep_cuda_device_use(ep_cuda_instance_backend(instance), NULL);
  ep_cuda_instance_destroy(instance);
}

/* A slot: chooses the device for the calling thread, then calls the instance's. */
#define SLOT(name, arguments, ...)                                                    \
  static ep_status cuda_##name arguments {                                            \
    ep_status status = ep_cuda_device_use(ep_cuda_instance_backend(instance), error); \
    if (status != EP_OK) return status;                                               \
    return ep_cuda_instance_##name(instance, __VA_ARGS__);                            \
  }

SLOT(load_data,
     (ep_instance * instance, ep_split split, const void *x, const void *y, int64_t rows,
      ep_error *error),
     split, x, y, rows, error)
SLOT(train_segment, (ep_instance * instance, const ep_segment *segment, ep_error *error), segment,
     error)
SLOT(evaluate,
     (ep_instance * instance, ep_split split, double *loss, int64_t *errors, ep_error *error),
     split, loss, errors, error)
SLOT(predict, (ep_instance * instance, const void *x, int64_t rows, float *output, ep_error *error),
     x, rows, output, error)
SLOT(export_state, (ep_instance * instance, float *parameters, float *optimizer, ep_error *error),
     parameters, optimizer, error)
SLOT(import_state,
     (ep_instance * instance, const float *parameters, const float *optimizer, ep_error *error),
     parameters, optimizer, error)
SLOT(snapshot, (ep_instance * instance, ep_error *error), error)
SLOT(rollback, (ep_instance * instance, ep_error *error), error)

static void cuda_close(ep_backend *backend) {
  if (!backend) return;
  ep_cuda_device_use(backend, NULL);
  ep_cuda_population_forget(backend);
  ep_cuda_device_close(backend);
}

static int64_t cuda_population_size(ep_backend *backend, const ep_program *program) {
  return ep_cuda_population_size(backend, program);
}

static ep_status cuda_train_population(ep_backend *backend, ep_population *population,
                                       ep_error *error) {
  ep_status status = ep_cuda_device_use(backend, error);
  return status == EP_OK ? ep_cuda_population_train(backend, population, error) : status;
}

__attribute__((visibility("default"))) const ep_backend_ops *ep_backend_plugin(void);

const ep_backend_ops *ep_backend_plugin(void) {
  static const ep_backend_ops ops = {
      .version = EP_BACKEND_VERSION,
      .name = "cuda",
      .open = ep_cuda_device_open,
      .close = cuda_close,
      .info = ep_cuda_device_info,
      .probe = ep_cuda_device_probe,
      .compile = cuda_compile,
      .release = cuda_release,
      .compile_ahead = cuda_compile_ahead,
      .instance_info = ep_cuda_instance_info,
      .load_data = cuda_load_data,
      .train_segment = cuda_train_segment,
      .evaluate = cuda_evaluate,
      .predict = cuda_predict,
      .export_state = cuda_export_state,
      .import_state = cuda_import_state,
      .snapshot = cuda_snapshot,
      .rollback = cuda_rollback,
      .population_size = cuda_population_size,
      .train_population = cuda_train_population,
  };
  return &ops;
}
