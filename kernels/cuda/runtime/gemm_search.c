/* gemm_search.c: which of cuBLASLt's algorithms is the fastest for a product, found once and kept
 * on disk, so that a worker that goes on with the job of one that died computes as that one did. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cache/cache.h"
#include "kernels/cuda/runtime/gemm.h"

/* Products of fewer operations take the best guess: the search would cost more than it gains. */
static const double SEARCHED_OPERATIONS = 1e9;
enum { TRIES = 8, TIMES = 3 };

/* All that the choice depends on: the shape, with what its addresses are multiples of instead of
 * them. */
typedef struct {
  int device;
  size_t workspace_bytes;
  int64_t numbers[6];
  int flags[7];
  uint32_t alignments[4];
} question;

typedef struct answer {
  struct answer *next;
  question asked;
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace_bytes;
} answer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and the search */
static answer *answers;

static question question_of(const ep_backend *backend, const ep_cuda_gemm_shape *shape,
                            size_t workspace_bytes) {
  question asked;
  memset(&asked, 0, sizeof asked); /* gaps too: it is compared as bytes */
  asked.device = backend->device;
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

/* Milliseconds of a run, the least of a few; *ms stays as it was when the algorithm fails. */
static ep_status run_time(ep_backend *backend, const ep_cuda_gemm *gemm, void *workspace,
                          cudaStream_t stream, const cudaEvent_t events[2], float *ms,
                          ep_error *error) {
  float least = 0;
  for (int i = 0; i <= TIMES; i++) { /* the first loads the kernel */
    float once = 0;
    EP_CUDA_TRY(cudaEventRecord(events[0], stream), "timing a matrix product");
    if (ep_cuda_gemm_run(backend, gemm, workspace, stream, NULL) != EP_OK) return EP_OK;
    EP_CUDA_TRY(cudaEventRecord(events[1], stream), "timing a matrix product");
    EP_CUDA_TRY(cudaEventSynchronize(events[1]), "timing a matrix product");
    EP_CUDA_TRY(cudaEventElapsedTime(&once, events[0], events[1]), "timing a matrix product");
    if (i == 1 || (i > 1 && once < least)) least = once;
  }
  *ms = least;
  return EP_OK;
}

/* Leaves the fastest in *gemm. */
static ep_status fastest_find(ep_backend *backend, ep_cuda_gemm *gemm, void *workspace,
                              cudaStream_t stream, const cublasLtMatmulHeuristicResult_t *found,
                              int count, const cudaEvent_t events[2], ep_error *error) {
  int best = -1;
  float best_ms = 0;
  for (int i = 0; i < count; i++) {
    float ms = -1;
    ep_cuda_gemm_choose(gemm, &found[i]);
    ep_status status = run_time(backend, gemm, workspace, stream, events, &ms, error);
    if (status != EP_OK) return status;
    if (ms < 0 || (best >= 0 && ms >= best_ms)) continue;
    best = i;
    best_ms = ms;
  }
  if (best < 0) return ep_fail(error, EP_INTERNAL, "no algorithm for a matrix product works");
  ep_cuda_gemm_choose(gemm, &found[best]);
  return EP_OK;
}

static ep_status search(ep_backend *backend, ep_cuda_gemm *gemm, void *workspace,
                        size_t workspace_bytes, cudaStream_t stream, ep_error *error) {
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  bool large = 2.0 * (double)shape->rows * (double)shape->columns * (double)shape->depth >=
               SEARCHED_OPERATIONS;
  cublasLtMatmulHeuristicResult_t found[TRIES];
  int count;
  ep_status status =
      ep_cuda_gemm_list(backend, gemm, workspace_bytes, large ? TRIES : 1, found, &count, error);
  if (status != EP_OK) return status;
  ep_cuda_gemm_choose(gemm, &found[0]);
  if (count == 1) return EP_OK;
  cudaEvent_t events[2] = {NULL, NULL};
  cudaError_t code = cudaEventCreate(&events[0]);
  if (code == cudaSuccess) code = cudaEventCreate(&events[1]);
  if (code != cudaSuccess)
    status = ep_cuda_fail(error, code, "making an event");
  else
    status = fastest_find(backend, gemm, workspace, stream, found, count, events, error);
  for (int i = 0; i < 2; i++)
    if (events[i]) cudaEventDestroy(events[i]);
  return status;
}

/* --- what is known ------------------------------------------------------------------------- */

/* Of the question, the device and the library: cuBLASLt takes an algorithm's bytes back where its
 * version is the same. */
static ep_cache_key key_of(const ep_backend *backend, const question *asked) {
  ep_cache_key key = ep_cache_key_start();
  ep_cache_key_add(&key, "cuBLASLt");
  ep_cache_key_add(&key, backend->name);
  ep_cache_key_add_number(&key, (int64_t)cublasLtGetVersion());
  ep_cache_key_add_number(&key, backend->gpu.multiprocessors);
  ep_cache_key_add_number(&key, (int64_t)asked->workspace_bytes);
  for (size_t i = 0; i < sizeof asked->numbers / sizeof *asked->numbers; i++)
    ep_cache_key_add_number(&key, asked->numbers[i]);
  for (size_t i = 0; i < sizeof asked->flags / sizeof *asked->flags; i++)
    ep_cache_key_add_number(&key, asked->flags[i]);
  for (size_t i = 0; i < sizeof asked->alignments / sizeof *asked->alignments; i++)
    ep_cache_key_add_number(&key, asked->alignments[i]);
  return key;
}

/* Whether another process found it, and the library still takes it. */
static bool cache_read(const ep_backend *backend, const question *asked, ep_cuda_gemm *gemm) {
  ep_cache_key key = key_of(backend, asked);
  cublasLtMatmulHeuristicResult_t found;
  size_t bytes;
  char *kept = ep_cache_read(&key, &bytes);
  bool whole = kept && bytes == sizeof gemm->algorithm;
  if (whole) memcpy(&gemm->algorithm, kept, bytes);
  free(kept);
  if (!whole ||
      cublasLtMatmulAlgoCheck(backend->blas, gemm->product, gemm->first, gemm->second, gemm->out,
                              gemm->out, &gemm->algorithm, &found) != CUBLAS_STATUS_SUCCESS)
    return false;
  gemm->workspace_bytes = found.workspaceSize;
  return found.workspaceSize <= asked->workspace_bytes;
}

static void cache_write(const ep_backend *backend, const question *asked,
                        const ep_cuda_gemm *gemm) {
  ep_cache_key key = key_of(backend, asked);
  ep_cache_write(&key, (const char *)&gemm->algorithm, sizeof gemm->algorithm);
}

/* Whether it was asked before. */
static bool recall(const question *asked, ep_cuda_gemm *gemm) {
  for (const answer *row = answers; row; row = row->next) {
    if (memcmp(&row->asked, asked, sizeof *asked) != 0) continue;
    gemm->algorithm = row->algorithm;
    gemm->workspace_bytes = row->workspace_bytes;
    return true;
  }
  return false;
}

static ep_status remember(const question *asked, const ep_cuda_gemm *gemm, ep_error *error) {
  answer *row = calloc(1, sizeof *row);
  if (!row) return ep_fail(error, EP_NO_MEMORY, "no memory for a matrix product's algorithm");
  *row = (answer){answers, *asked, gemm->algorithm, gemm->workspace_bytes};
  memcpy(&row->asked, asked, sizeof *asked);
  answers = row;
  return EP_OK;
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
      if (status == EP_OK) cache_write(backend, &asked, gemm);
    }
    if (status == EP_OK) status = remember(&asked, gemm, error);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}
