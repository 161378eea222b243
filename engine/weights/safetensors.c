#include "engine/weights/safetensors.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hash/sha256.h"
#include "api/json/json.h"
#include "api/json/memory.h"
#include "engine/files/durable_file.h"
#include "engine/files/excerpt.h"

enum { LENGTH_BYTES = 8, ALIGNMENT_BYTES = 8 };
static const char metadata_key[] = "__metadata__";

static uint64_t length_read(const uint8_t bytes[LENGTH_BYTES]) {
  uint64_t length = 0;
  for (int i = LENGTH_BYTES - 1; i >= 0; i--) length = length << 8 | bytes[i];
  return length;
}

/* "__metadata__": texts only. */
static ep_status notes_parse(json_t *object, ep_tensors *out, ep_error *error) {
  const char *key;
  json_t *value;
  if (!json_is_object(object))
    return ep_fail(error, EP_DATA, "safetensors: __metadata__ is not an object");
  out->note = calloc(json_object_size(object) + 1, sizeof *out->note);
  if (!out->note) return ep_fail_memory(error);
  json_object_foreach(object, key, value) {
    if (!json_is_string(value))
      return ep_fail(error, EP_DATA, "safetensors: __metadata__ must contain only strings");
    ep_tensor_note *note = &out->note[out->notes_count++];
    note->key = strdup(key);
    note->text = strdup(json_string_value(value));
    if (!note->key || !note->text) return ep_fail_memory(error);
  }
  return EP_OK;
}

static bool shape_parse(const json_t *array, ep_tensor *out) {
  size_t dimensions = json_array_size(array);
  if (!json_is_array(array) || dimensions > EP_TENSOR_DIMENSIONS) return false;
  out->dimensions = (int)dimensions;
  out->values_count = 1;
  for (size_t i = 0; i < dimensions; i++) {
    const json_t *extent = json_array_get(array, i);
    if (!json_is_integer(extent) || json_integer_value(extent) < 1) return false;
    out->shape[i] = json_integer_value(extent);
    if (__builtin_mul_overflow(out->values_count, out->shape[i], &out->values_count)) return false;
  }
  return true;
}

static int64_t value_bytes(const ep_tensor *tensor) {
  return tensor->whole ? (int64_t)sizeof(int64_t) : (int64_t)sizeof(float);
}

/* One tensor; its offsets lie within the `size` bytes at `values`. */
static ep_status tensor_parse(const char *name, json_t *object, const uint8_t *values, size_t size,
                              ep_tensor *out, ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  const char *dtype;
  json_t *shape, *offsets;
  json_int_t begin, end, needed;
  ep_excerpt(shown, name, strlen(name));
  if (strlen(name) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_DATA, "safetensors: the name \"%s\" is too long", shown);
  memcpy(out->name, name, strlen(name) + 1);
  if (json_unpack(object, "{s:s, s:o, s:o !}", "dtype", &dtype, "shape", &shape, "data_offsets",
                  &offsets) != 0 ||
      json_unpack(offsets, "[I, I !]", &begin, &end) != 0)
    return ep_json_memory_short()
               ? ep_fail_memory(error)
               : ep_fail(error, EP_DATA, "safetensors: \"%s\" needs dtype, shape and data_offsets",
                         shown);
  out->whole = strcmp(dtype, "I64") == 0;
  if (!out->whole && strcmp(dtype, "F32") != 0)
    return ep_fail(error, EP_DATA, "safetensors: \"%s\" is not of type F32 (nor I64)", shown);
  if (!shape_parse(shape, out))
    return ep_fail(error, EP_DATA, "safetensors: \"%s\" has an unsupported shape", shown);
  if (begin < 0 || end < begin || (uint64_t)end > size ||
      __builtin_mul_overflow(out->values_count, value_bytes(out), &needed) || end - begin != needed)
    return ep_fail(error, EP_DATA,
                   "safetensors: the offsets of \"%s\" do not fit its shape or the file", shown);
  out->bytes = values + begin;
  return EP_OK;
}

static int tensor_compare(const void *left, const void *right) {
  const uint8_t *a = ((const ep_tensor *)left)->bytes, *b = ((const ep_tensor *)right)->bytes;
  return (a > b) - (a < b);
}

/* Sorted by place, each tensor starts where the one before ends, and the last ends the file. */
static ep_status places_check(ep_tensors *out, const uint8_t *values, size_t size,
                              ep_error *error) {
  if (out->tensors_count > 0)
    qsort(out->tensor, out->tensors_count, sizeof *out->tensor, tensor_compare);
  const uint8_t *expected = values;
  for (size_t i = 0; i < out->tensors_count; i++) {
    if (out->tensor[i].bytes != expected)
      return ep_fail(error, EP_DATA, "safetensors: the tensors overlap or leave a gap");
    expected += out->tensor[i].values_count * value_bytes(&out->tensor[i]);
  }
  if (expected != values + size)
    return ep_fail(error, EP_DATA, "safetensors: trailing data after the last tensor");
  return EP_OK;
}

