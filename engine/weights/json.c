/* json.c: weights as JSON text, for those who have no reader of safetensors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/durable_file.h"
#include "engine/weights/safetensors.h"
#include "engine/weights/weights.h"

static ep_status text_write(ep_durable_file *file, const char *text, ep_error *error) {
  return ep_durable_file_write(file, text, strlen(text), error);
}

/* The fewest digits that read back the same float; 9 always do. */
static ep_status value_write(ep_durable_file *file, float value, ep_error *error) {
  char text[32];
  if (isnan(value)) return text_write(file, "\"NaN\"", error);
  if (isinf(value)) return text_write(file, value > 0 ? "\"Infinity\"" : "\"-Infinity\"", error);
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  return text_write(file, text, error);
}

/* Values of one dimension and those below it, as nested arrays; *bytes is moved past them. */
static ep_status values_write(ep_durable_file *file, const ep_tensor *tensor, int dimension,
                              const uint8_t **bytes, ep_error *error) {
  if (dimension == tensor->dimensions || dimension == EP_TENSOR_DIMENSIONS) {
    float value;
    memcpy(&value, *bytes, sizeof value);
    *bytes += sizeof value;
    return value_write(file, value, error);
  }
  ep_status status = text_write(file, "[", error);
  for (int64_t i = 0; i < tensor->shape[dimension] && status == EP_OK; i++) {
    if (i > 0) status = text_write(file, ",", error);
    if (status == EP_OK) status = values_write(file, tensor, dimension + 1, bytes, error);
  }
  return status == EP_OK ? text_write(file, "]", error) : status;
}

/* A name of ours ("0.weight") or, in a file of another's making, one that JSON must quote. */
static ep_status name_write(ep_durable_file *file, const char *name, ep_error *error) {
  ep_status status = text_write(file, "\"", error);
  for (; *name && status == EP_OK; name++) {
    char text[8] = {*name};
    if (*name == '"' || *name == '\\' || (unsigned char)*name < 0x20)
      snprintf(text, sizeof text, "\\u%04x", (unsigned)(unsigned char)*name);
    status = text_write(file, text, error);
  }
  return status == EP_OK ? text_write(file, "\"", error) : status;
}

static ep_status tensor_write(ep_durable_file *file, const ep_tensor *tensor, ep_error *error) {
  const uint8_t *bytes = tensor->bytes;
  char shape[EP_TENSOR_SHAPE_BYTES];
  ep_status status = name_write(file, tensor->name, error);
  if (status == EP_OK) status = text_write(file, ":{\"shape\":", error);
  if (status == EP_OK) status = text_write(file, ep_tensor_shape_format(tensor, shape), error);
  if (status == EP_OK) status = text_write(file, ",\"data\":", error);
  if (status == EP_OK) status = values_write(file, tensor, 0, &bytes, error);
  return status == EP_OK ? text_write(file, "}", error) : status;
}

/* A note whose text is JSON; null when a file lacks it. */
static ep_status note_write(ep_durable_file *file, const ep_tensors *tensors, const char *key,
                            ep_error *error) {
  const char *text = ep_tensors_note(tensors, key);
  ep_status status = text_write(file, ",\"", error);
  if (status == EP_OK) status = text_write(file, key, error);
  if (status == EP_OK) status = text_write(file, "\":", error);
  return status == EP_OK ? text_write(file, text ? text : "null", error) : status;
}

static ep_status all_write(ep_durable_file *file, const ep_tensors *tensors, ep_error *error) {
  static const char *const keys[] = {"x_scale", "x_shift",     "x_mean", "x_deviation",
                                     "y_mean",  "y_deviation", "data",   "spec"};
  static const char *const column_keys[] = {"columns", "window", "classes"}; /* of encoded tables */
  ep_status status = text_write(file, "{\"format\":\"epochd-weights\",\"tensors\":{", error);
  const char *between = "";
  for (size_t i = 0; i < tensors->tensors_count && status == EP_OK; i++) {
    if (tensors->tensor[i].whole) continue;
    status = text_write(file, between, error);
    between = ",";
    if (status == EP_OK) status = tensor_write(file, &tensors->tensor[i], error);
  }
  if (status == EP_OK) status = text_write(file, "}", error);
  for (size_t i = 0; i < sizeof keys / sizeof *keys && status == EP_OK; i++)
    status = note_write(file, tensors, keys[i], error);
  for (size_t i = 0; i < sizeof column_keys / sizeof *column_keys && status == EP_OK; i++)
    if (ep_tensors_note(tensors, column_keys[i]))
      status = note_write(file, tensors, column_keys[i], error);
  return status == EP_OK ? text_write(file, "}\n", error) : status;
}

ep_status ep_weights_to_json(const char *path, const char *json_path, const ep_cancellation *stop,
                             ep_error *error) {
  ep_tensors tensors;
  ep_durable_file *file = NULL;
  ep_status status = ep_tensors_open(path, &tensors, error);
  if (status != EP_OK) return status;
  status = ep_durable_file_create(json_path, &file, error);
  if (status == EP_OK) ep_durable_file_heed(file, stop);
  if (status == EP_OK) status = all_write(file, &tensors, error);
  ep_tensors_close(&tensors);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}
