/* Whether the kernels that are compiled at run time compile for every generation of GPUs that has
 * what they need, for some programs; without a GPU:
 *
 *     test_generations
 *
 * Prints a line a kernel; exits with 1 when one did not compile, or an executor took no program. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/executors/table.h"
#include "kernels/cuda/population/plan.h"
#include "kernels/cuda/runtime/sources.h"
#include "kernels/plans/profile.h"
#include "tests/unit/kernels/programs.h"

enum { MULTIPROCESSORS = 100, HEADERS_MAX = 96 };

/* --- NVRTC --------------------------------------------------------------------------------- */

/* Whether this compiler knows the generation. */
static bool is_known(int capability) {
  int count = 0, known[64];
  if (nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > 64 ||
      nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
    return false;
  for (int i = 0; i < count; i++)
    if (known[i] == capability) return true;
  return false;
}

static void log_print(nvrtcProgram program) {
  size_t bytes = 0;
  char *log = NULL;
  if (nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS) log = calloc(bytes + 1, 1);
  if (log && nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS) printf("%.1000s\n", log);
  free(log);
}

/* As compiler.c does. Takes the header, "kernels/cuda/device/program.h". */
static bool compiles(const char *file, char *header, int capability) {
  const char *names[HEADERS_MAX], *texts[HEADERS_MAX], *source = "";
  char architecture[32];
  int count = 0;
  nvrtcProgram program;
  for (int i = 0; i < EP_CUDA_SOURCES_COUNT && count < HEADERS_MAX - 1; i++) {
    if (strcmp(EP_CUDA_SOURCES[i].name, file) == 0) source = EP_CUDA_SOURCES[i].text;
    names[count] = EP_CUDA_SOURCES[i].name;
    texts[count++] = EP_CUDA_SOURCES[i].text;
  }
  names[count] = "kernels/cuda/device/program.h";
  texts[count++] = header;
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", capability);
  const char *const options[] = {architecture, "--std=c++17",
                                 "--device-as-default-execution-space"};
  nvrtcResult result = header ? nvrtcCreateProgram(&program, source, file, count, texts, names)
                              : NVRTC_ERROR_OUT_OF_MEMORY;
  if (result == NVRTC_SUCCESS) {
    result = nvrtcCompileProgram(program, 3, options);
    if (result != NVRTC_SUCCESS) log_print(program);
    nvrtcDestroyProgram(&program);
  }
  free(header);
  return result == NVRTC_SUCCESS;
}

/* --- the kernels --------------------------------------------------------------------------- */

typedef struct {
  const ep_executor_profile *profile;
  const char *file;
  char *(*source)(const ep_program *program, const ep_gpu_traits *gpu);
} kernel;

#define DECLARE_NVCC(name)
#define DECLARE_NVRTC(name)                                  \
  extern const ep_executor_profile ep_cuda_##name##_profile; \
  char *ep_cuda_##name##_source(const ep_program *program, const ep_gpu_traits *gpu);
#define DECLARE(name, compiler) DECLARE_##compiler(name)
EP_CUDA_EXECUTORS(DECLARE)

#define ROW_NVCC(name)
#define ROW_NVRTC(name)                                                      \
  {&ep_cuda_##name##_profile, "kernels/cuda/executors/" #name "/kernel.cuh", \
   ep_cuda_##name##_source},
#define ROW(name, compiler) ROW_##compiler(name)
static const kernel kernels[] = {EP_CUDA_EXECUTORS(ROW)};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* --- the programs -------------------------------------------------------------------------- */

static ep_case *dense_create(int64_t width, ep_precision precision) {
  char name[64];
  snprintf(name, sizeof name, "dense, %d wide, %s", (int)width, ep_precision_name(precision));
  ep_case *self = ep_case_create(name, 4, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(self, width, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_linear(self, 3, true);
  self->program.precision = precision;
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 900,
          .batch_size = 300,
          .shuffle = true,
          .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f}});
  return self;
}

static ep_case *thin_create(void) {
  return dense_create(8, EP_PRECISION_FP32);
}
static ep_case *middle_create(void) {
  return dense_create(64, EP_PRECISION_TF32);
}
static ep_case *growing_create(void) {
  ep_case *self = ep_case_create("growing", 5, EP_LOSS_NLL);
  const int widths[] = {6, 60, 70, 300, 514, 4};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    if (i > 0) ep_case_add(self, EP_LAYER_SILU);
    ep_case_add_linear(self, widths[i], true);
  }
  self->program.precision = EP_PRECISION_TF32;
  ep_case_finish(self, &(ep_case_training){.rows = 107, .batch_size = 45, .shuffle = true});
  return self;
}
static ep_case *half_create(void) {
  return dense_create(64, EP_PRECISION_BF16);
}

