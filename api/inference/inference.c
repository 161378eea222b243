/* inference.c: requests. Their JSON is cut into slices by a scanner, because the
 * data may be millions of numbers; the small slices then go through jansson. */
#include "api/inference/inference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/scanner.h"

/* A value within the text; at NULL = it is not there. */
typedef struct {
  const char *at;
  size_t bytes;
} slice;

static ep_status slice_take(ep_scanner *scanner, const char *what, slice *out, ep_error *error) {
  ep_scan_peek(scanner);
  out->at = scanner->at;
  if (!ep_scan_skip(scanner))
    return ep_fail(error, EP_MALFORMED, "not JSON, or nested deeper than %d levels, in %s",
                   EP_LIMIT_JSON_DEPTH, what);
  out->bytes = (size_t)(scanner->at - out->at);
  return EP_OK;
}

static bool at_end(ep_scanner *scanner) {
  ep_scan_peek(scanner);
  return scanner->at == scanner->end;
}

static int key_find(const char *const *keys, int count, const char *key) {
  for (int i = 0; i < count; i++)
    if (strcmp(keys[i], key) == 0) return i;
  return -1;
}

/* The output of that name, or -1. */
static int output_find(const char *name) {
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++)
    if (strcmp(ep_inference_output_name((ep_inference_output)i), name) == 0) return i;
  return -1;
}

static bool is_null(slice value) {
  return value.bytes == 4 && memcmp(value.at, "null", 4) == 0;
}

/* Cuts an object: values[i] is what keys[i] has; null stands for "not given". Other keys are passed
 * over. */
static ep_status object_cut(slice text, const char *what, const char *const *keys, int count,
                            slice *values, ep_error *error) {
  ep_scanner scanner = {text.at, text.at + text.bytes};
  char key[32];
  if (!ep_scan_token(&scanner, '{'))
    return ep_fail(error, EP_MALFORMED, "%s must be a JSON object", what);
  if (!ep_scan_token(&scanner, '}')) {
    do {
      slice value;
      if (!ep_scan_string(&scanner, key, sizeof key) || !ep_scan_token(&scanner, ':'))
        return ep_fail(error, EP_MALFORMED, "%s is no JSON object", what);
      ep_status status = slice_take(&scanner, what, &value, error);
      if (status != EP_OK) return status;
      int index = key_find(keys, count, key);
      if (index < 0 || is_null(value)) continue;
      if (values[index].at) return ep_fail(error, EP_MALFORMED, "%s has \"%s\" twice", what, key);
      values[index] = value;
    } while (ep_scan_token(&scanner, ','));
    if (!ep_scan_token(&scanner, '}'))
      return ep_fail(error, EP_MALFORMED, "%s is no JSON object", what);
  }
  if (!at_end(&scanner))
    return ep_fail(error, EP_MALFORMED, "something follows the end of %s", what);
  return EP_OK;
}

/* A slice as a tree, the caller's; one that is too large for a header is refused. */
static ep_status slice_load(slice value, const char *what, json_t **out, ep_error *error) {
  ep_error inner = {0};
  ep_status status = ep_json_load(value.at, value.bytes, EP_LIMIT_INFERENCE_BYTES, out, &inner);
  if (status == EP_OK) return EP_OK;
  return ep_fail(error, status == EP_INVALID ? EP_MALFORMED : status, "%s: %.400s", what,
                 inner.message);
}

/* A flag of "parameters"; *out stays where it is not given. */
static ep_status flag_take(const json_t *parameters, const char *key, bool *out, ep_error *error) {
  const json_t *value = json_object_get(parameters, key);
  if (!value) return EP_OK;
  if (!json_is_boolean(value))
    return ep_fail(error, EP_MALFORMED, "parameter \"%s\" must be true or false", key);
  *out = json_is_true(value);
  return EP_OK;
}

static ep_status id_take(slice value, char **out, ep_error *error) {
  json_t *id = NULL;
  if (!value.at) return EP_OK;
  ep_status status = slice_load(value, "\"id\"", &id, error);
  if (status == EP_OK && !json_is_string(id))
    status = ep_fail(error, EP_MALFORMED, "\"id\" must be a string");
  json_decref(id);
  if (status != EP_OK) return status;
  *out = strndup(value.at, value.bytes);
  return *out ? EP_OK : ep_fail_memory(error);
}

