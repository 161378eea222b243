/* Which of cuBLASLt's algorithms a product gets: with stand-ins for cuBLASLt and for the driver.
 * Needs no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/runtime/gemm.h"
#include "tests/cache_folder.h"
#include "tests/suite.h"

/* --- the driver: a clock that only what is run moves ---------------------------------------- */

static float clock_ms;
static bool recording;
static float recorded_ms; /* what a launch of the graph takes */
static int graphs, execs, events;

struct CUevent_st {
  float ms;
};

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = calloc(1, sizeof **event);
  events++;
  return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  events--;
  free(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)stream;
  ck_assert(!recording);
  event->ms = clock_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  (void)event;
  ck_assert(!recording);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = end->ms - start->ms;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  (void)stream;
  ck_assert(!recording);
  ck_assert_int_eq(mode, cudaStreamCaptureModeThreadLocal);
  recording = true;
  recorded_ms = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  static int it;
  (void)stream;
  ck_assert(recording);
  recording = false;
  graphs++;
  *graph = (cudaGraph_t)(void *)&it;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  static int it;
  (void)graph, (void)flags;
  execs++;
  *exec = (cudaGraphExec_t)(void *)&it;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  (void)graph;
  graphs--;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  (void)exec;
  execs--;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  (void)exec, (void)stream;
  ck_assert(!recording);
  clock_ms += recorded_ms;
  return cudaSuccess;
}

ep_status ep_cuda_fail(ep_error *error, cudaError_t code, const char *doing) {
  return ep_fail(error, EP_INTERNAL, "%s failed: %d", doing, (int)code);
}

/* --- cuBLASLt: four algorithms, the likeliest first ------------------------------------------- */

enum { ALGORITHMS = 4, NONE = -1 };

static float costs_ms[ALGORITHMS];
static size_t library_version = 120900;
static int broken = NONE;       /* an algorithm that does not run */
static int not_recorded = NONE; /* one that does not go into a graph */
static int refused = NONE;      /* one that the library no longer takes */
static int alone, together;     /* runs, and those of graphs */

size_t cublasLtGetVersion(void) {
  return library_version;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t blas, cublasLtMatmulDesc_t product,
                                       cublasLtMatrixLayout_t first, cublasLtMatrixLayout_t second,
                                       cublasLtMatrixLayout_t out, cublasLtMatrixLayout_t result,
                                       const cublasLtMatmulAlgo_t *algorithm,
                                       cublasLtMatmulHeuristicResult_t *found) {
  (void)blas, (void)product, (void)first, (void)second, (void)out, (void)result;
  memset(found, 0, sizeof *found);
  if (algorithm->data[0] >= ALGORITHMS || (int)algorithm->data[0] == refused)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  found->algo = *algorithm;
  return CUBLAS_STATUS_SUCCESS;
}

ep_status ep_cuda_gemm_describe(const ep_cuda_gemm_shape *shape, ep_cuda_gemm *gemm,
                                ep_error *error) {
  (void)error;
  memset(gemm, 0, sizeof *gemm);
  gemm->shape = *shape;
  return EP_OK;
}
ep_status ep_cuda_gemm_list(ep_backend *backend, const ep_cuda_gemm *gemm, size_t workspace_bytes,
                            int most, cublasLtMatmulHeuristicResult_t *found, int *count,
                            ep_error *error) {
  (void)backend, (void)gemm, (void)workspace_bytes, (void)error;
  ck_assert_int_ge(most, ALGORITHMS);
  memset(found, 0, ALGORITHMS * sizeof *found);
  for (int i = 0; i < ALGORITHMS; i++) found[i].algo.data[0] = (uint64_t)i;
  *count = ALGORITHMS;
  return EP_OK;
}
void ep_cuda_gemm_choose(ep_cuda_gemm *gemm, const cublasLtMatmulHeuristicResult_t *found) {
  gemm->algorithm = found->algo;
  gemm->workspace_bytes = found->workspaceSize;
}
uint32_t ep_cuda_gemm_alignment_bytes(const void *address) {
  return (uintptr_t)address % 16 == 0 ? 16 : 4;
}
ep_status ep_cuda_gemm_run(ep_backend *backend, const ep_cuda_gemm *gemm, void *workspace,
                           cudaStream_t stream, ep_error *error) {
  (void)backend, (void)workspace, (void)stream;
  const int algorithm = (int)gemm->algorithm.data[0];
  if (algorithm == broken || (recording && algorithm == not_recorded))
    return ep_fail(error, EP_DEVICE, "algorithm %d does not run", algorithm);
  *(recording ? &together : &alone) += 1;
  *(recording ? &recorded_ms : &clock_ms) += costs_ms[algorithm];
  return EP_OK;
}

/* --- the test ------------------------------------------------------------------------------- */

static ep_backend backend = {.gpu = {.multiprocessors = 132}, .name = "a GPU"};
static ep_cuda_gemm_shape shape = {.rows = 16, .columns = 317, .depth = 385};

static void costs_set(float first, float second, float third, float fourth) {
  const float costs[ALGORITHMS] = {first, second, third, fourth};
  memcpy(costs_ms, costs, sizeof costs);
}

/* Makes `fastest` the fastest from now on. */
static void fastest_set(int fastest) {
  for (int i = 0; i < ALGORITHMS; i++) costs_ms[i] = i == fastest ? 1 : 2;
}

