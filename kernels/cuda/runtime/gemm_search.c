/* gemm_search.c: which of cuBLASLt's algorithms is the fastest for a product, found once and kept
 * on disk, so that a worker that goes on with the job of one that died computes as that one did. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cache/cache.h"
#include "kernels/cuda/runtime/gemm.h"

/* The algorithms that are tried, and of a product that takes a tenth of a second and more; how
 * often each is timed; and the runs of one timing where a product has few operations: a run of them
 * takes some microseconds, and an event's time is known to half a one. */
enum { TRIES = 8, LARGE_TRIES = 3, TIMES = 3, SMALL_RUNS = 8 };
static const double SMALL_OPERATIONS = 1e9, LARGE_OPERATIONS = 5e12;

/* An algorithm takes the place of a likelier one where it takes so much of that one's time at most:
 * a smaller gain may be noise. */
static const float GAIN = 0.97F;

/* All that the choice depends on: the kind of the device, so that two of one kind compute alike,
 * and the shape, with what its addresses are multiples of instead of them. */
typedef struct {
  char device[128];
  size_t workspace_bytes;
  int64_t numbers[6];
  int flags[7];
  uint32_t alignments[4];
  int multiprocessors;
} question; /* without gaps: it is compared as bytes */

_Static_assert(sizeof(question) == 128 + sizeof(size_t) + 6 * sizeof(int64_t) + 12 * sizeof(int),
               "a question has no gaps");

typedef struct {
  question asked;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
} answer;

enum { REMEMBERED = 2048 }; /* older ones are read from disk again */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these three, and the search */
static answer answers[REMEMBERED];
static int answers_count, next;

static question question_of(const ep_backend *backend, const ep_cuda_gemm_shape *shape,
                            size_t workspace_bytes) {
  question asked;
  memset(&asked, 0, sizeof asked);
  memcpy(asked.device, backend->name, strnlen(backend->name, sizeof asked.device - 1));
  asked.multiprocessors = backend->gpu.multiprocessors;
  asked.workspace_bytes = workspace_bytes;
  const int64_t numbers[] = {shape->rows,    shape->columns, shape->depth,
                             shape->a_pitch, shape->b_pitch, shape->out_pitch};
  const int flags[] = {shape->transpose_a,   shape->transpose_b, shape->relu,          shape->tf32,
                       (int)shape->operands, (int)shape->result, shape->scales != NULL};
  const void *const addresses[] = {shape->a, shape->b, shape->bias, shape->out};
  memcpy(asked.numbers, numbers, sizeof numbers);
  memcpy(asked.flags, flags, sizeof flags);
  for (int i = 0; i < 4; i++)
    asked.alignments[i] = addresses[i] ? ep_cuda_gemm_alignment_bytes(addresses[i]) : 0;
  return asked;
}

/* What a timing needs. */
typedef struct {
  ep_backend *backend;
  void *workspace;
  cudaStream_t stream;
  cudaEvent_t events[TIMES + 1];
  int runs; /* of one timing */
} stopwatch;

static ep_status stopwatch_init(stopwatch *watch, ep_error *error) {
  for (int i = 0; i <= TIMES; i++)
    EP_CUDA_TRY(cudaEventCreate(&watch->events[i]), "making an event");
  return EP_OK;
}

static void stopwatch_deinit(stopwatch *watch) {
  for (int i = 0; i <= TIMES; i++)
    if (watch->events[i]) cudaEventDestroy(watch->events[i]);
}

/* The runs of one timing as a graph, as training has them: small products would otherwise be timed
 * by how fast the host queues them. */
static ep_status runs_record(const stopwatch *watch, const ep_cuda_gemm *gemm, cudaGraphExec_t *out,
                             ep_error *error) {
  cudaGraph_t recorded = NULL;
  *out = NULL;
  EP_CUDA_TRY(cudaStreamBeginCapture(watch->stream, cudaStreamCaptureModeThreadLocal),
              "recording a matrix product");
  ep_status status = EP_OK;
  for (int i = 0; i < watch->runs && status == EP_OK; i++)
    status = ep_cuda_gemm_run(watch->backend, gemm, watch->workspace, watch->stream, error);
  cudaError_t code = cudaStreamEndCapture(watch->stream, &recorded);
  if (status == EP_OK && code == cudaSuccess) code = cudaGraphInstantiate(out, recorded, 0);
  if (code != cudaSuccess) {
    *out = NULL;
    status = ep_cuda_fail(error, code, "recording a matrix product");
  }
  if (recorded) cudaGraphDestroy(recorded);
  return status;
}