static ep_status output_take(const ep_model *model, const json_t *output, bool binary,
                             ep_inference_request *out, ep_error *error) {
  char name[64] = "";
  if (!json_is_object(output) || !ep_json_cut_text(output, "name", name, sizeof name))
    return ep_fail(error, EP_MALFORMED, "an output must be an object with a \"name\"");
  int index = output_find(name);
  if (index == EP_INFERENCE_CLASS && model->decision == EP_DECISION_NONE)
    return ep_fail(error, EP_MALFORMED, "model \"%s\" is no classifier: it has no output \"class\"",
                   model->name);
  if (index < 0)
    return ep_fail(error, EP_MALFORMED,
                   "model \"%s\" has no output \"%s\": its metadata names them", model->name, name);
  out->wanted[index] = true;
  out->binary[index] = binary;
  return flag_take(json_object_get(output, "parameters"), "binary_data", &out->binary[index],
                   error);
}

/* Which outputs are wanted, and how; all of them in JSON unless the request says more. */
static ep_status outputs_take(const ep_model *model, slice parameters, slice outputs,
                              ep_inference_request *out, ep_error *error) {
  json_t *tree = NULL;
  const json_t *output;
  size_t index;
  bool binary = false;
  ep_status status = EP_OK;
  if (parameters.at) status = slice_load(parameters, "\"parameters\"", &tree, error);
  if (status == EP_OK) status = flag_take(tree, "binary_data_output", &binary, error);
  json_decref(tree);
  tree = NULL;
  if (status == EP_OK && outputs.at) status = slice_load(outputs, "\"outputs\"", &tree, error);
  if (status == EP_OK && outputs.at && !json_is_array(tree))
    status = ep_fail(error, EP_MALFORMED, "\"outputs\" must be a list");
  if (status == EP_OK && json_array_size(tree) == 0)
    for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
      out->wanted[i] = i != EP_INFERENCE_CLASS || model->decision != EP_DECISION_NONE;
      out->binary[i] = binary;
    }
  for (index = 0; status == EP_OK && (output = json_array_get(tree, index)); index++)
    status = output_take(model, output, binary, out, error);
  json_decref(tree);
  return status;
}

/* The one element of "inputs". */
static ep_status input_find(slice inputs, slice *out, ep_error *error) {
  if (!inputs.at) return ep_fail(error, EP_MALFORMED, "\"inputs\" is required");
  ep_scanner scanner = {inputs.at, inputs.at + inputs.bytes};
  if (!ep_scan_token(&scanner, '['))
    return ep_fail(error, EP_MALFORMED, "\"inputs\" must be a list");
  if (ep_scan_token(&scanner, ']'))
    return ep_fail(error, EP_MALFORMED, "\"inputs\" must have one tensor, \"%s\"",
                   EP_INFERENCE_INPUT);
  ep_status status = slice_take(&scanner, "\"inputs\"", out, error);
  if (status == EP_OK && !ep_scan_token(&scanner, ']'))
    status = ep_fail(error, EP_MALFORMED, "\"inputs\" must have one tensor alone, \"%s\"",
                     EP_INFERENCE_INPUT);
  return status;
}

static ep_status dimensions_take(const json_t *list, ep_tensor_shape *out, ep_error *error) {
  size_t count = json_array_size(list);
  out->count = 1;
  out->dimensions = (int)count;
  for (size_t i = 0; i < count; i++) {
    int64_t size;
    if (!ep_json_integer(json_array_get(list, i), &size) || size < 1)
      return ep_fail(error, EP_MALFORMED, "\"shape\" must be whole numbers of 1 or more");
    out->shape[i] = size;
    if (__builtin_mul_overflow(out->count, size, &out->count))
      return ep_fail(error, EP_TOO_LARGE, "\"shape\" has more numbers than can be counted");
  }
  return EP_OK;
}

static ep_status shape_refuse(const ep_model *model, ep_error *error) {
  char text[96] = "";
  for (int i = 0; i < model->row_dimensions; i++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, ", %lld", (long long)model->row[i]);
  }
  return ep_fail(error, EP_MALFORMED, "\"shape\" must be [rows%s]", text);
}

