#include "api/inference/input.h"

#include <stdio.h>

#include "api/json/json.h"

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
      return ep_fail(error, EP_TOO_LARGE, "\"shape\" is too large");
  }
  return EP_OK;
}

static ep_status shape_take(ep_slice value, ep_tensor_shape *out, ep_error *error) {
  json_t *tree = NULL;
  *out = (ep_tensor_shape){0};
  if (!value.at) return ep_fail(error, EP_MALFORMED, "the input's \"shape\" is required");
  ep_status status = ep_slice_load(value, "\"shape\"", &tree, error);
  size_t count = json_array_size(tree);
  if (status == EP_OK && count >= 1 && count <= EP_LIMIT_ROW_DIMENSIONS + 1)
    status = dimensions_take(tree, out, error);
  json_decref(tree);
  return status;
}

/* A string of the input, cut to room - 1 bytes. */
static ep_status word_take(ep_slice value, const char *key, char *word, size_t room,
                           ep_error *error) {
  json_t *tree = NULL;
  if (!value.at) return ep_fail(error, EP_MALFORMED, "the input's \"%s\" is required", key);
  ep_status status = ep_slice_load(value, key, &tree, error);
  if (status == EP_OK && !json_is_string(tree))
    status = ep_fail(error, EP_MALFORMED, "the input's \"%s\" must be a string", key);
  if (status == EP_OK) snprintf(word, room, "%s", json_string_value(tree));
  json_decref(tree);
  return status;
}

/* binary_data_size of the input's parameters; -1 where it is not given. */
static ep_status binary_size_take(ep_slice parameters, int64_t *out, ep_error *error) {
  json_t *tree = NULL;
  *out = -1;
  if (!parameters.at) return EP_OK;
  ep_status status = ep_slice_load(parameters, "the input's \"parameters\"", &tree, error);
  const json_t *value = json_object_get(tree, "binary_data_size");
  if (status == EP_OK && value && (!ep_json_integer(value, out) || *out < 0))
    status = ep_fail(error, EP_MALFORMED, "\"binary_data_size\" must be a number of bytes");
  json_decref(tree);
  return status;
}

ep_status ep_inference_input_read(ep_slice text, ep_inference_input *out, ep_error *error) {
  enum { NAME, SHAPE, TYPE, PARAMETERS, DATA, COUNT };
  static const char *const KEYS[COUNT] = {"name", "shape", "datatype", "parameters", "data"};
  ep_slice values[COUNT] = {0};
  ep_status status = ep_slice_cut(text, "the input", KEYS, COUNT, values, error);
  if (status == EP_OK) status = word_take(values[NAME], "name", out->name, sizeof out->name, error);
  if (status == EP_OK)
    status = word_take(values[TYPE], "datatype", out->type, sizeof out->type, error);
  if (status == EP_OK) status = shape_take(values[SHAPE], &out->shape, error);
  if (status == EP_OK) status = binary_size_take(values[PARAMETERS], &out->bytes, error);
  if (status != EP_OK) return status;
  out->data = values[DATA];
  if (out->bytes >= 0 && out->data.at)
    return ep_fail(error, EP_MALFORMED, "the input has both \"data\" and \"binary_data_size\"");
  if (out->bytes < 0 && !out->data.at)
    return ep_fail(error, EP_MALFORMED, "the input has neither \"data\" nor \"binary_data_size\"");
  return EP_OK;
}
