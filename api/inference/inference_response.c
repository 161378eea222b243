/* inference_response.c: predictions become the response of inference.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/inference/inference.h"
#include "api/json/writer.h"

/* As many numbers as a frame of predictions has, 24 bytes each at most. */
#define ANSWER_TEXT_LIMIT ((size_t)EP_LIMIT_FRAME_BYTES * 8)

/* -1 where no output is a number. row: [outputs]. */
static int64_t class_of(const ep_model *model, const double *row) {
  int64_t best = -1;
  if (model->decision != EP_DECISION_GREATEST) {
    double threshold = model->decision == EP_DECISION_HALF ? 0.5 : 0;
    return isnan(row[0]) ? -1 : row[0] > threshold;
  }
  for (int64_t i = 0; i < model->outputs; i++)
    if (!isnan(row[i]) && (best < 0 || row[i] > row[best])) best = i;
  return best;
}

/* One output of a request, as a tensor. */
typedef struct {
  const ep_model *model;
  const double *output; /* the predictions */
  ep_inference_output which;
  ep_tensor_type type;
  int64_t rows, columns; /* columns: 1 for a shape of [rows] */
} tensor;

static tensor tensor_of(const ep_model *model, const ep_inference_request *request,
                        const double *output, int which) {
  bool class = which == EP_INFERENCE_CLASS;
  return (tensor){.model = model,
                  .output = output,
                  .which = (ep_inference_output)which,
                  .type = class ? EP_TENSOR_INT64 : EP_TENSOR_FP32,
                  .rows = request->rows,
                  .columns = class ? 1 : model->outputs};
}

static int64_t tensor_bytes(const tensor *t) {
  return t->rows * t->columns * (int64_t)ep_tensor_element_bytes(t->type);
}

static double tensor_value(const tensor *t, int64_t row, int64_t column) {
  const double *values = t->output + row * t->model->outputs;
  return t->which == EP_INFERENCE_CLASS ? (double)class_of(t->model, values) : values[column];
}

static void tensor_describe(ep_writer *writer, const tensor *t, bool binary) {
  ep_writer_member_string(writer, "name", ep_inference_output_name(t->which));
  ep_writer_member_open(writer, "shape", '[');
  ep_writer_integer(writer, t->rows);
  if (t->which == EP_INFERENCE_PREDICTIONS) ep_writer_integer(writer, t->columns);
  ep_writer_close(writer, ']');
  ep_writer_member_string(writer, "datatype", ep_tensor_type_name(t->type));
  if (!binary) return;
  ep_writer_member_open(writer, "parameters", '{');
  ep_writer_member_integer(writer, "binary_data_size", tensor_bytes(t));
  ep_writer_close(writer, '}');
}

static void tensor_write_json(ep_writer *writer, const tensor *t, bool binary) {
  ep_writer_open(writer, '{');
  tensor_describe(writer, t, binary);
  if (!binary) {
    ep_writer_member_open(writer, "data", '[');
    for (int64_t i = 0; i < t->rows; i++)
      for (int64_t j = 0; j < t->columns; j++) {
        double value = tensor_value(t, i, j);
        ep_writer_number(writer, t->type == EP_TENSOR_FP32 ? (double)(float)value : value);
      }
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, '}');
}

/* Adds the tensor's bytes behind the JSON. The block has room. */
static void tensor_write_bytes(const tensor *t, ep_inference_response *out) {
  size_t element = ep_tensor_element_bytes(t->type);
  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t j = 0; j < t->columns; j++, out->body_bytes += element)
      ep_tensor_write(t->type, tensor_value(t, i, j), (unsigned char *)out->body + out->body_bytes);
}

static char *json_format(const ep_model *model, const ep_inference_request *request,
                         const double *output) {
  ep_writer writer;
  ep_writer_init(&writer, ANSWER_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "model_name", model->name);
  ep_writer_member_string(&writer, "model_version", EP_INFERENCE_VERSION);
  if (request->id) {
    ep_writer_member_raw(&writer, "id", request->id);
  }
  ep_writer_member_open(&writer, "outputs", '[');
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    tensor t = tensor_of(model, request, output, i);
    if (request->wanted[i]) tensor_write_json(&writer, &t, request->binary[i]);
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

ep_status ep_inference_response_format(const ep_model *model, const ep_inference_request *request,
                                       const double *output, ep_inference_response *out,
                                       ep_error *error) {
  int64_t behind = 0;
  *out = (ep_inference_response){.body = json_format(model, request, output)};
  if (!out->body) return ep_fail_memory(error);
  out->json_bytes = out->body_bytes = strlen(out->body);
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    tensor t = tensor_of(model, request, output, i);
    if (!request->wanted[i] || !request->binary[i]) continue;
    out->binary = true;
    behind += tensor_bytes(&t);
  }
  if (!out->binary) return EP_OK;
  char *grown = realloc(out->body, out->json_bytes + (size_t)behind);
  if (!grown) {
    free(out->body);
    *out = (ep_inference_response){0};
    return ep_fail_memory(error);
  }
  out->body = grown;
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    tensor t = tensor_of(model, request, output, i);
    if (request->wanted[i] && request->binary[i]) tensor_write_bytes(&t, out);
  }
  return EP_OK;
}

char *ep_inference_error_format(const char *message) {
  ep_writer writer;
  ep_writer_init(&writer, 1 << 16);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "error", message);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
