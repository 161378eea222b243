#include "kernels/cuda/images/convolution.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/images/library.h"

struct ep_convolutions {
  const ep_backend *backend; /* lent */
  cudaStream_t stream;       /* lent */
  const ep_cudnn_calls *calls;
  cudnnHandle_t handle;
};

static ep_status fail(cudnnStatus_t code, const char *doing, ep_error *error) {
  cudaError_t said = cudaPeekAtLastError();
  if (said != cudaSuccess) return ep_cuda_fail(error, said, doing);
  return ep_fail(error, EP_INTERNAL, "%s failed: %s", doing, ep_cudnn()->text(code));
}

#define TRY(call, doing)                                                 \
  do {                                                                   \
    cudnnStatus_t code_ = (call);                                        \
    if (code_ != CUDNN_STATUS_SUCCESS) return fail(code_, doing, error); \
  } while (0)

bool ep_convolutions_exist(void) {
  return ep_cudnn() != NULL;
}

ep_status ep_convolutions_open(ep_backend *backend, cudaStream_t stream, ep_convolutions **out,
                               ep_error *error) {
  *out = NULL;
  const ep_cudnn_calls *calls = ep_cudnn();
  if (!calls) return ep_fail(error, EP_UNSUPPORTED, "cuDNN is not installed");
  ep_convolutions *library = calloc(1, sizeof *library);
  if (!library) return ep_fail(error, EP_NO_MEMORY, "no memory for a library");
  *library = (ep_convolutions){.backend = backend, .stream = stream, .calls = calls};
  cudnnStatus_t code = calls->open(&library->handle);
  if (code == CUDNN_STATUS_SUCCESS) code = calls->stream(library->handle, stream);
  if (code != CUDNN_STATUS_SUCCESS) {
    ep_status status = fail(code, "starting cuDNN", error);
    ep_convolutions_close(library);
    return status;
  }
  *out = library;
  return EP_OK;
}

void ep_convolutions_close(ep_convolutions *library) {
  if (!library) return;
  if (library->handle) library->calls->close(library->handle);
  free(library);
}

/* --- descriptors ----------------------------------------------------------------------------- */

/* Those of one description, in the order in which they were made: a few tensors, the convolution,
 * the operation, its graph, and what the heuristics say. */
enum { DESCRIPTORS_MOST = 8 };
typedef struct {
  ep_convolutions *library;
  cudnnBackendDescriptor_t all[DESCRIPTORS_MOST];
  int count;
} description;

static void destroy(cudnnBackendDescriptor_t descriptor) {
  if (descriptor) ep_cudnn()->destroy(descriptor);
}

static void description_deinit(description *d) {
  while (d->count > 0) destroy(d->all[--d->count]);
}

static ep_status begin(description *d, cudnnBackendDescriptorType_t type,
                       cudnnBackendDescriptor_t *out, ep_error *error) {
  TRY(d->library->calls->create(type, out), "describing a convolution");
  d->all[d->count++] = *out;
  return EP_OK;
}

typedef struct {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
  const void *values;
} attribute;

/* Sets all attributes and seals the descriptor. */
static ep_status seal(const description *d, cudnnBackendDescriptor_t descriptor,
                      const attribute *rows, size_t count, ep_error *error) {
  for (size_t i = 0; i < count; i++)
    TRY(d->library->calls->set(descriptor, rows[i].name, rows[i].type, rows[i].count,
                               rows[i].values),
        "describing a convolution");
  TRY(d->library->calls->finalize(descriptor), "describing a convolution");
  return EP_OK;
}
#define SEAL(d, descriptor, rows) seal(d, descriptor, rows, sizeof(rows) / sizeof *(rows), error)

/* Names of the tensors among each other. */
enum { X = 'x', W = 'w', Y = 'y' };

/* dimensions: [n, channels, height, width], whatever the layout. */
static ep_status tensor_describe(description *d, int64_t name, const int64_t dimensions[4],
                                 bool half, cudnnBackendDescriptor_t *out, ep_error *error) {
  const int64_t c = dimensions[1], width = dimensions[3], alignment = 16;
  const int64_t strides[4] = {c * dimensions[2] * width, 1, c * width, c};
  const cudnnDataType_t type = half ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
  const attribute rows[] = {
      {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dimensions},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides},
      {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &name},
      {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment},
  };
  ep_status status = begin(d, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out, error);
  return status == EP_OK ? SEAL(d, *out, rows) : status;
}