static ep_status search(int *algorithm) {
  ep_cuda_gemm gemm;
  ep_status status = ep_cuda_gemm_search(&backend, &shape, NULL, 1024, NULL, &gemm, NULL);
  *algorithm = (int)gemm.algorithm.data[0];
  ck_assert(!recording);
  ck_assert_int_eq(graphs, 0);
  ck_assert_int_eq(execs, 0);
  ck_assert_int_eq(events, 0);
  return status;
}

static int found(void) {
  int algorithm;
  ck_assert_int_eq(search(&algorithm), EP_OK);
  return algorithm;
}

static int found_elsewhere(void) {
  return ep_elsewhere(found);
}

START_TEST(the_fastest_is_found_once) {
  fastest_set(2);
  ck_assert_int_eq(found(), 2);
  ck_assert_int_eq(alone, ALGORITHMS);
  ck_assert_int_gt(together, ALGORITHMS); /* a small product: several runs a timing */
  fastest_set(1);
  alone = together = 0;
  ck_assert_int_eq(found(), 2);
  ck_assert_int_eq(alone + together, 0);
}
END_TEST

START_TEST(two_devices_of_a_kind_compute_alike) {
  setenv("EPOCHD_CACHE_DIR", "/proc/none/at/all", 1);
  fastest_set(2);
  ck_assert_int_eq(found(), 2);
  fastest_set(1);
  backend.device = 1;
  ck_assert_int_eq(found(), 2);
  backend.device = 0;
  snprintf(backend.name, sizeof backend.name, "another GPU");
  ck_assert_int_eq(found(), 1);
  snprintf(backend.name, sizeof backend.name, "a GPU");
}
END_TEST

START_TEST(a_large_product_is_timed_run_by_run) {
  const ep_cuda_gemm_shape before = shape;
  shape.rows = shape.columns = shape.depth = 4096;
  fastest_set(3);
  ck_assert_int_eq(found(), 3);
  ck_assert_int_eq(alone, ALGORITHMS);
  ck_assert_int_eq(together, ALGORITHMS);
  shape = before;
}
END_TEST

START_TEST(a_likelier_one_stays_where_little_is_gained) {
  costs_set(1, 0.98F, 0.99F, 1);
  ck_assert_int_eq(found_elsewhere(), 0);
  shape.rows++;
  costs_set(1, 0.96F, 0.95F, 0.94F);
  ck_assert_int_eq(found_elsewhere(), 1);
  shape.rows--;
}
END_TEST

START_TEST(another_process_takes_what_was_found) {
  fastest_set(1);
  ck_assert_int_eq(found_elsewhere(), 1);
  fastest_set(2);
  ck_assert_int_eq(found_elsewhere(), 1);
  ck_assert_int_eq(found(), 1);
  ck_assert_int_eq(alone + together, 0);
}
END_TEST

START_TEST(another_library_device_or_shape_is_another_question) {
  fastest_set(1);
  ck_assert_int_eq(found_elsewhere(), 1);
  fastest_set(2);
  library_version++;
  ck_assert_int_eq(found_elsewhere(), 2);
  library_version--;
  backend.gpu.multiprocessors--;
  ck_assert_int_eq(found_elsewhere(), 2);
  backend.gpu.multiprocessors++;
  shape.tf32 = true;
  ck_assert_int_eq(found_elsewhere(), 2);
  shape.tf32 = false;
  shape.a = (const void *)(uintptr_t)4;
  ck_assert_int_eq(found_elsewhere(), 2);
  shape.a = NULL;
  ck_assert_int_eq(found_elsewhere(), 1);
}
END_TEST

START_TEST(what_the_library_does_not_take_is_searched_again) {
  fastest_set(1);
  ck_assert_int_eq(found_elsewhere(), 1);
  fastest_set(2);
  ck_assert_int_eq(found_elsewhere(), 1);
  refused = 1;
  ck_assert_int_eq(found_elsewhere(), 2);
}
END_TEST

START_TEST(a_damaged_file_is_searched_again) {
  fastest_set(1);
  ck_assert_int_eq(found_elsewhere(), 1);
  /* the first byte of the algorithm, in a file whose sum is wrong then */
  ck_assert_int_eq(
      ep_cache_folder_run(
          "for f in *; do printf 9 | dd of=$f bs=1 seek=24 conv=notrunc 2>/dev/null; done"),
      0);
  fastest_set(2);
  ck_assert_int_eq(found_elsewhere(), 2);
  fastest_set(3);
  ck_assert_int_eq(found_elsewhere(), 2);
}
END_TEST

START_TEST(what_does_not_run_is_passed_over) {
  fastest_set(1);
  broken = 1;
  costs_ms[3] = 1.5F;
  ck_assert_int_eq(found_elsewhere(), 3);
  broken = NONE;
  shape.rows++;
  not_recorded = 1;
  ck_assert_int_eq(found_elsewhere(), 3);
  shape.rows--;
}
END_TEST

EP_SUITE("cuda/gemm_search") {
  TCase *cases = ep_suite_case(suite, "kept algorithms");
  tcase_add_checked_fixture(cases, ep_cache_folder_make, ep_cache_folder_remove);
  tcase_add_test(cases, the_fastest_is_found_once);
  tcase_add_test(cases, two_devices_of_a_kind_compute_alike);
  tcase_add_test(cases, a_large_product_is_timed_run_by_run);
  tcase_add_test(cases, a_likelier_one_stays_where_little_is_gained);
  tcase_add_test(cases, another_process_takes_what_was_found);
  tcase_add_test(cases, another_library_device_or_shape_is_another_question);
  tcase_add_test(cases, what_the_library_does_not_take_is_searched_again);
  tcase_add_test(cases, a_damaged_file_is_searched_again);
  tcase_add_test(cases, what_does_not_run_is_passed_over);
}
