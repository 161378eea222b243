/* weights_json.c: weights as JSON text, for those who have no reader of safetensors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/durable_file.h"
#include "engine/safetensors.h"
#include "engine/weights.h"

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

static ep_status row_write(ep_durable_file *file, const uint8_t *bytes, int64_t count,
                           ep_error *error) {
  ep_status status = text_write(file, "[", error);
  for (int64_t i = 0; i < count && !status; i++) {
    float value;
    memcpy(&value, bytes + (size_t)i * sizeof value, sizeof value);
    if (i > 0) status = text_write(file, ",", error);
    if (!status) status = value_write(file, value, error);
  }
  return status ? status : text_write(file, "]", error);
}

/* A name of ours ("0.weight") or, in a file of another's making, one that JSON must quote. */
static ep_status name_write(ep_durable_file *file, const char *name, ep_error *error) {
  ep_status status = text_write(file, "\"", error);
  for (; *name && !status; name++) {
    char text[8] = {*name};
    if (*name == '"' || *name == '\\' || (unsigned char)*name < 0x20)
      snprintf(text, sizeof text, "\\u%04x", (unsigned)(unsigned char)*name);
    status = text_write(file, text, error);
  }
  return status ? status : text_write(file, "\"", error);
}

static ep_status tensor_write(ep_durable_file *file, const ep_tensor *tensor, ep_error *error) {
  char text[80];
  bool matrix = tensor->dimensions == 2;
  int64_t columns = matrix ? tensor->shape[1] : tensor->shape[0];
  if (matrix)
    snprintf(text, sizeof text, ":{\"shape\":[%lld,%lld],\"data\":[", (long long)tensor->shape[0],
             (long long)tensor->shape[1]);
  else
    snprintf(text, sizeof text, ":{\"shape\":[%lld],\"data\":", (long long)tensor->shape[0]);
  ep_status status = name_write(file, tensor->name, error);
  if (!status) status = text_write(file, text, error);
  for (int64_t i = 0; i < (matrix ? tensor->shape[0] : 1) && !status; i++) {
    if (i > 0) status = text_write(file, ",", error);
    if (!status)
      status =
          row_write(file, tensor->bytes + (size_t)(i * columns) * sizeof(float), columns, error);
  }
  return status ? status : text_write(file, matrix ? "]}" : "}", error);
}

/* The notes whose text is JSON; null when a file lacks one. */
static ep_status note_write(ep_durable_file *file, const ep_tensors *tensors, const char *key,
                            ep_error *error) {
  const char *text = ep_tensors_note(tensors, key);
  ep_status status = text_write(file, ",\"", error);
  if (!status) status = text_write(file, key, error);
  if (!status) status = text_write(file, "\":", error);
  return status ? status : text_write(file, text ? text : "null", error);
}

static ep_status all_write(ep_durable_file *file, const ep_tensors *tensors, ep_error *error) {
  static const char *const keys[] = {"x_mean", "x_deviation", "y_mean", "y_deviation", "spec"};
  ep_status status = text_write(file, "{\"format\":\"epochd-weights\",\"tensors\":{", error);
  for (size_t i = 0; i < tensors->tensors_count && !status; i++) {
    if (i > 0) status = text_write(file, ",", error);
    if (!status) status = tensor_write(file, &tensors->tensor[i], error);
  }
  if (!status) status = text_write(file, "}", error);
  for (size_t i = 0; i < sizeof keys / sizeof *keys && !status; i++)
    status = note_write(file, tensors, keys[i], error);
  return status ? status : text_write(file, "}\n", error);
}

ep_status ep_weights_to_json(const char *path, const char *json_path, ep_error *error) {
  ep_tensors tensors;
  ep_durable_file *file = NULL;
  ep_status status = ep_tensors_open(path, &tensors, error);
  if (status) return status;
  status = ep_durable_file_create(json_path, &file, error);
  if (!status) status = all_write(file, &tensors, error);
  ep_tensors_close(&tensors);
  if (!status) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}