static ep_status window_describe(description *d, const ep_convolution_shape *shape,
                                 cudnnBackendDescriptor_t *out, ep_error *error) {
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const int64_t sides = 2;
  const int64_t stride[] = {shape->stride[0], shape->stride[1]};
  const int64_t padding[] = {shape->padding[0], shape->padding[1]};
  const int64_t dilation[] = {shape->dilation[0], shape->dilation[1]};
  const attribute rows[] = {
      {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums},
      {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
      {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &sides},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, padding},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, padding},
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation},
  };
  ep_status status = begin(d, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out, error);
  return status == EP_OK ? SEAL(d, *out, rows) : status;
}

/* What cuDNN calls each way, and what the operation names. */
static const struct {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t window, x, w, y, alpha, beta;
} WAYS[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

/* The graph of the one operation, in *out. */
static ep_status graph_describe(description *d, const ep_convolution_shape *shape,
                                cudnnBackendDescriptor_t *out, ep_error *error) {
  const bool half = shape->precision == EP_PRECISION_BF16;
  const ep_shape in = shape->in, to = shape->out;
  const int64_t x[] = {shape->rows, in.channels, in.height, in.width};
  const int64_t w[] = {to.channels, in.channels, shape->kernel[0], shape->kernel[1]};
  const int64_t y[] = {shape->rows, to.channels, to.height, to.width};
  const float one = 1, zero = 0;
  cudnnBackendDescriptor_t tensors[3], window, operation;
  ep_status status = tensor_describe(d, X, x, half, &tensors[0], error);
  if (status == EP_OK) status = tensor_describe(d, W, w, half, &tensors[1], error);
  if (status == EP_OK) status = tensor_describe(d, Y, y, half, &tensors[2], error);
  if (status == EP_OK) status = window_describe(d, shape, &window, error);
  if (status == EP_OK) status = begin(d, WAYS[shape->way].type, &operation, error);
  if (status != EP_OK) return status;
  const attribute rows[] = {
      {WAYS[shape->way].window, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &window},
      {WAYS[shape->way].x, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[0]},
      {WAYS[shape->way].w, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[1]},
      {WAYS[shape->way].y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &tensors[2]},
      {WAYS[shape->way].alpha, CUDNN_TYPE_FLOAT, 1, &one},
      {WAYS[shape->way].beta, CUDNN_TYPE_FLOAT, 1, &zero},
  };
  status = SEAL(d, operation, rows);
  if (status == EP_OK) status = begin(d, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out, error);
  if (status != EP_OK) return status;
  const attribute graph[] = {
      {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->library->handle},
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation},
  };
  return SEAL(d, *out, graph);
}

/* --- algorithms ------------------------------------------------------------------------------ */

/* One more costs some 10 ms where its kernel is not loaded yet; the best is among the first. */
enum { CANDIDATES = 16, TRIES = 8, TIMES = 3 };

/* What cuDNN would try, the likeliest first. */
typedef struct {
  cudnnBackendDescriptor_t rows[CANDIDATES]; /* engine configurations */
  int64_t count;
} candidates;

static void candidates_deinit(candidates *all) {
  for (int i = 0; i < CANDIDATES; i++) destroy(all->rows[i]);
}

static ep_status candidates_list(description *d, cudnnBackendDescriptor_t graph,
                                 cudnnBackendHeurMode_t mode, candidates *out, ep_error *error) {
  const ep_cudnn_calls *calls = d->library->calls;
  cudnnBackendDescriptor_t heuristics;
  memset(out, 0, sizeof *out);
  ep_status status = begin(d, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics, error);
  if (status != EP_OK) return status;
  const attribute rows[] = {
      {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
      {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode},
  };
  status = SEAL(d, heuristics, rows);
  for (int i = 0; status == EP_OK && i < CANDIDATES; i++)
    TRY(calls->create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &out->rows[i]),
        "listing algorithms of a convolution");
  if (status != EP_OK) return status;
  TRY(calls->get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 CANDIDATES, &out->count, out->rows),
      "listing algorithms of a convolution");
  if (out->count > CANDIDATES) out->count = CANDIDATES;
  return EP_OK;
}

/* Whether a candidate sums in one order, in float32, and drops no bits that must stay. */
static bool is_exact(const ep_cudnn_calls *calls, cudnnBackendDescriptor_t engine,
                     ep_precision precision) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t count = 0;
  if (calls->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS)
    return false;
  for (int64_t i = 0; i < count; i++) switch (notes[i]) {
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: break;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      if (precision == EP_PRECISION_FP32) return false;
      break;
    default: return false;
    }
  return true;
}

