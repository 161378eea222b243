/* weights.c: a plan's parameters and scaling as tensors and notes, and back. */
#include "engine/weights.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/safetensors.h"

/* Values as the text of a JSON array, "null" for NULL. NULL when memory is short or one is not
 * finite. Owned by the caller. */
static char *values_format(const double *values, int64_t count) {
  if (!values) return strdup("null");
  json_t *array = json_array();
  for (int64_t i = 0; array && i < count; i++) {
    if (json_array_append_new(array, json_real(values[i])) == 0) continue;
    json_decref(array);
    return NULL;
  }
  char *text = array ? json_dumps(array, JSON_COMPACT) : NULL;
  json_decref(array);
  return text;
}

/* Back: *out is [count] and the caller's, NULL for "null" or no text at all. `positive`: a
 * deviation. */
static ep_status values_parse(const ep_tensors *tensors, const char *key, int64_t count,
                              bool positive, double **out, ep_error *error) {
  const char *text = ep_tensors_note(tensors, key);
  ep_status status = EP_OK;
  *out = NULL;
  if (!text || strcmp(text, "null") == 0) return EP_OK;
  json_t *array = json_loads(text, 0, NULL);
  if (!json_is_array(array) || json_array_size(array) != (size_t)count)
    status =
        ep_fail(error, EP_DATA, "weights: %s is no array of %lld numbers", key, (long long)count);
  if (!status && !(*out = malloc((size_t)count * sizeof **out)))
    status = ep_fail(error, EP_NO_MEMORY, "no memory for %s", key);
  for (int64_t i = 0; i < count && !status; i++) {
    const json_t *number = json_array_get(array, (size_t)i);
    (*out)[i] = json_number_value(number);
    if (!json_is_number(number) || (positive && !((*out)[i] > 0)))
      status = ep_fail(error, EP_DATA, "weights: value %lld of %s cannot be", (long long)i, key);
  }
  json_decref(array);
  return status;
}

static void tensor_set(ep_tensor *tensor, int layer, bool weight, const ep_op *op,
                       const float *values) {
  snprintf(tensor->name, sizeof tensor->name, "%d.%s", layer, weight ? "weight" : "bias");
  tensor->dimensions = weight ? 2 : 1;
  tensor->shape[0] = op->out_features;
  tensor->shape[1] = op->in_features;
  tensor->values_count = weight ? op->out_features * op->in_features : op->out_features;
  tensor->bytes = (const uint8_t *)values;
}

/* The plan's tensors, in the order of its parameters, which are lent. out->tensor has room for two
 * a layer. */
static void tensors_list(const ep_plan *plan, const float *parameters, ep_tensors *out) {
  for (int i = 0; i < plan->program.ops_count; i++) {
    const ep_op *op = &plan->program.ops[i];
    if (op->weight >= 0)
      tensor_set(&out->tensor[out->tensors_count++], i, true, op, parameters + op->weight);
    if (op->bias >= 0)
      tensor_set(&out->tensor[out->tensors_count++], i, false, op, parameters + op->bias);
  }
}

/* Takes `text`. */
static bool note_add(ep_tensors *out, const char *key, char *text) {
  ep_tensor_note *note = &out->note[out->notes_count++];
  note->key = strdup(key);
  note->text = text;
  return note->key && text;
}

enum { NOTES = 7 };

static bool notes_list(const ep_scaling *scaling, const char *spec_text, ep_tensors *out) {
  return note_add(out, "format", strdup("pt")) && note_add(out, "epochd", strdup(EP_VERSION)) &&
         note_add(out, "spec", strdup(spec_text)) &&
         note_add(out, "x_mean", values_format(scaling->x_mean, scaling->x_columns)) &&
         note_add(out, "x_deviation", values_format(scaling->x_deviation, scaling->x_columns)) &&
         note_add(out, "y_mean", values_format(scaling->y_mean, scaling->y_columns)) &&
         note_add(out, "y_deviation", values_format(scaling->y_deviation, scaling->y_columns));
}

ep_status ep_weights_write(const char *path, const ep_plan *plan, const float *parameters,
                           const ep_scaling *scaling, const char *spec_text, char sha256[65],
                           int64_t *bytes, ep_error *error) {
  ep_tensors tensors = {0};
  ep_status status = EP_OK;
  tensors.tensor = calloc(2 * (size_t)plan->program.ops_count + 1, sizeof *tensors.tensor);
  tensors.note = calloc(NOTES, sizeof *tensors.note);
  if (!tensors.tensor || !tensors.note || !notes_list(scaling, spec_text, &tensors))
    status = ep_fail(error, EP_NO_MEMORY, "no memory to write the weights");
  if (!status) {
    tensors_list(plan, parameters, &tensors);
    status = ep_tensors_write(path, &tensors, sha256, bytes, error);
  }
  ep_tensors_close(&tensors);
  return status;
}

