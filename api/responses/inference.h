/* inference.h: the Open Inference Protocol ("predict protocol version 2", KServe V2): a request's
 * JSON, with its tensor in it or as bytes behind it, into rows; and predictions into its answer.
 *
 * Protocol: https://github.com/kserve/open-inference-protocol (inference_rest.md). Bytes behind the
 * JSON: Triton's binary tensor data extension: little-endian, row-major, in the order of the JSON;
 * the header Inference-Header-Content-Length says where the JSON ends. */
#ifndef EP_API_RESPONSES_INFERENCE_H
#define EP_API_RESPONSES_INFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/responses/model.h"

#define EP_INFERENCE_INPUT "x"
#define EP_INFERENCE_VERSION "1" /* a name has one version: what was published last */
#define EP_INFERENCE_LENGTH_HEADER "Inference-Header-Content-Length"

/* X(code, name, bytes of an element) */
#define EP_TENSOR_TABLE(X) \
  X(FP32, "FP32", 4)       \
  X(FP64, "FP64", 8)       \
  X(UINT8, "UINT8", 1)     \
  X(INT32, "INT32", 4)     \
  X(INT64, "INT64", 8)

typedef enum {
#define EP_TENSOR_ENUM(code, name, bytes) EP_TENSOR_##code,
  EP_TENSOR_TABLE(EP_TENSOR_ENUM)
#undef EP_TENSOR_ENUM
      EP_TENSOR_COUNT
} ep_tensor_type;

typedef enum {
  EP_INFERENCE_PREDICTIONS, /* FP32 [rows, outputs] */
  EP_INFERENCE_CLASS,       /* INT64 [rows]; of a classifier; -1 where no output is a number */
  EP_INFERENCE_OUTPUTS
} ep_inference_output;

const char *ep_inference_output_name(ep_inference_output output);

/* The tensor that a request describes. */
typedef struct {
  ep_tensor_type type;
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS + 1]; /* rows first */
  int dimensions;
  int64_t count; /* numbers in all, within EP_LIMIT_PREDICT_BYTES as float64 */
} ep_tensor_shape;

/* inference_data.c: numbers of a tensor, checked against its type. x: [shape->count], written.
 * text: JSON, flat or nested as the shape says. bytes: little-endian. EP_MALFORMED names the place.
 */
ep_status ep_tensor_read_json(const ep_tensor_shape *shape, const char *text, size_t text_bytes,
                              double *x, ep_error *error);
ep_status ep_tensor_read_bytes(const ep_tensor_shape *shape, const void *bytes, double *x,
                               ep_error *error);
size_t ep_tensor_element_bytes(ep_tensor_type type);
const char *ep_tensor_type_name(ep_tensor_type type);
int ep_tensor_type_from_name(const char *name); /* -1 when it is not taken */
/* Writes the element little-endian: bytes: [ep_tensor_element_bytes]. FP32 and INT64 alone. */
void ep_tensor_write(ep_tensor_type type, double value, unsigned char *bytes);

typedef struct {
  char *id;  /* JSON text with its quotes, owned; NULL = none */
  double *x; /* [rows, columns], owned */
  int64_t rows, columns;
  bool wanted[EP_INFERENCE_OUTPUTS];
  bool binary[EP_INFERENCE_OUTPUTS]; /* as bytes behind the JSON */
} ep_inference_request;

/* The value of Inference-Header-Content-Length. EP_MALFORMED unless 1 … body_bytes. */
ep_status ep_inference_length_parse(const char *value, size_t body_bytes, size_t *json_bytes,
                                    ep_error *error);

/* body: json_bytes of JSON, then the tensor's bytes, if any. All that the protocol does not ask for
 * and that is not known here is passed over. EP_MALFORMED, EP_TOO_LARGE. *out is the caller's to
 * deinit, also on failure. */
ep_status ep_inference_parse(const ep_model *model, const char *body, size_t body_bytes,
                             size_t json_bytes, ep_inference_request *out, ep_error *error);
void ep_inference_request_deinit(ep_inference_request *request);

typedef struct {
  char *body; /* owned by the caller */
  size_t body_bytes;
  size_t json_bytes; /* less than body_bytes where tensors follow as bytes */
  bool binary;
} ep_inference_answer;

/* output: [request->rows, model->outputs]. */
ep_status ep_inference_answer_format(const ep_model *model, const ep_inference_request *request,
                                     const double *output, ep_inference_answer *out,
                                     ep_error *error);

/* {"error": "…"}: that protocol's form of a problem; owned by the caller. */
char *ep_inference_error_format(const char *message);

#endif
