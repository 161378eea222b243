/* inference_response.c: predictions become the response of inference.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/inference/inference.h"
#include "api/inference/input.h"
#include "api/json/writer.h"

enum { WARNINGS_BYTES = 4096 }; /* as one text: the first of them */

/* As many numbers as a frame of predictions has, and as many probabilities, 24 bytes each at most;
 * and the class of each row, each byte of which may be six. */
#define ANSWER_TEXT_LIMIT \
  ((size_t)EP_LIMIT_FRAME_BYTES * 16 + (size_t)EP_LIMIT_PREDICT_ROWS * EP_LIMIT_WORD_BYTES * 6)

/* -1 where no output is a number. row: [outputs]. */
static int64_t class_of(const ep_model *model, const ep_output_meaning *meaning,
                        const double *row) {
  int64_t best = -1;
  if (meaning && meaning->has_threshold) {
    for (int64_t i = 0; i < model->outputs; i++)
      if (isnan(row[i])) return -1;
    return ep_output_is_taken(meaning, row, model->outputs);
  }
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
  const ep_output_meaning *meaning;
  const double *values; /* [rows, columns]; of classes, the predictions that they follow from */
  ep_inference_output which;
  bool matrix; /* of [rows, columns], else [rows] */
  ep_tensor_type type;
  int64_t rows, columns;
} tensor;

/* What all tensors of a response are made of. */
typedef struct {
  const ep_model *model;
  const ep_output_meaning *meaning;
  const ep_inference_request *request;
  const double *output, *probability; /* [rows, classes], NULL unless they are wanted */
} response_parts;

static tensor tensor_of(const response_parts *parts, int which) {
  tensor t = {.model = parts->model,
              .meaning = parts->meaning,
              .values = parts->output,
              .which = (ep_inference_output)which,
              .type = EP_TENSOR_FP32,
              .rows = parts->request->rows,
              .columns = 1};
  if (which == EP_INFERENCE_CLASS) t.type = EP_TENSOR_INT64;
  t.matrix = which == EP_INFERENCE_PREDICTIONS || which == EP_INFERENCE_PROBABILITIES;
  if (which == EP_INFERENCE_PREDICTIONS) t.columns = parts->model->outputs;
  if (which == EP_INFERENCE_PROBABILITIES) {
    t.columns = ep_output_classes(parts->meaning, parts->model->outputs);
    t.values = parts->probability;
  }
  return t;
}

static bool is_text(const tensor *t) {
  return t->which == EP_INFERENCE_CLASS_NAME;
}

static const char *text_of(const tensor *t, int64_t row) {
  int64_t class = class_of(t->model, t->meaning, t->values + row * t->model->outputs);
  return class >= 0 && class < t->meaning->classes ? t->meaning->class_name[class] : "";
}

/* Texts have their length before them, a little-endian uint32. */
static int64_t tensor_bytes(const tensor *t) {
  int64_t bytes = 0;
  if (!is_text(t)) return t->rows * t->columns * (int64_t)ep_tensor_element_bytes(t->type);
  for (int64_t i = 0; i < t->rows; i++) bytes += 4 + (int64_t)strlen(text_of(t, i));
  return bytes;
}

static double tensor_value(const tensor *t, int64_t row, int64_t column) {
  if (t->which != EP_INFERENCE_CLASS) return t->values[row * t->columns + column];
  return (double)class_of(t->model, t->meaning, t->values + row * t->model->outputs);
}

static void tensor_describe(ep_writer *writer, const tensor *t, bool binary) {
  ep_writer_member_string(writer, "name", ep_inference_output_name(t->which));
  ep_writer_member_open(writer, "shape", '[');
  ep_writer_integer(writer, t->rows);
  if (t->matrix) ep_writer_integer(writer, t->columns);
  ep_writer_close(writer, ']');
  ep_writer_member_string(writer, "datatype",
                          is_text(t) ? EP_INFERENCE_TEXT : ep_tensor_type_name(t->type));
  if (!binary) return;
  ep_writer_member_open(writer, "parameters", '{');
  ep_writer_member_integer(writer, "binary_data_size", tensor_bytes(t));
  ep_writer_close(writer, '}');
}

static void element_write(ep_writer *writer, const tensor *t, int64_t row, int64_t column) {
  if (is_text(t)) {
    ep_writer_string(writer, text_of(t, row));
    return;
  }
  double value = tensor_value(t, row, column);
  ep_writer_number(writer, t->type == EP_TENSOR_FP32 ? (double)(float)value : value);
}

static void tensor_write_json(ep_writer *writer, const tensor *t, bool binary) {
  ep_writer_open(writer, '{');
  tensor_describe(writer, t, binary);
  if (!binary) {
    ep_writer_member_open(writer, "data", '[');
    for (int64_t i = 0; i < t->rows; i++)
      for (int64_t j = 0; j < t->columns; j++) element_write(writer, t, i, j);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, '}');
}

