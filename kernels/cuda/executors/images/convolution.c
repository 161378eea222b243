#include "kernels/cuda/executors/images/convolution.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cache/cache.h"
#include "kernels/cuda/executors/images/plans.h"

bool ep_convolutions_exist(void) {
  return ep_cudnn() != NULL;
}

/* One more costs some 10 ms where its kernel is not loaded yet, and some tenths of a second where
 * it is compiled; the best is among the first. */
enum { TRIES = 8, COMPILED_TRIES = 3, TIMES = 3 };

/* --- the state of the library --------------------------------------------------------------- */

/* A plan that works, and is the fastest of those that were tried for a shape. */
typedef struct answer {
  struct answer *next;
  ep_convolution_shape shape;
  int device;
  cudnnBackendDescriptor_t plan;
  int users; /* convolutions that run it */
} answer;

/* One handle a device serves all threads and streams, each in its turn: it is busy only while work
 * is queued, and work is queued once, into a graph. Detected format stays for those who come back,
 * up to a ceiling. */
typedef struct library {
  struct library *next;
  int device;
  cudnnHandle_t handle;
} library;

enum { ANSWERS_MOST = 512 }; /* several networks' worth; a plan takes some kilobytes */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all of these */
static library *libraries;
static answer *answers;
static int answers_count;

static ep_status library_get(int device, cudnnHandle_t *handle, ep_error *error) {
  for (const library *row = libraries; row; row = row->next)
    if (row->device == device) {
      *handle = row->handle;
      return EP_OK;
    }
  if (!ep_cudnn()) return ep_fail(error, EP_UNSUPPORTED, "cuDNN is not installed");
  library *row = calloc(1, sizeof *row);
  if (!row) return ep_fail(error, EP_NO_MEMORY, "no memory for a library");
  *row = (library){.next = libraries, .device = device};
  cudnnStatus_t code = ep_cudnn()->open(&row->handle);
  if (code != CUDNN_STATUS_SUCCESS) {
    free(row);
    return ep_cudnn_fail(code, "starting cuDNN", error);
  }
  libraries = row;
  *handle = row->handle;
  return EP_OK;
}

/* --- search ---------------------------------------------------------------------------------- */

/* A search under way. */
typedef struct {
  cudnnHandle_t handle;
  cudaStream_t stream;
  cudnnBackendDescriptor_t pack;
  cudaEvent_t events[2];
  float best_ms;
  bool best_has_tensor_cores;
} contest;

/* Milliseconds, the least of a few; negative when it does not work. */
static ep_status plan_time(const contest *c, cudnnBackendDescriptor_t plan, float *ms,
                           ep_error *error) {
  *ms = -1;
  for (int i = 0; i <= TIMES; i++) { /* the first loads the kernel */
    float once;
    EP_CUDA_TRY(cudaEventRecord(c->events[0], c->stream), "timing a convolution");
    if (ep_cudnn()->execute(c->handle, plan, c->pack) != CUDNN_STATUS_SUCCESS) {
      *ms = -1;
      return EP_OK;
    }
    EP_CUDA_TRY(cudaEventRecord(c->events[1], c->stream), "timing a convolution");
    EP_CUDA_TRY(cudaEventSynchronize(c->events[1]), "timing a convolution");
    EP_CUDA_TRY(cudaEventElapsedTime(&once, c->events[0], c->events[1]), "timing a convolution");
    if (i == 1 || (i > 1 && once < *ms)) *ms = once;
  }
  return EP_OK;
}

/* Leaves the candidate's plan in *best when it is the fastest so far. *tries: counts those that
 * work. */
static ep_status candidate_try(contest *c, cudnnBackendDescriptor_t candidate,
                               bool has_tensor_cores, cudnnBackendDescriptor_t *best, int *tries,
                               ep_error *error) {
  cudnnBackendDescriptor_t plan;
  float ms;
  if (!ep_plan_make(c->handle, candidate, &plan)) return EP_OK;
  ep_status status = plan_time(c, plan, &ms, error);
  if (status == EP_OK && ms >= 0) ++*tries;
  if (status == EP_OK && ms >= 0 && (!*best || ms < c->best_ms)) {
    cudnnBackendDescriptor_t slower = *best;
    *best = plan;
    plan = slower;
    c->best_ms = ms;
    c->best_has_tensor_cores = has_tensor_cores;
  }
  ep_cudnn_destroy(plan);
  return status;
}