/* Milliseconds of a launch, the least of a few. All are queued while the first is at work, so that
 * none waits for the host. */
static ep_status launches_time(const stopwatch *watch, cudaGraphExec_t exec, float *ms,
                               ep_error *error) {
  const char *const doing = "timing a matrix product";
  EP_CUDA_TRY(cudaGraphLaunch(exec, watch->stream), doing);
  for (int i = 0; i <= TIMES; i++) {
    EP_CUDA_TRY(cudaEventRecord(watch->events[i], watch->stream), doing);
    if (i < TIMES) EP_CUDA_TRY(cudaGraphLaunch(exec, watch->stream), doing);
  }
  EP_CUDA_TRY(cudaEventSynchronize(watch->events[TIMES]), doing);
  for (int i = 0; i < TIMES; i++) {
    float once = 0;
    EP_CUDA_TRY(cudaEventElapsedTime(&once, watch->events[i], watch->events[i + 1]), doing);
    if (i == 0 || once < *ms) *ms = once;
  }
  return EP_OK;
}

/* *ms stays as it was when the algorithm fails. */
static ep_status runs_time(const stopwatch *watch, const ep_cuda_gemm *gemm, float *ms,
                           ep_error *error) {
  /* The first run loads the kernel, which does not go into a graph. */
  if (ep_cuda_gemm_run(watch->backend, gemm, watch->workspace, watch->stream, NULL) != EP_OK)
    return EP_OK;
  cudaGraphExec_t exec;
  if (runs_record(watch, gemm, &exec, NULL) != EP_OK) return EP_OK;
  ep_status status = launches_time(watch, exec, ms, error);
  cudaGraphExecDestroy(exec);
  return status;
}

/* Leaves the fastest in *gemm. Where none can be timed, the first one's error is the search's. */
static ep_status fastest_find(const stopwatch *watch, ep_cuda_gemm *gemm,
                              const cublasLtMatmulHeuristicResult_t *found, int count,
                              ep_error *error) {
  int best = -1;
  float best_ms = 0;
  for (int i = 0; i < count; i++) {
    float ms = -1;
    ep_cuda_gemm_choose(gemm, &found[i]);
    ep_status status = runs_time(watch, gemm, &ms, error);
    if (status != EP_OK) return status;
    if (ms < 0 || (best >= 0 && ms > GAIN * best_ms)) continue;
    best = i;
    best_ms = ms;
  }
  ep_cuda_gemm_choose(gemm, &found[best < 0 ? 0 : best]);
  if (best >= 0) return EP_OK;
  return ep_cuda_gemm_run(watch->backend, gemm, watch->workspace, watch->stream, error);
}

static ep_status search(ep_backend *backend, ep_cuda_gemm *gemm, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream, ep_error *error) {
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  const double operations =
      2.0 * (double)shape->rows * (double)shape->columns * (double)shape->depth;
  const bool small = operations < SMALL_OPERATIONS;
  const int tries = operations < LARGE_OPERATIONS ? TRIES : LARGE_TRIES;
  cublasLtMatmulHeuristicResult_t found[TRIES];
  int count;
  ep_status status = ep_cuda_gemm_list(backend, gemm, workspace_bytes, tries, found, &count, error);
  if (status != EP_OK) return status;
  ep_cuda_gemm_choose(gemm, &found[0]);
  if (count == 1) return EP_OK;
  stopwatch watch = {
      .backend = backend, .workspace = workspace, .stream = stream, .runs = small ? SMALL_RUNS : 1};
  status = stopwatch_init(&watch, error);
  if (status == EP_OK) status = fastest_find(&watch, gemm, found, count, error);
  stopwatch_deinit(&watch);
  return status;
}