/* What stands behind a layer besides an activation. */
static ep_case *norms_create(void) {
  ep_case *self = ep_case_create("norms and dropouts", 7, EP_LOSS_CROSS_ENTROPY);
  const int widths[] = {40, 33};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    ep_case_add_linear(self, widths[i], true);
    ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
    ep_case_add(self, EP_LAYER_GELU);
    ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  }
  ep_case_add_linear(self, 50, true);
  self->program.precision = EP_PRECISION_TF32;
  ep_case_finish(self, &(ep_case_training){.rows = 900, .batch_size = 300, .shuffle = true});
  return self;
}

static ep_case *picture_create(void) {
  const ep_case_window three = {.kernel = {3, 3}}, two = {.kernel = {2, 2}};
  ep_case *self = ep_case_create_image("picture", (ep_shape){1, 12, 12}, EP_LOSS_NLL);
  ep_case_add_conv2d(self, 6, &three, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 10, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  ep_case_store_bytes(self);
  ep_case_finish(self, &(ep_case_training){.rows = 200, .batch_size = 64, .shuffle = true});
  return self;
}

/* For a population alone, which reads its rows where they lie. */
static ep_case *digits_create(void) {
  ep_case *self = ep_case_create("digits", 784, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(self, 64, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 10, true);
  self->program.precision = EP_PRECISION_TF32;
  ep_case_finish(self, &(ep_case_training){.rows = 300, .batch_size = 100, .shuffle = true});
  return self;
}

static ep_case *(*const programs[])(void) = {thin_create, middle_create, growing_create,
                                             half_create, norms_create,  picture_create};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* --- the test ------------------------------------------------------------------------------ */

static bool takes(const kernel *self, const ep_program *program, int capability) {
  const ep_device_traits device = {.gpu = {capability, capability, MULTIPROCESSORS}};
  return ep_executor_can(self->profile, program, &device);
}

/* Whether the kernel compiles for the program, or is not taken where the GPU lacks something. Who
 * takes it on an H100, which has everything, takes it wherever there is what it needs. */
static bool kernel_try(const kernel *self, const ep_case *test, int capability) {
  const bool taken = takes(self, &test->program, capability);
  bool good = taken == ((self->profile->gpu_features & ~ep_gpu_features(capability)) == 0);
  const char *said = taken ? "compiles" : "not for it";
  if (taken) {
    const ep_gpu_traits gpu = {capability, capability, MULTIPROCESSORS};
    good = compiles(self->file, self->source(&test->program, &gpu), capability) && good;
  }
  printf("%s  %s, %s, %d.%d: %s\n", good ? "pass" : "FAIL", self->profile->name, test->name,
         capability / 10, capability % 10, good ? said : "not as it should be");
  fflush(stdout);
  return good;
}

/* The same for a population of the program; true where it is not taken. *tried: counted up. */
static bool population_try(const ep_case *test, int capability, int *tried) {
  const ep_gpu_traits gpu = {capability, capability, MULTIPROCESSORS};
  ep_population_plan plan;
  if (!ep_population_plan_make(&test->program, &gpu, &plan)) return true;
  const bool good = compiles(plan.file, ep_population_codegen(&test->program, &plan), capability);
  printf("%s  population of %s, %s, %d.%d\n", good ? "pass" : "FAIL", test->name, plan.kernel,
         capability / 10, capability % 10);
  ++*tried;
  return good;
}

int main(void) {
  const int capabilities[] = {75, 80, 86, 89, 90, 100, 120};
  const int everything = 90;
  int tried[KERNELS] = {0}, populations = 0;
  bool good = true;
  for (int p = 0; p < PROGRAMS; p++) {
    ep_case *test = programs[p]();
    for (int k = 0; k < KERNELS; k++)
      for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        if (!takes(&kernels[k], &test->program, everything) || !is_known(capabilities[i])) continue;
        good = kernel_try(&kernels[k], test, capabilities[i]) && good;
        tried[k]++;
      }
    ep_case_destroy(test);
  }
  for (int p = 0; p <= PROGRAMS; p++) {
    ep_case *test = p < PROGRAMS ? programs[p]() : digits_create();
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
      if (is_known(capabilities[i]))
        good = population_try(test, capabilities[i], &populations) && good;
    ep_case_destroy(test);
  }
  good = good && populations > 0;
  for (int k = 0; k < KERNELS; k++) {
    printf("%d of %s\n", tried[k], kernels[k].profile->name);
    good = good && tried[k] > 0;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