static ep_status fastest_find(contest *c, const ep_plan_list *all, bool ready,
                              cudnnBackendDescriptor_t *best, ep_error *error) {
  const int most = ready || !*best ? TRIES : COMPILED_TRIES;
  ep_status status = EP_OK;
  int tries = 0;
  for (int64_t i = 0; status == EP_OK && i < all->count && tries < most; i++) {
    const ep_plan_kind kind = ep_plan_kind_of(all->rows[i]);
    if (!kind.suits || kind.ready != ready) continue;
    if (*best && !ready && !kind.has_tensor_cores) continue;
    status = candidate_try(c, all->rows[i], kind.has_tensor_cores, best, &tries, error);
  }
  return status;
}

/* First among what is ready, then among what is compiled, until there is one with tensor cores:
 * others may take five times as long. *best: NULL when none of them works. */
static ep_status contest_run(contest *c, const ep_plans *plans, cudnnBackendDescriptor_t *best,
                             ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < 2 * EP_PLANS_LISTS && status == EP_OK; i++) {
    if (*best && c->best_has_tensor_cores) break;
    status = fastest_find(c, &plans->lists[i % EP_PLANS_LISTS], i < EP_PLANS_LISTS, best, error);
  }
  return status;
}

/* *plan: the caller's. */
static ep_status search(cudnnHandle_t handle, cudaStream_t stream,
                        const ep_convolution_shape *shape, cudnnBackendDescriptor_t pack,
                        cudnnBackendDescriptor_t *plan, ep_error *error) {
  contest c = {.handle = handle, .stream = stream, .pack = pack};
  ep_plans plans;
  *plan = NULL;
  memset(&plans, 0, sizeof plans);
  cudaError_t code = cudaEventCreate(&c.events[0]);
  if (code == cudaSuccess) code = cudaEventCreate(&c.events[1]);
  ep_status status = code == cudaSuccess ? ep_plans_init(handle, shape, &plans, error)
                                         : ep_cuda_fail(error, code, "making an event");
  if (status == EP_OK) status = contest_run(&c, &plans, plan, error);
  if (status == EP_OK && !*plan)
    status =
        ep_fail(error, EP_UNSUPPORTED, "cuDNN has no algorithm for a convolution of %lld channels",
                (long long)shape->in.channels);
  if (status != EP_OK) ep_cudnn_destroy(*plan);
  ep_plans_deinit(&plans);
  for (int i = 0; i < 2; i++)
    if (c.events[i]) cudaEventDestroy(c.events[i]);
  return status;
}

/* --- what was found -------------------------------------------------------------------------- */

/* Field by field: what lies between them has no value. */
static bool shapes_same(const ep_convolution_shape *a, const ep_convolution_shape *b) {
  return a->way == b->way && a->half == b->half && a->rows == b->rows &&
         memcmp(&a->in, &b->in, sizeof a->in) == 0 &&
         memcmp(&a->out, &b->out, sizeof a->out) == 0 &&
         memcmp(a->kernel, b->kernel, sizeof a->kernel) == 0 &&
         memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
         memcmp(a->padding, b->padding, sizeof a->padding) == 0 &&
         memcmp(a->dilation, b->dilation, sizeof a->dilation) == 0;
}

static answer *recall(const ep_convolution_shape *shape, int device) {
  for (answer *row = answers; row; row = row->next)
    if (row->device == device && shapes_same(&row->shape, shape)) return row;
  return NULL;
}

/* Makes room by what was found longest ago and nobody runs. */
static void forget(void) {
  answer **oldest = NULL;
  for (answer **row = &answers; *row; row = &(*row)->next)
    if ((*row)->users == 0) oldest = row;
  if (!oldest) return;
  answer *row = *oldest;
  *oldest = row->next;
  ep_cudnn_destroy(row->plan);
  free(row);
  answers_count--;
}

/* Takes the plan. */
static ep_status remember(const ep_convolution_shape *shape, int device,
                          cudnnBackendDescriptor_t plan, answer **out, ep_error *error) {
  if (answers_count >= ANSWERS_MOST) forget();
  answer *row = calloc(1, sizeof *row);
  if (!row) {
    ep_cudnn_destroy(plan);
    return ep_fail(error, EP_NO_MEMORY, "no memory for a convolution's algorithm");
  }
  *row = (answer){.next = answers, .shape = *shape, .device = device, .plan = plan};
  answers = *out = row;
  answers_count++;
  return EP_OK;
}

