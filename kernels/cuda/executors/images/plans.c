#include "kernels/cuda/executors/images/plans.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

ep_status ep_cudnn_fail(cudnnStatus_t code, const char *doing, ep_error *error) {
  cudaError_t said = cudaPeekAtLastError();
  if (said != cudaSuccess) return ep_cuda_fail(error, said, doing);
  return ep_fail(error, EP_INTERNAL, "%s failed: %s", doing, ep_cudnn()->text(code));
}

#define TRY(call, doing)                                                          \
  do {                                                                            \
    cudnnStatus_t code_ = (call);                                                 \
    if (code_ != CUDNN_STATUS_SUCCESS) return ep_cudnn_fail(code_, doing, error); \
  } while (0)

void ep_cudnn_destroy(cudnnBackendDescriptor_t descriptor) {
  if (descriptor) ep_cudnn()->destroy(descriptor);
}

/* --- descriptors ----------------------------------------------------------------------------- */

static ep_status begin(ep_plans *d, cudnnBackendDescriptorType_t type,
                       cudnnBackendDescriptor_t *out, ep_error *error) {
  TRY(ep_cudnn()->create(type, out), "describing a convolution");
  d->descriptors[d->count++] = *out;
  return EP_OK;
}

typedef struct {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
  const void *values;
} attribute;

/* Sets all attributes and seals the descriptor. */
static ep_status seal(cudnnBackendDescriptor_t descriptor, const attribute *rows, size_t count,
                      ep_error *error) {
  for (size_t i = 0; i < count; i++)
    TRY(ep_cudnn()->set(descriptor, rows[i].name, rows[i].type, rows[i].count, rows[i].values),
        "describing a convolution");
  TRY(ep_cudnn()->finalize(descriptor), "describing a convolution");
  return EP_OK;
}
#define SEAL(descriptor, rows) seal(descriptor, rows, sizeof(rows) / sizeof *(rows), error)

/* Names of the tensors among each other. */
enum { X = 'x', W = 'w', Y = 'y' };

/* dimensions: [n, channels, height, width], whatever the layout. */
static ep_status tensor_describe(ep_plans *d, bool half, int64_t name, const int64_t dimensions[4],
                                 cudnnBackendDescriptor_t *out, ep_error *error) {
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
  return status == EP_OK ? SEAL(*out, rows) : status;
}

static ep_status window_describe(ep_plans *d, const ep_convolution_shape *shape,
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
  return status == EP_OK ? SEAL(*out, rows) : status;
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
static ep_status graph_describe(ep_plans *d, const ep_convolution_shape *shape,
                                cudnnBackendDescriptor_t *out, ep_error *error) {
  const ep_shape in = shape->in, to = shape->out;
  const int64_t x[] = {shape->rows, in.channels, in.height, in.width};
  const int64_t w[] = {to.channels, in.channels, shape->kernel[0], shape->kernel[1]};
  const int64_t y[] = {shape->rows, to.channels, to.height, to.width};
  const float one = 1, zero = 0;
  cudnnBackendDescriptor_t tensors[3], window, operation;
  ep_status status = tensor_describe(d, shape->half, X, x, &tensors[0], error);
  if (status == EP_OK) status = tensor_describe(d, shape->half, W, w, &tensors[1], error);
  if (status == EP_OK) status = tensor_describe(d, shape->half, Y, y, &tensors[2], error);
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
  status = SEAL(operation, rows);
  if (status == EP_OK) status = begin(d, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out, error);
  if (status != EP_OK) return status;
  const attribute graph[] = {
      {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &d->handle},
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation},
  };
  return SEAL(*out, graph);
}

/* --- candidates ------------------------------------------------------------------------------ */

static ep_status candidates_list(ep_plans *d, cudnnBackendDescriptor_t graph,
                                 cudnnBackendHeurMode_t mode, ep_plan_list *out, ep_error *error) {
  const ep_cudnn_calls *calls = ep_cudnn();
  cudnnBackendDescriptor_t heuristics;
  memset(out, 0, sizeof *out);
  ep_status status = begin(d, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics, error);
  if (status != EP_OK) return status;
  const attribute rows[] = {
      {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
      {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode},
  };
  status = SEAL(heuristics, rows);
  for (int i = 0; status == EP_OK && i < EP_PLANS_LISTED; i++)
    TRY(calls->create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &out->rows[i]),
        "listing algorithms of a convolution");
  if (status != EP_OK) return status;
  TRY(calls->get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 EP_PLANS_LISTED, &out->count, out->rows),
      "listing algorithms of a convolution");
  if (out->count > EP_PLANS_LISTED) out->count = EP_PLANS_LISTED;
  return EP_OK;
}

/* Whether a candidate sums in one order and in float32, and takes the operands as they are. */
static bool is_exact(const ep_cudnn_calls *calls, cudnnBackendDescriptor_t engine,
                     bool *has_tensor_cores) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t count = 0;
  if (calls->get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS ||
      count > CUDNN_NUMERICAL_NOTE_TYPE_COUNT) /* a later library knows more of them */
    return false;
  for (int64_t i = 0; i < count; i++) {
    if (notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
      *has_tensor_cores = true;
    else if (notes[i] != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP)
      return false;
  }
  return true;
}