/* The model's row may also come flat. */
static ep_status shape_check(const ep_model *model, const ep_tensor_shape *shape, ep_error *error) {
  int64_t columns = ep_model_columns(model);
  bool flat = shape->dimensions == 2 && shape->shape[1] == columns;
  bool same = shape->dimensions == model->row_dimensions + 1;
  for (int i = 0; same && i < model->row_dimensions; i++)
    same = shape->shape[i + 1] == model->row[i];
  if (!flat && !same) return shape_refuse(model, error);
  if (shape->shape[0] > EP_LIMIT_PREDICT_ROWS ||
      shape->count > EP_LIMIT_PREDICT_BYTES / (int64_t)sizeof(double))
    return ep_fail(error, EP_TOO_LARGE, "at most %d rows and %d numbers at once",
                   EP_LIMIT_PREDICT_ROWS, EP_LIMIT_PREDICT_BYTES / (int)sizeof(double));
  return EP_OK;
}

static ep_status shape_take(const ep_model *model, slice value, ep_tensor_shape *out,
                            ep_error *error) {
  json_t *tree = NULL;
  if (!value.at) return ep_fail(error, EP_MALFORMED, "the input's \"shape\" is required");
  ep_status status = slice_load(value, "\"shape\"", &tree, error);
  size_t count = json_array_size(tree);
  if (status == EP_OK && (count < 1 || count > EP_LIMIT_ROW_DIMENSIONS + 1))
    status = shape_refuse(model, error);
  if (status == EP_OK) status = dimensions_take(tree, out, error);
  json_decref(tree);
  return status == EP_OK ? shape_check(model, out, error) : status;
}

/* A string of the input, cut. */
static ep_status word_take(slice value, const char *key, char word[64], ep_error *error) {
  json_t *tree = NULL;
  if (!value.at) return ep_fail(error, EP_MALFORMED, "the input's \"%s\" is required", key);
  ep_status status = slice_load(value, key, &tree, error);
  if (status == EP_OK && !json_is_string(tree))
    status = ep_fail(error, EP_MALFORMED, "the input's \"%s\" must be a string", key);
  if (status == EP_OK) snprintf(word, 64, "%s", json_string_value(tree));
  json_decref(tree);
  return status;
}

/* binary_data_size of the input's parameters; -1 where it is not given. */
static ep_status binary_size_take(slice parameters, int64_t *out, ep_error *error) {
  json_t *tree = NULL;
  *out = -1;
  if (!parameters.at) return EP_OK;
  ep_status status = slice_load(parameters, "the input's \"parameters\"", &tree, error);
  const json_t *value = json_object_get(tree, "binary_data_size");
  if (status == EP_OK && value && (!ep_json_integer(value, out) || *out < 0))
    status = ep_fail(error, EP_MALFORMED, "\"binary_data_size\" must be a number of bytes");
  json_decref(tree);
  return status;
}

/* Where the numbers are: in the JSON, or in the bytes behind it. */
typedef struct {
  slice data, parameters, behind;
} data_place;

static ep_status bytes_check(const ep_tensor_shape *shape, int64_t said, slice behind,
                             ep_error *error) {
  int64_t element = (int64_t)ep_tensor_element_bytes(shape->type), needed = shape->count * element;
  if (said != needed)
    return ep_fail(error, EP_MALFORMED,
                   "\"binary_data_size\" is %lld: %lld numbers of %s are %lld bytes",
                   (long long)said, (long long)shape->count, ep_tensor_type_name(shape->type),
                   (long long)needed);
  if ((uint64_t)needed != behind.bytes)
    return ep_fail(error, EP_MALFORMED,
                   "\"binary_data_size\" is %lld, and %zu bytes follow the JSON (%s says where it "
                   "ends)",
                   (long long)said, behind.bytes, EP_INFERENCE_LENGTH_HEADER);
  return EP_OK;
}