/* Of the question, the device and the library. */
static ep_cache_key key_of(const ep_backend *backend, const ep_convolution_shape *shape) {
  const int64_t numbers[] = {(int64_t)ep_cudnn()->version(),
                             backend->gpu.multiprocessors,
                             (int64_t)shape->way,
                             shape->half,
                             shape->rows,
                             shape->in.channels,
                             shape->in.height,
                             shape->in.width,
                             shape->out.channels,
                             shape->out.height,
                             shape->out.width,
                             shape->kernel[0],
                             shape->kernel[1],
                             shape->stride[0],
                             shape->stride[1],
                             shape->padding[0],
                             shape->padding[1],
                             shape->dilation[0],
                             shape->dilation[1]};
  ep_cache_key key = ep_cache_key_start();
  ep_cache_key_add(&key, "cuDNN 2"); /* 1: others without tensor cores were kept */
  ep_cache_key_add(&key, backend->name);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    ep_cache_key_add_number(&key, numbers[i]);
  return key;
}

/* The plan that another process found, which works here too; *plan is the caller's. */
static bool cache_read(const ep_convolution *convolution, const ep_convolution_shape *shape,
                       cudnnHandle_t handle, cudnnBackendDescriptor_t *plan) {
  ep_cache_key key = key_of(convolution->backend, shape);
  size_t bytes;
  char *text = ep_cache_read(&key, &bytes);
  bool works = text && ep_plan_read(handle, text, bytes, plan);
  free(text);
  if (works && ep_cudnn()->execute(handle, *plan, convolution->pack) != CUDNN_STATUS_SUCCESS) {
    ep_cudnn_destroy(*plan);
    works = false;
  }
  return works;
}

static void cache_write(const ep_backend *backend, const ep_convolution_shape *shape,
                        cudnnBackendDescriptor_t plan) {
  ep_cache_key key = key_of(backend, shape);
  size_t bytes;
  char *text = ep_plan_write(plan, &bytes);
  if (text) ep_cache_write(&key, text, bytes);
  free(text);
}

/* With the mutex. */
static ep_status answer_get(const ep_convolution *convolution, const ep_convolution_shape *shape,
                            cudnnHandle_t handle, answer **out, ep_error *error) {
  const int device = convolution->backend->device;
  cudnnBackendDescriptor_t plan;
  *out = recall(shape, device);
  if (*out) return EP_OK;
  cudnnStatus_t code = ep_cudnn()->stream(handle, convolution->stream);
  if (code != CUDNN_STATUS_SUCCESS) return ep_cudnn_fail(code, "choosing a stream", error);
  if (!cache_read(convolution, shape, handle, &plan)) {
    ep_status status = search(handle, convolution->stream, shape, convolution->pack, &plan, error);
    if (status != EP_OK) return status;
    cache_write(convolution->backend, shape, plan);
  }
  return remember(shape, device, plan, out, error);
}

/* --- a convolution --------------------------------------------------------------------------- */

ep_status ep_convolution_init(ep_backend *backend, cudaStream_t stream,
                              const ep_convolution_shape *shape, const void *x, const void *w,
                              const void *y, void *workspace, ep_convolution *out,
                              ep_error *error) {
  cudnnHandle_t handle = NULL;
  answer *found = NULL;
  *out = (ep_convolution){.backend = backend, .stream = stream};
  pthread_mutex_lock(&mutex);
  ep_status status = library_get(backend->device, &handle, error);
  if (status == EP_OK) status = ep_plan_pack_make(x, w, y, workspace, &out->pack, error);
  if (status == EP_OK) status = answer_get(out, shape, handle, &found, error);
  if (status == EP_OK) {
    out->handle = handle;
    out->answer = found;
    found->users++;
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

void ep_convolution_deinit(ep_convolution *convolution) {
  pthread_mutex_lock(&mutex);
  if (convolution->answer) ((answer *)convolution->answer)->users--;
  pthread_mutex_unlock(&mutex);
  ep_cudnn_destroy(convolution->pack);
  *convolution = (ep_convolution){.pack = NULL};
}

ep_status ep_convolution_run(const ep_convolution *convolution, ep_error *error) {
  const answer *found = convolution->answer;
  pthread_mutex_lock(&mutex);
  cudnnStatus_t code = ep_cudnn()->stream(convolution->handle, convolution->stream);
  if (code == CUDNN_STATUS_SUCCESS)
    code = ep_cudnn()->execute(convolution->handle, found->plan, convolution->pack);
  pthread_mutex_unlock(&mutex);
  return code == CUDNN_STATUS_SUCCESS ? EP_OK : ep_cudnn_fail(code, "a convolution", error);
}
