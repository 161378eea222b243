/* Whether the kernels that are compiled at run time compile for every generation of GPUs that may
 * take them; without a GPU:
 *
 *     test_generations
 *
 * Prints a line a kernel; exits with 1 when one did not compile. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/choice.h"
#include "kernels/cuda/executors/cluster/plan.h"
#include "kernels/cuda/executors/cnn/plan.h"
#include "kernels/cuda/executors/crews/plan.h"
#include "kernels/cuda/executors/fused/plan.h"
#include "kernels/cuda/executors/resident/plan.h"
#include "kernels/cuda/runtime/sources.h"
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

/* The text for a program; NULL where the GPU does not take it. */
static char *resident_text(const ep_program *program, const ep_choice_gpu *gpu) {
  const ep_resident_plan plan = {gpu->capability >= 90 ? 2 : 1, 128};
  return ep_choice_resident(program, gpu) ? ep_resident_text(program, &plan) : NULL;
}

static char *cluster_text(const ep_program *program, const ep_choice_gpu *gpu) {
  ep_cluster_plan plan;
  if (!ep_choice_cluster(program, gpu, NULL) || !ep_cluster_plan_make(program, &plan)) return NULL;
  return ep_cluster_text(program, &plan);
}

static char *crews_text(const ep_program *program, const ep_choice_gpu *gpu) {
  ep_crews_plan plan;
  if (!ep_choice_crews(program, gpu, NULL) || !ep_crews_plan_make(program, &plan)) return NULL;
  return ep_crews_text(program, &plan);
}

static char *narrow_text(const ep_program *program, const ep_choice_gpu *gpu) {
  const int64_t shared_bytes = ep_choice_shared_bytes(gpu->capability);
  ep_narrow_plan plan;
  ep_choice_narrow_work work;
  if (gpu->capability < 80 ||
      !ep_narrow_plan_make(program, gpu->multiprocessors, shared_bytes, &plan, &work))
    return NULL;
  return ep_narrow_text(program, &plan);
}

static char *graph_text(const ep_program *program, const ep_choice_gpu *gpu) {
  const int64_t shared_bytes = ep_choice_shared_bytes(gpu->capability);
  static ep_cnn_plan plan;
  char *text = NULL;
  if (!ep_choice_graph(program, gpu)) return NULL;
  float *decay = calloc((size_t)program->parameters, sizeof *decay);
  if (decay && ep_cnn_plan_make(program, gpu->multiprocessors, shared_bytes, decay, &plan))
    text = ep_cnn_text(program, &plan);
  free(decay);
  return text;
}

static ep_case *dense_create(int64_t width, ep_precision precision) {
  ep_case *self = ep_case_create("dense", 4, EP_LOSS_CROSS_ENTROPY);
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

static const struct {
  const char *name, *file;
  ep_case *(*create)(void);
  char *(*text)(const ep_program *, const ep_choice_gpu *);
  int oldest; /* capability that takes it, and all after it … */
  bool large; /* … if their blocks are large */
} kernels[] = {
    {"cuda/resident", "kernels/cuda/executors/resident/kernel.cuh", thin_create, resident_text, 75,
     false},
    {"cuda/cluster", "kernels/cuda/executors/cluster/kernel.cuh", middle_create, cluster_text, 90,
     true},
    {"cuda/crews", "kernels/cuda/executors/crews/kernel.cuh", growing_create, crews_text, 90, true},
    {"cuda/fused, tf32", "kernels/cuda/executors/fused/kernel.cuh", middle_create, narrow_text, 80,
     false},
    {"cuda/fused, bf16", "kernels/cuda/executors/fused/kernel.cuh", half_create, narrow_text, 80,
     false},
    {"cuda/graph", "kernels/cuda/executors/cnn/kernel.cuh", picture_create, graph_text, 80, false},
};

/* Whether it compiles, or is not taken where it need not be. */
static bool kernel_try(int number, int capability) {
  const ep_choice_gpu gpu = {capability, MULTIPROCESSORS};
  ep_case *test = kernels[number].create();
  char *text = kernels[number].text(&test->program, &gpu);
  bool wanted = capability >= kernels[number].oldest &&
                (!kernels[number].large || ep_choice_has_large_blocks(capability));
  bool good = wanted == (text != NULL);
  const char *said = text ? "compiles" : "not for it";
  if (text) good = compiles(kernels[number].file, text, capability) && good;
  printf("%s  %s, %d.%d: %s\n", good ? "pass" : "FAIL", kernels[number].name, capability / 10,
         capability % 10, good ? said : "not as it should be");
  fflush(stdout);
  ep_case_destroy(test);
  return good;
}

int main(void) {
  const int capabilities[] = {75, 80, 86, 89, 90, 100, 120};
  int tried = 0;
  bool good = true;
  for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
    for (size_t k = 0; is_known(capabilities[i]) && k < sizeof kernels / sizeof *kernels; k++) {
      good = kernel_try((int)k, capabilities[i]) && good;
      tried++;
    }
  printf("%d kernels\n", tried);
  return good && tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
