/* Which of cuDNN's algorithms a convolution gets in a process that others came before: with
 * stand-ins for cuDNN and for the driver's clock. Needs no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/executors/images/convolution.h"
#include "kernels/cuda/executors/images/library.h"
#include "tests/cache_folder.h"
#include "tests/suite.h"

/* --- the driver: a clock that only what is run moves ---------------------------------------- */

static float clock_ms;

struct CUevent_st {
  float ms;
};

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = calloc(1, sizeof **event);
  return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)stream;
  event->ms = clock_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = end->ms - start->ms;
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError(void) {
  return cudaSuccess;
}

ep_status ep_cuda_fail(ep_error *error, cudaError_t code, const char *doing) {
  return ep_fail(error, EP_INTERNAL, "%s failed: %d", doing, (int)code);
}

/* --- cuDNN: three algorithms, of which a plan is one ---------------------------------------- */

enum { ALGORITHMS = 3, NONE = -1 };

typedef struct {
  int algorithm;
} descriptor;

static float costs_ms[ALGORITHMS];
static size_t library_version = 91900;
static int broken = NONE; /* an algorithm that does not run */
static int longer;        /* a plan's text than it was said to be, by so much */
static unsigned compiled; /* a bit an algorithm: it does not come with cuDNN */
static unsigned tensor_cores = (1 << ALGORITHMS) - 1; /* likewise: it has them */
static int last_run = NONE, runs;