/* --- what is known ------------------------------------------------------------------------- */

/* Of the question, the device and the library: cuBLASLt takes an algorithm's bytes back where its
 * version is the same. */
static ep_cache_key key_of(const question *asked) {
  ep_cache_key key = ep_cache_key_start();
  ep_cache_key_add(&key, "the fastest of cuBLASLt");
  ep_cache_key_add(&key, asked->device);
  ep_cache_key_add_number(&key, (int64_t)cublasLtGetVersion());
  ep_cache_key_add_number(&key, asked->multiprocessors);
  ep_cache_key_add_number(&key, (int64_t)asked->workspace_bytes);
  for (size_t i = 0; i < sizeof asked->numbers / sizeof *asked->numbers; i++)
    ep_cache_key_add_number(&key, asked->numbers[i]);
  for (size_t i = 0; i < sizeof asked->flags / sizeof *asked->flags; i++)
    ep_cache_key_add_number(&key, asked->flags[i]);
  for (size_t i = 0; i < sizeof asked->alignments / sizeof *asked->alignments; i++)
    ep_cache_key_add_number(&key, asked->alignments[i]);
  return key;
}

/* Whether another process found it, and the library still takes it; else *gemm stays as it is. */
static bool cache_read(const ep_backend *backend, const question *asked, ep_cuda_gemm *gemm) {
  ep_cache_key key = key_of(asked);
  cublasLtMatmulHeuristicResult_t found;
  cublasLtMatmulAlgo_t algorithm;
  size_t bytes;
  char *kept = ep_cache_read(&key, &bytes);
  bool whole = kept && bytes == sizeof algorithm;
  if (whole) memcpy(&algorithm, kept, bytes);
  free(kept);
  if (!whole ||
      cublasLtMatmulAlgoCheck(backend->blas, gemm->product, gemm->first, gemm->second, gemm->out,
                              gemm->out, &algorithm, &found) != CUBLAS_STATUS_SUCCESS ||
      found.workspaceSize > asked->workspace_bytes)
    return false;
  gemm->algorithm = algorithm;
  gemm->workspace_bytes = found.workspaceSize;
  return true;
}

static void cache_write(const question *asked, const ep_cuda_gemm *gemm) {
  ep_cache_key key = key_of(asked);
  ep_cache_write(&key, (const char *)&gemm->algorithm, sizeof gemm->algorithm);
}

/* Whether it was asked before. */
static bool recall(const question *asked, ep_cuda_gemm *gemm) {
  for (const answer *row = answers; row < answers + answers_count; row++) {
    if (memcmp(&row->asked, asked, sizeof *asked) != 0) continue;
    gemm->algorithm = row->algorithm;
    gemm->workspace_bytes = row->workspace_bytes;
    return true;
  }
  return false;
}

static void remember(const question *asked, const ep_cuda_gemm *gemm) {
  answer *row = &answers[next];
  next = (next + 1) % REMEMBERED;
  if (answers_count < REMEMBERED) answers_count++;
  memcpy(&row->asked, asked, sizeof *asked);
  row->algorithm = gemm->algorithm;
  row->workspace_bytes = gemm->workspace_bytes;
}

ep_status ep_cuda_gemm_search(ep_backend *backend, const ep_cuda_gemm_shape *shape, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream, ep_cuda_gemm *gemm,
                              ep_error *error) {
  ep_status status = ep_cuda_gemm_describe(shape, gemm, error);
  if (status != EP_OK) return status;
  question asked = question_of(backend, shape, workspace_bytes);
  pthread_mutex_lock(&mutex);
  if (!recall(&asked, gemm)) {
    if (!cache_read(backend, &asked, gemm)) {
      status = search(backend, gemm, workspace, workspace_bytes, stream, error);
      /* Of processes that searched at the same time, the first mostly says what all take. */
      if (status == EP_OK && !cache_read(backend, &asked, gemm)) cache_write(&asked, gemm);
    }
    if (status == EP_OK) remember(&asked, gemm);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}
