/* The CPU behind backend.h: checks what the engine hands in, once for all executors, and passes it
 * on to the executor that compile chose. */
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/limits.h"
#include "kernels/cpu/check.h"
#include "kernels/cpu/executors/blocked/product.h"
#include "kernels/cpu/executors/list.h"
#include "kernels/cpu/plans/plans.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/runtime/cpu.h"
#include "kernels/cpu/runtime/denormals.h"

struct ep_instance {
  const ep_executor *executor;
  void *self; /* the executor's; owned */
  const ep_program *program;
  int64_t rows[EP_SPLIT_COUNT]; /* loaded; 0 = none */
};

/* A container or taskset may allow fewer processors than there are. */
static int count_threads(void) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) {
    return CPU_COUNT(&allowed);
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

bool ep_backend_cpu_lacks(const char **name, const char **value) {
  *name = EP_PRODUCT_PROCESSOR;
  *value = getenv(*name) ? NULL : ep_product_processor(ep_instruction_set_detect());
  return *value != NULL;
}

/* Linux's name of the processor, "CPU" where it gives none (some ARM systems). */
static void read_name(char *out, size_t size) {
  snprintf(out, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "model name", strlen("model name")) != 0) continue;
    const char *colon = strchr(line, ':');
    if (!colon) continue;
    snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
    out[strcspn(out, "\n")] = '\0';
    break;
  }
  fclose(file);
}

static ep_status backend_open(int device, ep_backend **out, ep_error *error) {
  if (device != 0) return ep_fail(error, EP_NOT_FOUND, "the only CPU device is number 0");
  ep_backend *backend = malloc(sizeof *backend);
  if (!backend) return ep_fail(error, EP_NO_MEMORY, "no memory for the CPU backend");
  *backend =
      (ep_backend){.instruction_set = ep_instruction_set_detect(), .threads = count_threads()};
  read_name(backend->name, sizeof backend->name);
  *out = backend;
  return EP_OK;
}

static void backend_close(ep_backend *backend) {
  free(backend);
}

static ep_status backend_info(ep_backend *backend, ep_backend_info *out, ep_error *error) {
  (void)error;
  *out = (ep_backend_info){.threads = backend->threads};
  memcpy(out->name, backend->name, sizeof out->name);
  snprintf(out->instruction_set, sizeof out->instruction_set, "%s",
           ep_instruction_set_name(backend->instruction_set));
  int64_t page_bytes = sysconf(_SC_PAGESIZE);
  out->memory_bytes = page_bytes * sysconf(_SC_PHYS_PAGES);
  out->memory_free_bytes = page_bytes * sysconf(_SC_AVPHYS_PAGES);
  return EP_OK;
}

static ep_status fail_unknown(const char *name, ep_error *error) {
  char names[EP_MESSAGE_BYTES / 2] = "";
  int count;
  const ep_executor_profile *const *profiles = ep_cpu_profiles(&count);
  for (int i = 0; i < count; i++) {
    size_t length = strlen(names);
    snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", profiles[i]->name);
  }
  return ep_fail(error, EP_NOT_FOUND, "unknown executor \"%.64s\"; the executors are: %s", name,
                 names);
}

/* The first of the table that can do it, or the one of that name. */
static ep_status choose(const ep_backend *backend, const ep_program *program, const char *name,
                        const ep_executor **out, ep_error *error) {
  int count;
  const ep_executor_profile *const *profiles = ep_cpu_profiles(&count);
  const ep_device_traits device = {
      .cpu = ep_cpu_traits_of(ep_instruction_set_name(backend->instruction_set), backend->threads)};
  for (int i = 0; i < count; i++) {
    if (name && strcmp(name, profiles[i]->name) != 0) continue;
    if (name ? ep_executor_can(profiles[i], program, &device) /* it yields to none */
             : ep_executor_takes(profiles, count, i, program, &device)) {
      *out = ep_cpu_executors(&count)[i];
      return EP_OK;
    }
    if (name) return ep_fail(error, EP_UNSUPPORTED, "%s cannot run this program", name);
  }
  return name ? fail_unknown(name, error)
              : ep_fail(error, EP_UNSUPPORTED, "no executor can run this program");
}

static ep_status backend_compile(ep_backend *backend, const ep_program *program,
                                 const char *executor, ep_instance **out, ep_error *error) {
  const ep_executor *chosen = NULL;
  ep_status status = ep_check_program(program, error);
  if (status == EP_OK) status = choose(backend, program, executor, &chosen, error);
  if (status != EP_OK) return status;
  ep_instance *instance = malloc(sizeof *instance);
  if (!instance) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  *instance = (ep_instance){.executor = chosen, .program = program};
  status = chosen->create(backend, program, &instance->self, error);
  if (status != EP_OK) {
    free(instance);
    return status;
  }
  *out = instance;
  return EP_OK;
}

static void instance_release(ep_instance *instance) {
  if (!instance) return;
  instance->executor->destroy(instance->self);
  free(instance);
}