static ep_status data_read(const data_place *place, const ep_tensor_shape *shape, double *x,
                           ep_error *error) {
  int64_t said;
  ep_status status = binary_size_take(place->parameters, &said, error);
  if (status != EP_OK) return status;
  if (said >= 0 && place->data.at)
    return ep_fail(error, EP_MALFORMED, "the input has both \"data\" and \"binary_data_size\"");
  if (said < 0 && !place->data.at)
    return ep_fail(error, EP_MALFORMED, "the input has neither \"data\" nor \"binary_data_size\"");
  if (said < 0 && place->behind.bytes > 0)
    return ep_fail(error, EP_MALFORMED, "%zu bytes follow the JSON, and no input claims them",
                   place->behind.bytes);
  if (said < 0) return ep_tensor_read_json(shape, place->data.at, place->data.bytes, x, error);
  status = bytes_check(shape, said, place->behind, error);
  return status == EP_OK ? ep_tensor_read_bytes(shape, place->behind.at, x, error) : status;
}

static ep_status input_take(const ep_model *model, slice input, slice behind,
                            ep_inference_request *out, ep_error *error) {
  enum { NAME, SHAPE, TYPE, PARAMETERS, DATA, COUNT };
  static const char *const KEYS[COUNT] = {"name", "shape", "datatype", "parameters", "data"};
  slice values[COUNT] = {0};
  char name[64] = "", type[64] = "";
  ep_tensor_shape shape = {0};
  ep_status status = object_cut(input, "the input", KEYS, COUNT, values, error);
  if (status == EP_OK) status = word_take(values[NAME], "name", name, error);
  if (status == EP_OK && strcmp(name, EP_INFERENCE_INPUT) != 0)
    status = ep_fail(error, EP_MALFORMED, "model \"%s\" has no input \"%s\": it is called \"%s\"",
                     model->name, name, EP_INFERENCE_INPUT);
  if (status == EP_OK) status = word_take(values[TYPE], "datatype", type, error);
  int known = ep_tensor_type_from_name(type);
  if (status == EP_OK && known < 0)
    status = ep_fail(error, EP_MALFORMED,
                     "datatype \"%s\" is not taken: FP32, FP64, UINT8, INT32 and INT64 are", type);
  if (status == EP_OK) status = shape_take(model, values[SHAPE], &shape, error);
  if (status != EP_OK) return status;
  shape.type = (ep_tensor_type)known;
  out->rows = shape.shape[0];
  out->columns = ep_model_columns(model);
  out->x = malloc((size_t)shape.count * sizeof *out->x);
  if (!out->x) return ep_fail_memory(error);
  data_place place = {values[DATA], values[PARAMETERS], behind};
  return data_read(&place, &shape, out->x, error);
}

ep_status ep_inference_length_parse(const char *value, size_t body_bytes, size_t *json_bytes,
                                    ep_error *error) {
  size_t digits = strspn(value, "0123456789");
  unsigned long long bytes = digits > 0 && digits < 16 ? strtoull(value, NULL, 10) : 0;
  if (value[digits] != 0 || bytes < 1 || bytes > body_bytes)
    return ep_fail(error, EP_MALFORMED, "%s must be 1 to %zu, the body's size, and is %.40s",
                   EP_INFERENCE_LENGTH_HEADER, body_bytes, value);
  *json_bytes = (size_t)bytes;
  return EP_OK;
}

ep_status ep_inference_parse(const ep_model *model, const char *body, size_t body_bytes,
                             size_t json_bytes, ep_inference_request *out, ep_error *error) {
  enum { ID, PARAMETERS, INPUTS, OUTPUTS, COUNT };
  static const char *const KEYS[COUNT] = {"id", "parameters", "inputs", "outputs"};
  slice values[COUNT] = {0}, input = {0}, behind = {body + json_bytes, body_bytes - json_bytes};
  *out = (ep_inference_request){0};
  ep_status status =
      object_cut((slice){body, json_bytes}, "the request", KEYS, COUNT, values, error);
  if (status == EP_OK) status = id_take(values[ID], &out->id, error);
  if (status == EP_OK)
    status = outputs_take(model, values[PARAMETERS], values[OUTPUTS], out, error);
  if (status == EP_OK) status = input_find(values[INPUTS], &input, error);
  if (status == EP_OK) status = input_take(model, input, behind, out, error);
  return status;
}

void ep_inference_request_deinit(ep_inference_request *request) {
  free(request->id);
  free(request->x);
  *request = (ep_inference_request){0};
}