/* Whether its kernel comes with the library: compiling one takes some tenths of a second. */
static bool is_ready(const ep_cudnn_calls *calls, cudnnBackendDescriptor_t engine) {
  cudnnBackendBehaviorNote_t notes[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  int64_t count = 0;
  if (calls->get(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                 CUDNN_BEHAVIOR_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS ||
      count > CUDNN_BEHAVIOR_NOTE_TYPE_COUNT)
    return false;
  for (int64_t i = 0; i < count; i++)
    if (notes[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) return false;
  return true;
}

ep_plan_kind ep_plan_kind_of(cudnnBackendDescriptor_t candidate) {
  const ep_cudnn_calls *calls = ep_cudnn();
  cudnnBackendDescriptor_t engine = NULL;
  int64_t count;
  ep_plan_kind kind = {0};
  if (calls->create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine) == CUDNN_STATUS_SUCCESS &&
      calls->get(candidate, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                 &engine) == CUDNN_STATUS_SUCCESS) {
    kind.suits = is_exact(calls, engine, &kind.has_tensor_cores);
    kind.ready = is_ready(calls, engine);
  }
  ep_cudnn_destroy(engine);
  return kind;
}

/* A plan of what it is made from, an attribute. */
static bool plan_make(cudnnHandle_t handle, const attribute *from, cudnnBackendDescriptor_t *plan) {
  const ep_cudnn_calls *calls = ep_cudnn();
  const attribute rows[] = {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle},
                            *from};
  int64_t bytes = 0, count;
  *plan = NULL;
  if (calls->create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, plan) == CUDNN_STATUS_SUCCESS &&
      seal(*plan, rows, sizeof rows / sizeof *rows, NULL) == EP_OK &&
      calls->get(*plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count,
                 &bytes) == CUDNN_STATUS_SUCCESS &&
      bytes <= EP_CONVOLUTION_WORKSPACE_BYTES)
    return true;
  ep_cudnn_destroy(*plan);
  *plan = NULL;
  return false;
}

bool ep_plan_make(cudnnHandle_t handle, cudnnBackendDescriptor_t candidate,
                  cudnnBackendDescriptor_t *plan) {
  const attribute from = {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                          &candidate};
  return plan_make(handle, &from, plan);
}

bool ep_plan_read(cudnnHandle_t handle, const char *text, size_t bytes,
                  cudnnBackendDescriptor_t *plan) {
  const attribute from = {CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                          (int64_t)bytes, text};
  return plan_make(handle, &from, plan);
}

char *ep_plan_write(cudnnBackendDescriptor_t plan, size_t *bytes) {
  const ep_cudnn_calls *calls = ep_cudnn();
  const cudnnBackendAttributeName_t name = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
  int64_t room = 0, count = 0;
  if (calls->get(plan, name, CUDNN_TYPE_CHAR, 0, &room, NULL) != CUDNN_STATUS_SUCCESS ||
      room <= 0 || room > EP_LIMIT_CACHED_BYTES)
    return NULL;
  char *text = malloc((size_t)room);
  if (text && calls->get(plan, name, CUDNN_TYPE_CHAR, room, &count, text) == CUDNN_STATUS_SUCCESS &&
      count > 0 && count <= room) {
    *bytes = (size_t)count;
    return text;
  }
  free(text);
  return NULL;
}

/* --- all of a shape -------------------------------------------------------------------------- */

ep_status ep_plans_init(cudnnHandle_t handle, const ep_convolution_shape *shape, ep_plans *out,
                        ep_error *error) {
  const cudnnBackendHeurMode_t modes[EP_PLANS_LISTS] = {CUDNN_HEUR_MODE_A,
                                                        CUDNN_HEUR_MODE_FALLBACK};
  cudnnBackendDescriptor_t graph;
  memset(out, 0, sizeof *out);
  out->handle = handle;
  ep_status status = graph_describe(out, shape, &graph, error);
  for (int i = 0; i < EP_PLANS_LISTS && status == EP_OK; i++)
    if (candidates_list(out, graph, modes[i], &out->lists[i], NULL) != EP_OK)
      out->lists[i].count = 0; /* a list that cuDNN does not give is one without a row */
  return status;
}

void ep_plans_deinit(ep_plans *plans) {
  for (int i = 0; i < EP_PLANS_LISTS; i++)
    for (int j = 0; j < EP_PLANS_LISTED; j++) ep_cudnn_destroy(plans->lists[i].rows[j]);
  while (plans->count > 0) ep_cudnn_destroy(plans->descriptors[--plans->count]);
}

ep_status ep_plan_pack_make(const void *x, const void *w, const void *y, void *workspace,
                            cudnnBackendDescriptor_t *out, ep_error *error) {
  const int64_t names[] = {X, W, Y};
  const void *addresses[] = {x, w, y};
  const attribute rows[] = {
      {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, names},
      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, addresses},
      {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace},
  };
  TRY(ep_cudnn()->create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, out), "describing a convolution");
  return SEAL(*out, rows);
}