static void instance_info(const ep_instance *instance, ep_instance_info *out) {
  *out = (ep_instance_info){.executor = instance->executor->profile->name,
                            .bytes = instance->executor->bytes(instance->self),
                            .rows_apart = instance->executor->rows_apart};
  if (instance->executor->ranks) instance->executor->ranks(instance->self, out);
}

static ep_status instance_load_data(ep_instance *instance, ep_split split, const void *x,
                                    const void *y, int64_t rows, ep_error *error) {
  const ep_program *program = instance->program;
  assert(split < EP_SPLIT_COUNT);
  if (rows < 1 || rows > EP_LIMIT_ROWS || !x || !y) {
    return ep_fail(error, EP_INVALID, "a split has 1 to %lld rows", (long long)EP_LIMIT_ROWS);
  }
  if (split == EP_SPLIT_TRAIN && rows != program->train_rows) {
    return ep_fail(error, EP_INVALID, "the program trains on %lld rows, not %lld",
                   (long long)program->train_rows, (long long)rows);
  }
  ep_status status = ep_check_targets(program, y, rows, error);
  if (status == EP_OK) status = ep_check_inputs(program, x, rows, error);
  if (status != EP_OK) return status;
  instance->rows[split] = 0; /* until it is loaded */
  status = instance->executor->load_data(instance->self, split, x, y, rows, error);
  if (status == EP_OK) instance->rows[split] = rows;
  return status;
}

static ep_status instance_train_segment(ep_instance *instance, const ep_segment *segment,
                                        ep_error *error) {
  if (instance->rows[EP_SPLIT_TRAIN] == 0) {
    return ep_fail(error, EP_CONFLICT, "training data must be loaded before training");
  }
  if (segment->first_step < 0 || segment->steps < 0 ||
      (segment->lr_count != 1 && segment->lr_count != segment->steps)) {
    return ep_fail(error, EP_INVALID, "a segment has one learning rate, or one a step");
  }
  if (segment->steps == 0) return EP_OK;
  ep_denormals_flush();
  return instance->executor->train_segment(instance->self, segment, error);
}

static ep_status instance_evaluate(ep_instance *instance, ep_split split, double *loss,
                                   int64_t *errors, ep_error *error) {
  assert(split < EP_SPLIT_COUNT);
  if (instance->rows[split] == 0) {
    return ep_fail(error, EP_CONFLICT, "a split must be loaded before it is evaluated");
  }
  ep_denormals_flush();
  return instance->executor->evaluate(instance->self, split, loss, errors, error);
}

static ep_status instance_predict(ep_instance *instance, const void *x, int64_t rows, float *output,
                                  ep_error *error) {
  if (rows < 0 || rows > EP_LIMIT_ROWS) {
    return ep_fail(error, EP_INVALID, "a prediction has 0 to %lld rows", (long long)EP_LIMIT_ROWS);
  }
  if (rows == 0) return EP_OK;
  ep_status status = ep_check_inputs(instance->program, x, rows, error);
  if (status != EP_OK) return status;
  ep_denormals_flush();
  return instance->executor->predict(instance->self, x, rows, output, error);
}

static ep_status instance_export_state(ep_instance *instance, float *parameters, float *optimizer,
                                       ep_error *error) {
  return instance->executor->export_state(instance->self, parameters, optimizer, error);
}

static ep_status instance_import_state(ep_instance *instance, const float *parameters,
                                       const float *optimizer, ep_error *error) {
  return instance->executor->import_state(instance->self, parameters, optimizer, error);
}

static ep_status instance_snapshot(ep_instance *instance, ep_error *error) {
  return instance->executor->snapshot(instance->self, error);
}

static ep_status instance_rollback(ep_instance *instance, ep_error *error) {
  return instance->executor->rollback(instance->self, error);
}

/* One after the other on a core each: cpu/fused leaves little of a core for another one's. */
static int64_t backend_population_size(ep_backend *backend, const ep_program *program) {
  (void)backend;
  (void)program;
  return 0;
}

static ep_status backend_train_population(ep_backend *backend, ep_population *population,
                                          ep_error *error) {
  (void)backend;
  (void)population;
  return ep_fail(error, EP_UNSUPPORTED, "the CPU trains programs one by one");
}

const ep_backend_ops *ep_backend_cpu(void) {
  static const ep_backend_ops ops = {.version = EP_BACKEND_VERSION,
                                     .name = "cpu",
                                     .open = backend_open,
                                     .close = backend_close,
                                     .info = backend_info,
                                     .probe = ep_cpu_probe,
                                     .compile = backend_compile,
                                     .release = instance_release,
                                     .instance_info = instance_info,
                                     .load_data = instance_load_data,
                                     .train_segment = instance_train_segment,
                                     .evaluate = instance_evaluate,
                                     .predict = instance_predict,
                                     .export_state = instance_export_state,
                                     .import_state = instance_import_state,
                                     .snapshot = instance_snapshot,
                                     .rollback = instance_rollback,
                                     .population_size = backend_population_size,
                                     .train_population = backend_train_population};
  return &ops;
}
