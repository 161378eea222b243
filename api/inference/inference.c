/* inference.c: requests. Their JSON is cut into slices by a scanner, because the
 * data may be millions of numbers; the small slices then go through jansson. */
#include "api/inference/inference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/inference/columns.h"
#include "api/inference/input.h"
#include "api/json/json.h"

/* The output of that name, or -1. */
static int output_find(const char *name) {
  for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++)
    if (strcmp(ep_inference_output_name((ep_inference_output)i), name) == 0) return i;
  return -1;
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

static ep_status id_take(ep_slice value, char **out, ep_error *error) {
  json_t *id = NULL;
  if (!value.at) return EP_OK;
  ep_status status = ep_slice_load(value, "\"id\"", &id, error);
  if (status == EP_OK && !json_is_string(id))
    status = ep_fail(error, EP_MALFORMED, "\"id\" must be a string");
  json_decref(id);
  if (status != EP_OK) return status;
  *out = strndup(value.at, value.bytes);
  return *out ? EP_OK : ep_fail_memory(error);
}

/* Whether the model has that output. */
static bool output_is_there(const ep_model *model, const ep_output_meaning *meaning, int output) {
  switch (output) {
  case EP_INFERENCE_CLASS: return model->decision != EP_DECISION_NONE;
  case EP_INFERENCE_CLASS_NAME: return meaning && meaning->classes > 0;
  case EP_INFERENCE_PROBABILITIES: return meaning && ep_output_classes(meaning, model->outputs) > 0;
  default: return true;
  }
}

static ep_status output_take(const ep_model *model, const ep_output_meaning *meaning,
                             const json_t *output, bool binary, ep_inference_request *out,
                             ep_error *error) {
  char name[64] = "";
  if (!json_is_object(output) || !ep_json_cut_text(output, "name", name, sizeof name))
    return ep_fail(error, EP_MALFORMED, "an output must be an object with a \"name\"");
  int index = output_find(name);
  if (index == EP_INFERENCE_CLASS && model->decision == EP_DECISION_NONE)
    return ep_fail(error, EP_MALFORMED,
                   "model \"%s\" is not a classifier: it has no output \"class\"", model->name);
  if (index < 0 || !output_is_there(model, meaning, index))
    return ep_fail(error, EP_MALFORMED,
                   "model \"%s\" has no output \"%s\": its metadata names them", model->name, name);
  out->wanted[index] = true;
  out->binary[index] = binary;
  return flag_take(json_object_get(output, "parameters"), "binary_data", &out->binary[index],
                   error);
}

static ep_status threshold_take(const ep_model *model, const json_t *parameters, ep_threshold *out,
                                ep_error *error) {
  ep_error why = {0};
  ep_status status = ep_threshold_take(json_object_get(parameters, "threshold"), out, &why);
  if (status == EP_OK && out->kind != EP_THRESHOLD_NONE && !ep_model_has_two_classes(model))
    status = ep_fail(&why, EP_MALFORMED,
                     "it requires two classes, and model \"%s\" does not have two", model->name);
  if (status == EP_OK) return EP_OK;
  return ep_fail(error, status, "parameter \"threshold\": %.400s", why.message);
}

/* binary: whether outputs that do not say so are bytes; it stays where it is not given. */
static ep_status parameters_take(const ep_model *model, ep_slice parameters, bool *binary,
                                 ep_threshold *threshold, ep_error *error) {
  json_t *tree = NULL;
  if (!parameters.at) return EP_OK;
  ep_status status = ep_slice_load(parameters, "\"parameters\"", &tree, error);
  if (status == EP_OK) status = flag_take(tree, "binary_data_output", binary, error);
  if (status == EP_OK) status = threshold_take(model, tree, threshold, error);
  json_decref(tree);
  return status;
}