static ep_status header_parse(json_t *root, const uint8_t *values, size_t size, ep_tensors *out,
                              ep_error *error) {
  const char *name;
  json_t *value;
  ep_status status = EP_OK;
  if (!json_is_object(root))
    return ep_fail(error, EP_DATA, "safetensors: the header is not an object");
  out->tensor = calloc(json_object_size(root) + 1, sizeof *out->tensor);
  if (!out->tensor) return ep_fail_memory(error);
  json_object_foreach(root, name, value) {
    if (strcmp(name, metadata_key) == 0)
      status = notes_parse(value, out, error);
    else
      status = tensor_parse(name, value, values, size, &out->tensor[out->tensors_count++], error);
    if (status != EP_OK) return status;
  }
  return places_check(out, values, size, error);
}

ep_status ep_tensors_read(const uint8_t *bytes, size_t size, ep_tensors *out, ep_error *error) {
  *out = (ep_tensors){0};
  if (size < LENGTH_BYTES)
    return ep_fail(error, EP_DATA, "safetensors: the file ends inside its header");
  uint64_t length = length_read(bytes);
  if (length > EP_LIMIT_SAFETENSORS_HEADER_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "safetensors: a header of %llu bytes: the limit is %d",
                   (unsigned long long)length, EP_LIMIT_SAFETENSORS_HEADER_BYTES);
  if (length > size - LENGTH_BYTES)
    return ep_fail(error, EP_DATA, "safetensors: the file ends inside its header");
  json_error_t fault;
  const char *text = (const char *)bytes + LENGTH_BYTES;
  ep_status status = ep_json_check(text, (size_t)length, EP_LIMIT_HEADER_TREE_BYTES, error);
  if (status == EP_INVALID)
    return ep_fail(error, EP_DATA, "safetensors: the header is nested deeper than %d levels",
                   EP_LIMIT_JSON_DEPTH);
  if (status != EP_OK) return status;
  json_t *root = ep_json_read(text, (size_t)length, JSON_REJECT_DUPLICATES, &fault);
  if (!root && !fault.text[0]) return ep_fail_memory(error);
  if (!root) return ep_fail(error, EP_DATA, "safetensors: the header: %s", fault.text);
  const uint8_t *values = bytes + LENGTH_BYTES + length;
  status = header_parse(root, values, size - LENGTH_BYTES - (size_t)length, out, error);
  json_decref(root);
  if (status != EP_OK) ep_tensors_close(out);
  return status;
}

ep_status ep_tensors_open(const char *path, ep_tensors *out, ep_error *error) {
  ep_mapping mapping;
  *out = (ep_tensors){0};
  ep_status status = ep_mapping_open(path, &mapping, error);
  if (status != EP_OK) return status;
  status = ep_tensors_read(mapping.bytes, mapping.size, out, error);
  if (status != EP_OK)
    ep_mapping_close(&mapping);
  else
    out->mapping = mapping;
  return status;
}

void ep_tensors_close(ep_tensors *tensors) {
  for (size_t i = 0; i < tensors->notes_count; i++) {
    free(tensors->note[i].key);
    free(tensors->note[i].text);
  }
  free(tensors->note);
  free(tensors->tensor);
  ep_mapping_close(&tensors->mapping);
  *tensors = (ep_tensors){0};
}

const ep_tensor *ep_tensors_find(const ep_tensors *tensors, const char *name) {
  for (size_t i = 0; i < tensors->tensors_count; i++)
    if (strcmp(tensors->tensor[i].name, name) == 0) return &tensors->tensor[i];
  return NULL;
}

const char *ep_tensors_note(const ep_tensors *tensors, const char *key) {
  for (size_t i = 0; i < tensors->notes_count; i++)
    if (strcmp(tensors->note[i].key, key) == 0) return tensors->note[i].text;
  return NULL;
}

char *ep_tensor_shape_format(const ep_tensor *tensor, char text[EP_TENSOR_SHAPE_BYTES]) {
  int used = snprintf(text, EP_TENSOR_SHAPE_BYTES, "[");
  for (int i = 0; i < tensor->dimensions; i++)
    used += snprintf(text + used, EP_TENSOR_SHAPE_BYTES - (size_t)used, "%s%lld", i > 0 ? ", " : "",
                     (long long)tensor->shape[i]);
  snprintf(text + used, EP_TENSOR_SHAPE_BYTES - (size_t)used, "]");
  return text;
}