/* Whether its kernel comes with the library: compiling one takes some tenths of a second. */
static bool is_ready(const ep_cudnn_calls *calls, cudnnBackendDescriptor_t engine) {
  cudnnBackendBehaviorNote_t notes[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  int64_t count = 0;
  if (calls->get(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                 CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS)
    return false;
  for (int64_t i = 0; i < count; i++)
    if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) return false;
  return true;
}

static bool suits(const ep_cudnn_calls *calls, cudnnBackendDescriptor_t candidate,
                  ep_precision precision, bool ready) {
  cudnnBackendDescriptor_t engine = NULL;
  int64_t count;
  bool good = calls->create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) == CUDNN_STATUS_SUCCESS &&
              calls->get(candidate, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                         &count, &engine) == CUDNN_STATUS_SUCCESS &&
              is_exact(calls, engine, precision) && is_ready(calls, engine) == ready;
  destroy(engine);
  return good;
}

/* The candidate as something to run; false when it does not do, here or at all. */
static bool plan_make(ep_convolutions *library, cudnnBackendDescriptor_t candidate,
                      cudnnBackendDescriptor_t *plan) {
  const ep_cudnn_calls *calls = library->calls;
  int64_t bytes = 0, count;
  *plan = NULL;
  if (calls->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, plan) == CUDNN_STATUS_SUCCESS &&
      calls->set(*plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &library->handle) ==
          CUDNN_STATUS_SUCCESS &&
      calls->set(*plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                 &candidate) == CUDNN_STATUS_SUCCESS &&
      calls->finalize(*plan) == CUDNN_STATUS_SUCCESS &&
      calls->get(*plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                 &bytes) == CUDNN_STATUS_SUCCESS &&
      bytes <= EP_CONVOLUTION_WORKSPACE_BYTES)
    return true;
  destroy(*plan);
  *plan = NULL;
  return false;
}

/* Milliseconds, the least of a few; negative when it does not work. */
static ep_status plan_time(ep_convolutions *library, const ep_convolution *convolution,
                           const cudaEvent_t events[2], float *ms, ep_error *error) {
  *ms = -1;
  for (int i = 0; i <= TIMES; i++) { /* the first loads the kernel */
    float once;
    EP_CUDA_TRY(cudaEventRecord(events[0], library->stream), "timing a convolution");
    if (ep_convolution_run(library, convolution, NULL) != EP_OK) {
      *ms = -1;
      return EP_OK;
    }
    EP_CUDA_TRY(cudaEventRecord(events[1], library->stream), "timing a convolution");
    EP_CUDA_TRY(cudaEventSynchronize(events[1]), "timing a convolution");
    EP_CUDA_TRY(cudaEventElapsedTime(&once, events[0], events[1]), "timing a convolution");
    if (i == 1 || (i > 1 && once < *ms)) *ms = once;
  }
  return EP_OK;
}

/* --- what was found -------------------------------------------------------------------------- */

/* Which candidate of which list; the lists of one shape on one device are always the same. */
typedef struct answer {
  struct answer *next;
  ep_convolution_shape shape;
  int device;
  cudnnBackendHeurMode_t mode;
  int64_t candidate;
} answer;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list, and the search */
static answer *answers;

static answer *recall(const ep_convolution_shape *shape, int device) {
  for (answer *row = answers; row; row = row->next)
    if (row->device == device && memcmp(&row->shape, shape, sizeof *shape) == 0) return row;
  return NULL;
}

static ep_status remember(const answer *found, ep_error *error) {
  answer *row = malloc(sizeof *row);
  if (!row) return ep_fail(error, EP_NO_MEMORY, "no memory for a convolution's algorithm");
  *row = *found;
  row->next = answers;
  answers = row;
  return EP_OK;
}

/* --- search ---------------------------------------------------------------------------------- */

/* A search under way. */
typedef struct {
  ep_convolutions *library;
  const candidates *all;
  cudaEvent_t events[2];
  float best_ms;
} contest;

/* Tries a candidate, and leaves it in *out, and its number in *best, when it is the fastest so far.
 */
static ep_status candidate_try(contest *c, int64_t i, ep_convolution *out, int64_t *best,
                               ep_error *error) {
  ep_convolution tried = {.pack = out->pack};
  float ms;
  if (!plan_make(c->library, c->all->rows[i], &tried.plan)) return EP_OK;
  ep_status status = plan_time(c->library, &tried, c->events, &ms, error);
  if (status == EP_OK && ms >= 0 && (*best < 0 || ms < c->best_ms)) {
    cudnnBackendDescriptor_t slower = out->plan;
    out->plan = tried.plan;
    tried.plan = slower;
    c->best_ms = ms;
    *best = i;
  }
  destroy(tried.plan);
  return status;
}