/* Which outputs are wanted, and how; all of them in JSON unless the request says more. */
static ep_status outputs_take(const ep_model *model, const ep_output_meaning *meaning,
                              ep_slice parameters, ep_slice outputs, ep_inference_request *out,
                              ep_error *error) {
  json_t *tree = NULL;
  const json_t *output;
  size_t index;
  bool binary = false;
  ep_status status = parameters_take(model, parameters, &binary, &out->threshold, error);
  if (status == EP_OK && outputs.at) status = ep_slice_load(outputs, "\"outputs\"", &tree, error);
  if (status == EP_OK && outputs.at && !json_is_array(tree))
    status = ep_fail(error, EP_MALFORMED, "\"outputs\" must be a list");
  if (status == EP_OK && json_array_size(tree) == 0)
    for (int i = 0; i < EP_INFERENCE_OUTPUTS; i++) {
      out->wanted[i] = output_is_there(model, meaning, i);
      out->binary[i] = binary;
    }
  for (index = 0; status == EP_OK && (output = json_array_get(tree, index)); index++)
    status = output_take(model, meaning, output, binary, out, error);
  json_decref(tree);
  return status;
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

static ep_status bytes_check(const ep_tensor_shape *shape, int64_t said, ep_slice behind,
                             ep_error *error) {
  int64_t element = (int64_t)ep_tensor_element_bytes(shape->type), needed = shape->count * element;
  if (said != needed)
    return ep_fail(error, EP_MALFORMED,
                   "\"binary_data_size\" is %lld: %lld numbers of %s are %lld bytes",
                   (long long)said, (long long)shape->count, ep_tensor_type_name(shape->type),
                   (long long)needed);
  if ((uint64_t)needed != behind.bytes)
    return ep_fail(
        error, EP_MALFORMED,
        "\"binary_data_size\" is %lld, and %zu bytes follow the JSON (%s gives its length)",
        (long long)said, behind.bytes, EP_INFERENCE_LENGTH_HEADER);
  return EP_OK;
}

static ep_status data_read(const ep_inference_input *input, const ep_tensor_shape *shape,
                           ep_slice behind, double *x, ep_error *error) {
  if (input->bytes < 0 && behind.bytes > 0)
    return ep_fail(error, EP_MALFORMED,
                   "trailing data after the JSON, size %zu, belongs to no input", behind.bytes);
  if (input->bytes < 0)
    return ep_tensor_read_json(shape, input->data.at, input->data.bytes, x, error);
  ep_status status = bytes_check(shape, input->bytes, behind, error);
  return status == EP_OK ? ep_tensor_read_bytes(shape, behind.at, x, error) : status;
}

static ep_status input_take(const ep_model *model, const ep_inference_input *input, ep_slice behind,
                            ep_inference_request *out, ep_error *error) {
  ep_tensor_shape shape = input->shape;
  int known = ep_tensor_type_from_name(input->type);
  if (known < 0)
    return ep_fail(error, EP_MALFORMED,
                   "the datatype \"%s\" of the input \"%s\" is not supported: " EP_TENSOR_TAKEN
                   " are",
                   input->type, input->name);
  ep_status status = shape_check(model, &shape, error);
  if (status != EP_OK) return status;
  shape.type = (ep_tensor_type)known;
  out->rows = shape.shape[0];
  out->columns = ep_model_columns(model);
  out->x = malloc((size_t)shape.count * sizeof *out->x);
  if (!out->x) return ep_fail_memory(error);
  return data_read(input, &shape, behind, out->x, error);
}

/* One input of that name and of numbers has whole rows; all else are columns by their names. */
static ep_status inputs_take(const ep_model *model, ep_slice inputs, ep_slice behind,
                             ep_inference_request *out, ep_error *error) {
  if (!inputs.at) return ep_fail(error, EP_MALFORMED, "\"inputs\" is required");
  ep_scanner scanner = {inputs.at, inputs.at + inputs.bytes};
  ep_inference_input input;
  ep_slice first;
  if (!ep_scan_token(&scanner, '['))
    return ep_fail(error, EP_MALFORMED, "\"inputs\" must be a list");
  ep_status status = ep_scan_token(&scanner, ']')
                         ? ep_fail(error, EP_MALFORMED,
                                   "\"inputs\" must have one tensor, \"%s\", or one for each "
                                   "column, by its name",
                                   EP_INFERENCE_INPUT)
                         : ep_slice_take(&scanner, "\"inputs\"", &first, error);
  if (status == EP_OK) status = ep_inference_input_read(first, &input, error);
  if (status != EP_OK) return status;
  if (ep_scan_peek(&scanner) == ']' && strcmp(input.name, EP_INFERENCE_INPUT) == 0 &&
      strcmp(input.type, EP_INFERENCE_TEXT) != 0)
    return input_take(model, &input, behind, out, error);
  return ep_inference_columns_read(inputs, behind, out, error);
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

ep_status ep_inference_parse(const ep_model *model, const ep_output_meaning *meaning,
                             const char *body, size_t body_bytes, size_t json_bytes,
                             ep_inference_request *out, ep_error *error) {
  enum { ID, PARAMETERS, INPUTS, OUTPUTS, COUNT };
  static const char *const KEYS[COUNT] = {"id", "parameters", "inputs", "outputs"};
  ep_slice values[COUNT] = {0}, behind = {body + json_bytes, body_bytes - json_bytes};
  ep_scanner text = {body, body + json_bytes};
  *out = (ep_inference_request){0};
  ep_scan_mark(&text);
  ep_status status = ep_slice_cut((ep_slice){text.at, (size_t)(text.end - text.at)}, "the request",
                                  KEYS, COUNT, values, error);
  if (status == EP_OK) status = id_take(values[ID], &out->id, error);
  if (status == EP_OK)
    status = outputs_take(model, meaning, values[PARAMETERS], values[OUTPUTS], out, error);
  if (status == EP_OK) status = inputs_take(model, values[INPUTS], behind, out, error);
  return status;
}

void ep_inference_request_deinit(ep_inference_request *request) {
  free(request->id);
  free(request->x);
  json_decref(request->named);
  ep_warnings_deinit(&request->warnings);
  *request = (ep_inference_request){0};
}