static cudnnStatus_t fake_open(cudnnHandle_t *handle) {
  static int it;
  *handle = (cudnnHandle_t)(void *)&it;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t fake_stream(cudnnHandle_t handle, cudaStream_t stream) {
  (void)handle, (void)stream;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t fake_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out) {
  (void)type;
  descriptor *made = calloc(1, sizeof *made);
  *out = made;
  return made ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}
static cudnnStatus_t fake_destroy(cudnnBackendDescriptor_t it) {
  free(it);
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t fake_finalize(cudnnBackendDescriptor_t it) {
  (void)it;
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t fake_set(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                              cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  descriptor *self = it;
  (void)type;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
    self->algorithm = (*(descriptor *const *)values)->algorithm;
  if (name != CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) return CUDNN_STATUS_SUCCESS;
  if (count != 2 || *(const char *)values != '#') return CUDNN_STATUS_BAD_PARAM;
  self->algorithm = ((const char *)values)[1] - '0';
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t fake_get(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                              cudnnBackendAttributeType_t type, int64_t most, int64_t *count,
                              void *values) {
  const descriptor *self = it;
  (void)type;
  *count = 0;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    ck_assert_int_ge(most, ALGORITHMS);
    for (int i = 0; i < ALGORITHMS; i++) (*((descriptor **)values + i))->algorithm = i;
    *count = ALGORITHMS;
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    (*(descriptor **)values)->algorithm = self->algorithm;
    *count = 1;
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && tensor_cores >> self->algorithm & 1) {
    *(cudnnBackendNumericalNote_t *)values = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    *count = 1;
  } else if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && compiled >> self->algorithm & 1) {
    *(cudnnBackendBehaviorNote_t *)values = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    *count = 1;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *(int64_t *)values = 0;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
    *count = most == 2 ? 2 + longer : 2;
    if (most == 2) memcpy(values, (char[]){'#', (char)('0' + self->algorithm)}, 2);
  }
  return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t fake_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  (void)handle, (void)pack;
  const int algorithm = ((const descriptor *)plan)->algorithm;
  if (algorithm == broken) return CUDNN_STATUS_EXECUTION_FAILED;
  last_run = algorithm;
  runs++;
  clock_ms += costs_ms[algorithm];
  return CUDNN_STATUS_SUCCESS;
}

static size_t fake_version(void) {
  return library_version;
}
static const char *fake_text(cudnnStatus_t status) {
  (void)status;
  return "a status";
}

const ep_cudnn_calls *ep_cudnn(void) {
  static const ep_cudnn_calls calls = {
      .version = fake_version,
      .open = fake_open,
      .stream = fake_stream,
      .create = fake_create,
      .destroy = fake_destroy,
      .set = fake_set,
      .get = fake_get,
      .finalize = fake_finalize,
      .execute = fake_execute,
      .text = fake_text,
  };
  return &calls;
}

/* --- the test ------------------------------------------------------------------------------- */

static ep_backend backend = {.gpu = {.multiprocessors = 132}, .name = "a GPU"};
static ep_convolution_shape shape = {.way = EP_CONVOLUTION_FORWARD,
                                     .in = {16, 8, 8},
                                     .out = {32, 8, 8},
                                     .rows = 10,
                                     .kernel = {3, 3},
                                     .stride = {1, 1},
                                     .padding = {1, 1},
                                     .dilation = {1, 1}};

/* Makes `fastest` the fastest from now on. */
static void costs_set(int fastest) {
  for (int i = 0; i < ALGORITHMS; i++) costs_ms[i] = i == fastest ? 1 : 2;
}

/* The algorithm that a convolution of the shape runs. */
static int algorithm_of_one(void) {
  ep_convolution convolution;
  ck_assert_int_eq(
      ep_convolution_init(&backend, NULL, &shape, NULL, NULL, NULL, NULL, &convolution, NULL),
      EP_OK);
  last_run = NONE;
  ck_assert_int_eq(ep_convolution_run(&convolution, NULL), EP_OK);
  ep_convolution_deinit(&convolution);
  return last_run;
}

static int algorithm_elsewhere(void) {
  return ep_elsewhere(algorithm_of_one);
}

START_TEST(the_fastest_is_found_once) {
  costs_set(1);
  ck_assert_int_eq(algorithm_of_one(), 1);
  ck_assert_int_gt(runs, ALGORITHMS);
  costs_set(2);
  runs = 0;
  ck_assert_int_eq(algorithm_of_one(), 1);
  ck_assert_int_eq(runs, 1);
}
END_TEST

/* Compiling takes some tenths of a second, and what has no tensor cores several times as long. */
START_TEST(one_is_compiled_where_no_other_has_tensor_cores) {
  compiled = 1 << 1 | 1 << 2;
  costs_set(1);
  ck_assert_int_eq(algorithm_elsewhere(), 0);
  ck_assert_int_eq(ep_cache_folder_run("rm -f *"), 0);
  tensor_cores = 1 << 1 | 1 << 2;
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  ck_assert_int_eq(ep_cache_folder_run("rm -f *"), 0);
  tensor_cores = 1 << 2; /* it is tried, and is not the fastest */
  costs_set(0);
  ck_assert_int_eq(algorithm_elsewhere(), 0);
}
END_TEST

START_TEST(another_process_takes_what_was_found) {
  costs_set(1);
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  costs_set(2);
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  ck_assert_int_eq(algorithm_of_one(), 1);
  ck_assert_int_eq(runs, 2); /* a trial, and the run */
}
END_TEST

START_TEST(another_library_device_or_shape_is_another_question) {
  costs_set(1);
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  costs_set(2);
  library_version++;
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  library_version--;
  backend.gpu.multiprocessors--;
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  backend.gpu.multiprocessors++;
  snprintf(backend.name, sizeof backend.name, "another GPU");
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  snprintf(backend.name, sizeof backend.name, "a GPU");
  shape.dilation[1]++;
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  shape.dilation[1]--;
  shape.way = EP_CONVOLUTION_WEIGHTS;
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  shape.way = EP_CONVOLUTION_FORWARD;
  shape.half = !shape.half;
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  shape.half = !shape.half;
  ck_assert_int_eq(algorithm_elsewhere(), 1);
}
END_TEST

START_TEST(a_damaged_file_is_ignored_and_replaced) {
  costs_set(1);
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  ck_assert_int_eq(
      ep_cache_folder_run(
          "for f in *; do printf 0 | dd of=$f bs=1 seek=25 conv=notrunc 2>/dev/null; done"),
      0);
  costs_set(2);
  ck_assert_int_eq(algorithm_elsewhere(), 2);
  costs_set(0);
  ck_assert_int_eq(algorithm_elsewhere(), 2);
}
END_TEST

START_TEST(a_plan_that_does_not_run_is_ignored) {
  costs_set(1);
  ck_assert_int_eq(algorithm_elsewhere(), 1);
  broken = 1;
  costs_set(0);
  ck_assert_int_eq(algorithm_elsewhere(), 0);
}
END_TEST

START_TEST(a_text_of_another_length_is_not_kept) {
  for (longer = -2; longer <= 1; longer += 3) {
    for (int fastest = 1; fastest <= 2; fastest++) {
      costs_set(fastest);
      ck_assert_int_eq(algorithm_elsewhere(), fastest);
    }
  }
}
END_TEST

EP_SUITE("cuda/convolution") {
  TCase *cases = ep_suite_case(suite, "kept algorithms");
  tcase_add_checked_fixture(cases, ep_cache_folder_make, ep_cache_folder_remove);
  tcase_add_test(cases, the_fastest_is_found_once);
  tcase_add_test(cases, one_is_compiled_where_no_other_has_tensor_cores);
  tcase_add_test(cases, another_process_takes_what_was_found);
  tcase_add_test(cases, another_library_device_or_shape_is_another_question);
  tcase_add_test(cases, a_damaged_file_is_ignored_and_replaced);
  tcase_add_test(cases, a_plan_that_does_not_run_is_ignored);
  tcase_add_test(cases, a_text_of_another_length_is_not_kept);
}
