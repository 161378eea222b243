/* Whether the kernels that are compiled at run time compile for every generation of GPUs that has
 * what they need, for some programs; without a GPU:
 *
 *     test_generations [--all]
 *
 * A compilation takes a second or more. So each kernel compiles for each kind of generation with
 * the first program that it takes, and with any other program for one generation, another one each
 * time. "--all": for every generation with every program. Prints a line a kernel;
 * exits with 1 when one did not compile, or an executor took no program. */
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

static const int capabilities[] = {75, 80, 86, 89, 90, 100, 120};
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities, EVERYTHING = 90 };
static bool all;

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

/* Whose table is in every block, or shared out. */
static ep_case *words_create(int64_t words) {
  ep_case *self = ep_case_create("words", 3, EP_LOSS_MSE);
  ep_case_add_embedding(self, 1, words, 30);
  ep_case_add_linear(self, 90, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 900, .batch_size = 300, .shuffle = true});
  return self;
}
static ep_case *few_words_create(void) {
  return words_create(100);
}
static ep_case *many_words_create(void) {
  return words_create(20000);
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

static ep_case *(*const programs[])(void) = {thin_create,       middle_create, growing_create,
                                             half_create,       norms_create,  few_words_create,
                                             many_words_create, picture_create};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* --- the test ------------------------------------------------------------------------------ */

static bool takes(const kernel *self, const ep_program *program, int capability) {
  const ep_device_traits device = {.gpu = {capability, capability, MULTIPROCESSORS}};
  return ep_executor_can(self->profile, program, &device);
}

static ep_gpu_traits gpu_of(int capability) {
  return (ep_gpu_traits){capability, capability, MULTIPROCESSORS};
}

/* 8.6 and 8.9 have the instructions of 8.0 and some more: no kernel asks for those. */
static bool is_another_80(int capability) {
  return capability == 86 || capability == 89;
}

/* Whether the n-th of `count` generations that take a program is compiled for. */
static bool is_due(int capability, bool was_compiled, int n, int count, int program) {
  return all || (!was_compiled && !is_another_80(capability)) || n == program % count;
}

static bool kernel_compile(const kernel *self, const ep_case *test, int capability) {
  const ep_gpu_traits gpu = gpu_of(capability);
  const bool good = compiles(self->file, self->source(&test->program, &gpu), capability);
  printf("%s  %s, %s, %d.%d\n", good ? "pass" : "FAIL", self->profile->name, test->name,
         capability / 10, capability % 10);
  fflush(stdout);
  return good;
}

/* Whether the kernel is taken for the program where the GPU has what it needs, and compiles. Who
 * takes it on an H100, which has everything, takes it wherever there is what it needs.
 * compiled: of each generation, whether the kernel was. */
static bool kernel_try(const kernel *self, const ep_case *test, int number,
                       bool compiled[CAPABILITIES]) {
  int takers[CAPABILITIES], count = 0;
  bool good = true;
  if (!takes(self, &test->program, EVERYTHING)) return true;
  for (int i = 0; i < CAPABILITIES; i++) {
    if (!is_known(capabilities[i])) continue;
    const bool taken = takes(self, &test->program, capabilities[i]);
    const bool has = (self->profile->gpu_features & ~ep_gpu_features(capabilities[i])) == 0;
    if (taken) takers[count++] = i;
    if (taken != has)
      printf("FAIL  %s, %s, %d: %s\n", self->profile->name, test->name, capabilities[i],
             taken ? "taken" : "not taken");
    good = good && taken == has;
  }
  for (int n = 0; n < count; n++) {
    if (!is_due(capabilities[takers[n]], compiled[takers[n]], n, count, number)) continue;
    good = kernel_compile(self, test, capabilities[takers[n]]) && good;
    compiled[takers[n]] = true;
  }
  return good;
}

/* The same for a population of the program. compiled: of each of its two kernels. */
static bool population_try(const ep_case *test, int number, bool compiled[2][CAPABILITIES]) {
  ep_population_plan plans[CAPABILITIES];
  int takers[CAPABILITIES], count = 0;
  bool good = true;
  for (int i = 0; i < CAPABILITIES; i++) {
    const ep_gpu_traits gpu = gpu_of(capabilities[i]);
    if (is_known(capabilities[i]) && ep_population_plan_make(&test->program, &gpu, &plans[count]))
      takers[count++] = i;
  }
  for (int n = 0; n < count; n++) {
    const int capability = capabilities[takers[n]];
    bool *was_compiled = &compiled[plans[n].has_blocks][takers[n]];
    if (!is_due(capability, *was_compiled, n, count, number)) continue;
    *was_compiled =
        compiles(plans[n].file, ep_population_codegen(&test->program, &plans[n]), capability);
    printf("%s  population of %s, %s, %d.%d\n", *was_compiled ? "pass" : "FAIL", test->name,
           plans[n].kernel, capability / 10, capability % 10);
    good = good && *was_compiled;
  }
  return good;
}

static int compiled_count(const bool compiled[CAPABILITIES]) {
  int count = 0;
  for (int i = 0; i < CAPABILITIES; i++) count += compiled[i];
  return count;
}

int main(int argc, char **argv) {
  static bool compiled[KERNELS][CAPABILITIES], populations[2][CAPABILITIES];
  bool good = true;
  all = argc == 2 && strcmp(argv[1], "--all") == 0;
  for (int p = 0; p <= PROGRAMS; p++) {
    ep_case *test = p < PROGRAMS ? programs[p]() : digits_create();
    for (int k = 0; k < KERNELS && p < PROGRAMS; k++)
      good = kernel_try(&kernels[k], test, p, compiled[k]) && good;
    good = population_try(test, p, populations) && good;
    ep_case_destroy(test);
  }
  for (int k = 0; k < KERNELS; k++) {
    printf("%s: %d generations\n", kernels[k].profile->name, compiled_count(compiled[k]));
    good = good && compiled_count(compiled[k]) > 0;
  }
  for (int k = 0; k < 2; k++) {
    printf("population, %s: %d generations\n", k ? "blocks" : "lanes",
           compiled_count(populations[k]));
    good = good && compiled_count(populations[k]) > 0;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