static void text_write(const char *text, ep_inference_response *out) {
  size_t length = strlen(text);
  for (int i = 0; i < 4; i++) out->body[out->body_bytes++] = (char)(length >> 8 * i & 0xFF);
  memcpy(out->body + out->body_bytes, text, length);
  out->body_bytes += length;
}

/* Adds the tensor's bytes behind the JSON. The block has room. */
static void tensor_write_bytes(const tensor *t, ep_inference_response *out) {
  size_t element = ep_tensor_element_bytes(t->type);
  for (int64_t i = 0; is_text(t) && i < t->rows; i++) text_write(text_of(t, i), out);
  for (int64_t i = 0; !is_text(t) && i < t->rows; i++)
    for (int64_t j = 0; j < t->columns; j++, out->body_bytes += element)
      ep_tensor_write(t->type, tensor_value(t, i, j), (unsigned char *)out->body + out->body_bytes);
}

/* The protocol's parameters are texts, numbers and booleans. */
static void parameters_write(ep_writer *writer, const ep_output_meaning *meaning,
                             const ep_warnings *warnings) {
  char line[WARNINGS_BYTES];
  bool threshold = meaning && meaning->has_threshold;
  if (!threshold && warnings->count == 0) return;
  ep_writer_member_open(writer, "parameters", '{');
  if (threshold) ep_writer_member_number(writer, "threshold", meaning->threshold);
  if (warnings->count > 0) {
    ep_warnings_line(warnings, line, sizeof line);
    ep_writer_member_string(writer, "warnings", line);
  }
  ep_writer_close(writer, '}');
}

static char *json_format(const response_parts *parts) {
  const ep_inference_request *request = parts->request;
  ep_writer writer;
  ep_writer_init(&writer, ANSWER_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "model_name", parts->model->name);
  ep_writer_member_string(&writer, "model_version", EP_INFERENCE_VERSION);
  if (request->id) {
    ep_writer_member_raw(&writer, "id", request->id);
  }
  parameters_write(&writer, parts->meaning, &request->warnings);
  ep_writer_member_open(&writer, "outputs", '[');
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    if (!request->wanted[i]) continue;
    tensor t = tensor_of(parts, i);
    tensor_write_json(&writer, &t, request->binary[i]);
  }
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

/* Behind the JSON. */
static ep_status bytes_add(const response_parts *parts, ep_inference_response *out,
                           ep_error *error) {
  const ep_inference_request *request = parts->request;
  int64_t behind = 0;
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    if (!request->wanted[i] || !request->binary[i]) continue;
    tensor t = tensor_of(parts, i);
    out->binary = true;
    behind += tensor_bytes(&t);
  }
  if (!out->binary) return EP_OK;
  char *grown = realloc(out->body, out->json_bytes + (size_t)behind);
  if (!grown) return ep_fail_memory(error);
  out->body = grown;
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
    if (!request->wanted[i] || !request->binary[i]) continue;
    tensor t = tensor_of(parts, i);
    tensor_write_bytes(&t, out);
  }
  return EP_OK;
}

/* [rows, classes], the caller's; NULL when memory is short. */
static double *probabilities_find(const response_parts *parts) {
  int64_t rows = parts->request->rows, outputs = parts->model->outputs;
  int64_t classes = ep_output_classes(parts->meaning, outputs);
  double *found = malloc((size_t)(rows * classes) * sizeof *found);
  for (int64_t i = 0; found && i < rows; i++)
    ep_output_probabilities(parts->meaning, parts->output + i * outputs, outputs,
                            found + i * classes);
  return found;
}

ep_status ep_inference_response_format(const ep_model *model, const ep_output_meaning *meaning,
                                       const ep_inference_request *request, const double *output,
                                       ep_inference_response *out, ep_error *error) {
  response_parts parts = {model, meaning, request, output, NULL};
  double *probability = NULL;
  *out = (ep_inference_response){0};
  if (request->wanted[EP_INFERENCE_PROBABILITIES]) {
    parts.probability = probability = probabilities_find(&parts);
    if (!probability) return ep_fail_memory(error);
  }
  out->body = json_format(&parts);
  ep_status status = out->body ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) {
    out->json_bytes = out->body_bytes = strlen(out->body);
    status = bytes_add(&parts, out, error);
  }
  free(probability);
  if (status == EP_OK) return EP_OK;
  free(out->body);
  *out = (ep_inference_response){0};
  return status;
}

char *ep_inference_error_format(const char *message) {
  ep_writer writer;
  ep_writer_init(&writer, 1 << 16);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "error", message);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