/* One expected tensor is there, in its shape, and copied. */
static ep_status tensor_copy(const ep_tensors *tensors, const ep_tensor *expected, float *out,
                             ep_error *error) {
  const ep_tensor *tensor = ep_tensors_find(tensors, expected->name);
  if (!tensor) return ep_fail(error, EP_DATA, "weights: there is no tensor \"%s\"", expected->name);
  bool same = tensor->dimensions == expected->dimensions && tensor->shape[0] == expected->shape[0];
  if (!same || (tensor->dimensions == 2 && tensor->shape[1] != expected->shape[1]))
    return ep_fail(error, EP_DATA, "weights: \"%s\" does not have the model's shape",
                   expected->name);
  memcpy(out, tensor->bytes, (size_t)tensor->values_count * sizeof *out);
  return EP_OK;
}

static ep_status parameters_read(const ep_tensors *file, const ep_plan *plan, float *parameters,
                                 ep_error *error) {
  ep_tensors expected = {0};
  ep_status status = EP_OK;
  expected.tensor = calloc(2 * (size_t)plan->program.ops_count + 1, sizeof *expected.tensor);
  if (!expected.tensor) return ep_fail(error, EP_NO_MEMORY, "no memory to read the weights");
  tensors_list(plan, parameters, &expected);
  if (file->tensors_count != expected.tensors_count)
    status = ep_fail(error, EP_DATA, "weights: %zu tensors, the model has %zu", file->tensors_count,
                     expected.tensors_count);
  for (size_t i = 0; i < expected.tensors_count && !status; i++) {
    int64_t place = (const float *)(const void *)expected.tensor[i].bytes - parameters;
    status = tensor_copy(file, &expected.tensor[i], parameters + place, error);
  }
  ep_tensors_close(&expected);
  return status;
}

static ep_status scaling_read(const ep_tensors *file, const ep_plan *plan, ep_scaling *out,
                              ep_error *error) {
  int64_t x = out->x_columns = plan->program.in_features;
  int64_t y = out->y_columns = plan->program.target_columns;
  ep_status status = values_parse(file, "x_mean", x, false, &out->x_mean, error);
  if (!status) status = values_parse(file, "x_deviation", x, true, &out->x_deviation, error);
  if (!status) status = values_parse(file, "y_mean", y, false, &out->y_mean, error);
  if (!status) status = values_parse(file, "y_deviation", y, true, &out->y_deviation, error);
  if (!status && (!out->x_mean != !out->x_deviation || !out->y_mean != !out->y_deviation))
    status = ep_fail(error, EP_DATA, "weights: a mean without its deviation");
  return status;
}

ep_status ep_weights_read(const char *path, const ep_plan *plan, float *parameters,
                          ep_scaling *scaling, ep_error *error) {
  ep_tensors file;
  *scaling = (ep_scaling){0};
  ep_status status = ep_tensors_open(path, &file, error);
  if (status) return status;
  status = parameters_read(&file, plan, parameters, error);
  if (!status) status = scaling_read(&file, plan, scaling, error);
  ep_tensors_close(&file);
  if (status) ep_scaling_deinit(scaling);
  return status;
}

ep_status ep_weights_read_spec(const char *path, char **spec_text, ep_error *error) {
  ep_tensors file;
  *spec_text = NULL;
  ep_status status = ep_tensors_open(path, &file, error);
  if (status) return status;
  const char *text = ep_tensors_note(&file, "spec");
  if (!text)
    status = ep_fail(error, EP_DATA, "weights: the file has no spec");
  else if (!(*spec_text = strdup(text)))
    status = ep_fail(error, EP_NO_MEMORY, "no memory for the spec");
  ep_tensors_close(&file);
  return status;
}

ep_status ep_weights_read_features(const char *path, int64_t *features, ep_error *error) {
  ep_tensors tensors = {0};
  *features = 0;
  ep_status status = ep_tensors_open(path, &tensors, error);
  for (size_t i = 0; i < tensors.tensors_count && *features == 0; i++)
    if (tensors.tensor[i].dimensions == 2) *features = tensors.tensor[i].shape[1];
  if (!status && *features == 0) status = ep_fail(error, EP_DATA, "weights: no layer has a weight");
  ep_tensors_close(&tensors);
  return status;
}