/* *best: -1 when none of them works. */
static ep_status fastest_find(ep_convolutions *library, const candidates *all,
                              ep_precision precision, bool ready, ep_convolution *out,
                              int64_t *best, ep_error *error) {
  contest c = {.library = library, .all = all};
  ep_status status = EP_OK;
  int tries = 0;
  *best = -1;
  cudaError_t code = cudaEventCreate(&c.events[0]);
  if (code == cudaSuccess) code = cudaEventCreate(&c.events[1]);
  if (code != cudaSuccess) status = ep_cuda_fail(error, code, "making an event");
  for (int64_t i = 0; status == EP_OK && i < all->count && tries < TRIES; i++) {
    if (!suits(library->calls, all->rows[i], precision, ready)) continue;
    status = candidate_try(&c, i, out, best, error);
    if (*best >= 0) tries++;
  }
  for (int i = 0; i < 2; i++)
    if (c.events[i]) cudaEventDestroy(c.events[i]);
  return status;
}

/* First among what is ready, then among what is compiled. */
static ep_status search(description *d, cudnnBackendDescriptor_t graph, answer *found,
                        ep_convolution *out, ep_error *error) {
  const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
  ep_status status = EP_OK;
  candidates all[2];
  memset(all, 0, sizeof all);
  found->candidate = -1;
  for (int i = 0; i < 2; i++) /* a list that cuDNN does not give is one without a row */
    if (candidates_list(d, graph, modes[i], &all[i], NULL) != EP_OK) all[i].count = 0;
  for (int i = 0; i < 4 && status == EP_OK && found->candidate < 0; i++) {
    found->mode = modes[i % 2];
    status = fastest_find(d->library, &all[i % 2], found->shape.precision, i < 2, out,
                          &found->candidate, error);
  }
  for (int i = 0; i < 2; i++) candidates_deinit(&all[i]);
  if (status != EP_OK || found->candidate >= 0) return status;
  return ep_fail(error, EP_UNSUPPORTED, "cuDNN has no algorithm for a convolution of %lld channels",
                 (long long)found->shape.in.channels);
}

/* Makes what was found before. */
static ep_status found_make(description *d, cudnnBackendDescriptor_t graph, const answer *found,
                            ep_convolution *out, ep_error *error) {
  candidates all;
  ep_status status = candidates_list(d, graph, found->mode, &all, error);
  if (status == EP_OK && (found->candidate >= all.count ||
                          !plan_make(d->library, all.rows[found->candidate], &out->plan)))
    status = ep_fail(error, EP_INTERNAL, "an algorithm that cuDNN had is gone");
  candidates_deinit(&all);
  return status;
}

static ep_status plan_find(description *d, const ep_convolution_shape *shape, ep_convolution *out,
                           ep_error *error) {
  cudnnBackendDescriptor_t graph;
  ep_status status = graph_describe(d, shape, &graph, error);
  if (status != EP_OK) return status;
  const int device = d->library->backend->device;
  pthread_mutex_lock(&mutex);
  const answer *known = recall(shape, device);
  if (known) {
    status = found_make(d, graph, known, out, error);
  } else {
    answer found = {.device = device};
    memcpy(&found.shape, shape, sizeof *shape);
    status = search(d, graph, &found, out, error);
    if (status == EP_OK) status = remember(&found, error);
  }
  pthread_mutex_unlock(&mutex);
  return status;
}

/* --- a convolution --------------------------------------------------------------------------- */

static ep_status pack_make(ep_convolutions *library, const void *x, const void *w, const void *y,
                           void *workspace, ep_convolution *out, ep_error *error) {
  const int64_t names[] = {X, W, Y};
  const void *addresses[] = {x, w, y};
  const attribute rows[] = {
      {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, names},
      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, addresses},
      {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace},
  };
  description d = {.library = library};
  TRY(library->calls->create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &out->pack),
      "describing a convolution");
  return SEAL(&d, out->pack, rows);
}

ep_status ep_convolution_init(ep_convolutions *library, const ep_convolution_shape *shape,
                              const void *x, const void *w, const void *y, void *workspace,
                              ep_convolution *out, ep_error *error) {
  description d = {.library = library};
  *out = (ep_convolution){NULL, NULL};
  ep_status status = pack_make(library, x, w, y, workspace, out, error);
  if (status == EP_OK) status = plan_find(&d, shape, out, error);
  description_deinit(&d);
  return status;
}

void ep_convolution_deinit(ep_convolution *convolution) {
  destroy(convolution->plan);
  destroy(convolution->pack);
  *convolution = (ep_convolution){NULL, NULL};
}

ep_status ep_convolution_run(ep_convolutions *library, const ep_convolution *convolution,
                             ep_error *error) {
  TRY(library->calls->execute(library->handle, convolution->plan, convolution->pack),
      "a convolution");
  return EP_OK;
}