bool ep_tensor_shape_same(const ep_tensor *a, const ep_tensor *b) {
  if (a->dimensions != b->dimensions) return false;
  for (int i = 0; i < a->dimensions; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

static json_t *notes_json(const ep_tensors *tensors) {
  json_t *object = json_object();
  for (size_t i = 0; object && i < tensors->notes_count; i++) {
    const ep_tensor_note *note = &tensors->note[i];
    if (json_object_set_new(object, note->key, json_string(note->text)) == 0) continue;
    json_decref(object);
    return NULL;
  }
  return object;
}

static json_t *tensor_json(const ep_tensor *tensor, int64_t begin) {
  json_int_t end = begin + tensor->values_count * (int64_t)sizeof(float);
  json_t *shape = json_array();
  for (int i = 0; shape && i < tensor->dimensions; i++) {
    if (json_array_append_new(shape, json_integer(tensor->shape[i])) == 0) continue;
    json_decref(shape);
    shape = NULL;
  }
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets",
                   (json_int_t)begin, end);
}

/* The header as text; NULL when memory is short or a text is not UTF-8. */
static char *header_format(const ep_tensors *tensors) {
  json_t *root = json_object();
  bool ok = root && json_object_set_new(root, metadata_key, notes_json(tensors)) == 0;
  int64_t begin = 0;
  for (size_t i = 0; ok && i < tensors->tensors_count; i++) {
    const ep_tensor *tensor = &tensors->tensor[i];
    ok = json_object_set_new(root, tensor->name, tensor_json(tensor, begin)) == 0;
    begin += tensor->values_count * (int64_t)sizeof(float);
  }
  char *text = ok ? ep_json_write(root, JSON_COMPACT) : NULL;
  json_decref(root);
  return text;
}

/* Where a file's bytes go, piece by piece. */
typedef ep_status piece_take(void *context, const void *bytes, size_t count, ep_error *error);

static ep_status file_take(void *context, const void *bytes, size_t count, ep_error *error) {
  return ep_durable_file_write(context, bytes, count, error);
}

/* The length, the header, and spaces until the values start at a multiple of 8; then the values. */
static ep_status pieces_give(const ep_tensors *tensors, const char *header, piece_take *take,
                             void *context, ep_error *error) {
  size_t bytes = strlen(header), padding = (size_t)-bytes % ALIGNMENT_BYTES;
  if (bytes + padding > EP_LIMIT_SAFETENSORS_HEADER_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "the weights' header of %zu bytes is too large", bytes);
  uint8_t length[LENGTH_BYTES];
  for (int i = 0; i < LENGTH_BYTES; i++) length[i] = (uint8_t)((bytes + padding) >> 8 * i);
  ep_status status = take(context, length, sizeof length, error);
  if (status == EP_OK) status = take(context, header, bytes, error);
  if (status == EP_OK) status = take(context, "       ", padding, error);
  for (size_t i = 0; i < tensors->tensors_count && status == EP_OK; i++) {
    const ep_tensor *tensor = &tensors->tensor[i];
    status = take(context, tensor->bytes, (size_t)tensor->values_count * sizeof(float), error);
  }
  return status;
}

static char *header_make(const ep_tensors *tensors, ep_error *error) {
  char *header = header_format(tensors);
  if (!header) ep_fail(error, EP_INTERNAL, "the weights' header: out of memory, or not UTF-8");
  return header;
}

ep_status ep_tensors_write(const char *path, const ep_tensors *tensors, ep_durable_group *group,
                           char sha256[EP_SHA256_HEX_BYTES], int64_t *bytes, ep_error *error) {
  ep_durable_file *file = NULL;
  char *header = header_make(tensors, error);
  if (!header) return EP_INTERNAL;
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status == EP_OK) status = pieces_give(tensors, header, file_take, file, error);
  free(header);
  if (status == EP_OK && group) return ep_durable_group_take(group, file, sha256, bytes, error);
  if (status == EP_OK) return ep_durable_file_commit(file, sha256, bytes, error);
  ep_durable_file_abandon(file);
  return status;
}

typedef struct {
  ep_sha256 hash;
  int64_t bytes;
} file_measure;

static ep_status measure_take(void *context, const void *bytes, size_t count, ep_error *error) {
  (void)error;
  file_measure *measure = context;
  ep_sha256_update(&measure->hash, bytes, count);
  measure->bytes += (int64_t)count;
  return EP_OK;
}

ep_status ep_tensors_measure(const ep_tensors *tensors, char sha256[EP_SHA256_HEX_BYTES],
                             int64_t *bytes, ep_error *error) {
  file_measure measure = {.bytes = 0};
  char *header = header_make(tensors, error);
  if (!header) return EP_INTERNAL;
  ep_status status = ep_sha256_init(&measure.hash, error);
  if (status == EP_OK) status = pieces_give(tensors, header, measure_take, &measure, error);
  if (status == EP_OK) {
    ep_sha256_final(&measure.hash, sha256);
    *bytes = measure.bytes;
  } else {
    ep_sha256_deinit(&measure.hash);
  }
  free(header);
  return status;
}
