/* inference.h: the Open Inference Protocol ("predict protocol version 2", KServe V2): a request's
 * JSON, with its tensor in it or as bytes behind it, into rows; and predictions into its response.
 *
 * Protocol: https://github.com/kserve/open-inference-protocol (inference_rest.md). Bytes behind the
 * JSON: Triton's binary tensor data extension: little-endian, row-major, in the order of the JSON;
 * the header Inference-Header-Content-Length says where the JSON ends. */
#ifndef EP_API_INFERENCE_INFERENCE_H
#define EP_API_INFERENCE_INFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/inference/tensor.h"
#include "api/responses/model.h"
#include "api/responses/predict.h"

struct json_t; /* jansson's */

#define EP_INFERENCE_LENGTH_HEADER "Inference-Header-Content-Length"

typedef struct {
  char *id;             /* JSON text with its quotes, owned; NULL = none */
  double *x;            /* [rows, columns], owned; NULL: the inputs were columns by their names */
  struct json_t *named; /* [rows]: objects of cells by their columns, owned; or NULL */
  int64_t rows, columns;
  ep_warnings warnings;   /* of columns by their names, owned: a parameter of the response */
  ep_threshold threshold; /* of "parameters"; none: the model's own decides, if it has one */
  bool wanted[EP_INFERENCE_OUTPUTS];
  bool binary[EP_INFERENCE_OUTPUTS]; /* as bytes behind the JSON */
} ep_inference_request;

/* The value of Inference-Header-Content-Length. EP_MALFORMED unless 1 … body_bytes. */
ep_status ep_inference_length_parse(const char *value, size_t body_bytes, size_t *json_bytes,
                                    ep_error *error);

/* body: json_bytes of JSON, then the tensor's bytes, if any. All that the protocol does not ask for
 * and that is not known here is passed over. meaning: of the model's outputs; NULL: only numbers
 * are known of them. EP_MALFORMED, EP_TOO_LARGE. *out is the caller's to deinit, also on failure.
 */
ep_status ep_inference_parse(const ep_model *model, const ep_output_meaning *meaning,
                             const char *body, size_t body_bytes, size_t json_bytes,
                             ep_inference_request *out, ep_error *error);
void ep_inference_request_deinit(ep_inference_request *request);

typedef struct {
  char *body; /* owned by the caller */
  size_t body_bytes;
  size_t json_bytes; /* less than body_bytes where tensors follow as bytes */
  bool binary;
} ep_inference_response;

/* output: [request->rows, model->outputs]; meaning: that the request was read with; a threshold
 * that decides in it is a parameter of the response. */
ep_status ep_inference_response_format(const ep_model *model, const ep_output_meaning *meaning,
                                       const ep_inference_request *request, const double *output,
                                       ep_inference_response *out, ep_error *error);

/* {"error": "…"}: that protocol's form of a problem; owned by the caller. */
char *ep_inference_error_format(const char *message);

#endif
