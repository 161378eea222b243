/* safetensors.c: safetensors as an upload: arrays called x_train, y_train and so on (array.h)
 * become data; a file whose tensors are called otherwise is kept as it is, as weights to start a
 * model from. ../safetensors.c is the reader of weights.
 *
 * Format: https://huggingface.co/docs/safetensors: 8 bytes of header length (little-endian), a JSON
 * header {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets"}}, the values. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/hash/checksum.h"
#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/names.h"
#include "engine/data/formats/array.h"
#include "engine/files/durable_file.h"
#include "engine/files/excerpt.h"
#include "engine/files/path.h"

static const char format_name[] = "safetensors";
enum { PREFIX_BYTES = 8 };

/* One tensor; its name is lent by the header's JSON. */
typedef struct {
  const char *name;
  char shown[EP_EXCERPT_BYTES];
  ep_array_header array; /* dtype, dimensions and shape; the extent is not checked yet */
  uint64_t begin, end;   /* in the values */
  ep_split split;
  ep_role role;
  bool part;
} tensor;

typedef struct {
  const uint8_t *values;
  uint64_t values_bytes;
  tensor *tensor; /* [count], owned */
  size_t count, parts;
} content;

static uint64_t header_bytes(const uint8_t *bytes) {
  uint64_t length = 0;
  for (int i = 0; i < PREFIX_BYTES; i++) length |= (uint64_t)bytes[i] << 8 * i;
  return length;
}

static bool recognise(const uint8_t *bytes, size_t size) {
  return size > PREFIX_BYTES && bytes[PREFIX_BYTES] == '{' && bytes[7] == 0 && bytes[6] == 0 &&
         bytes[5] == 0 && bytes[4] == 0; /* a header over 4 GiB is none; no text has these zeros */
}

static ep_status dtype_find(const char *word, tensor *out, ep_error *error) {
  static const struct {
    const char *word;
    ep_dtype dtype;
  } types[] = {{"F32", EP_DTYPE_F32}, {"F64", EP_DTYPE_F64},  {"I8", EP_DTYPE_I8},
               {"I16", EP_DTYPE_I16}, {"I32", EP_DTYPE_I32},  {"I64", EP_DTYPE_I64},
               {"U8", EP_DTYPE_U8},   {"U16", EP_DTYPE_U16},  {"U32", EP_DTYPE_U32},
               {"U64", EP_DTYPE_U64}, {"BOOL", EP_DTYPE_BOOL}};
  char shown[EP_EXCERPT_BYTES];
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].word, word) != 0) continue;
    out->array.dtype = types[i].dtype;
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID,
                 "safetensors: \"%s\" has the unsupported type \"%s\": store it as F32", out->shown,
                 ep_excerpt(shown, word, strlen(word)));
}

static ep_status shape_read(const json_t *shape, tensor *out, ep_error *error) {
  size_t count = json_array_size(shape);
  if (!json_is_array(shape) || count > EP_LIMIT_NPY_DIMENSIONS)
    return ep_fail(error, EP_INVALID, "safetensors: \"%s\" needs a shape of at most %d dimensions",
                   out->shown, EP_LIMIT_NPY_DIMENSIONS);
  uint64_t bytes = ep_dtype_bytes(out->array.dtype);
  for (size_t i = 0; i < count; i++) {
    const json_t *side = json_array_get(shape, i);
    out->array.shape[i] = json_integer_value(side);
    if (!json_is_integer(side) || out->array.shape[i] < 0 ||
        __builtin_mul_overflow(bytes, (uint64_t)out->array.shape[i], &bytes))
      return ep_fail(error, EP_INVALID, "safetensors: invalid shape of \"%s\"", out->shown);
  }
  out->array.dimensions = (int)count;
  if (bytes == out->end - out->begin) return EP_OK;
  return ep_fail(error, EP_INVALID,
                 "safetensors: the shape of \"%s\" takes %llu bytes, its offsets %llu", out->shown,
                 (unsigned long long)bytes, (unsigned long long)(out->end - out->begin));
}

static ep_status tensor_read(const char *name, json_t *value, uint64_t values_bytes, tensor *out,
                             ep_error *error) {
  const char *dtype;
  json_t *shape;
  json_int_t begin, end;
  *out = (tensor){.name = name};
  ep_excerpt(out->shown, name, strlen(name));
  if (json_unpack(value, "{s:s, s:o, s:[I,I!]!}", "dtype", &dtype, "shape", &shape, "data_offsets",
                  &begin, &end) != 0)
    return ep_json_memory_short()
               ? ep_fail_memory(error)
               : ep_fail(error, EP_INVALID,
                         "safetensors: \"%s\" must have only dtype, shape and data_offsets",
                         out->shown);
  if (begin < 0 || end < begin || (uint64_t)end > values_bytes)
    return ep_fail(error, EP_INVALID, "safetensors: \"%s\" lies outside the file", out->shown);
  out->begin = (uint64_t)begin;
  out->end = (uint64_t)end;
  out->part = ep_array_part_find(name, &out->split, &out->role);
  ep_status status = dtype_find(dtype, out, error);
  return status == EP_OK ? shape_read(shape, out, error) : status;
}

static int by_place(const void *a, const void *b) {
  const tensor *first = a, *second = b;
  if (first->begin != second->begin) return first->begin < second->begin ? -1 : 1;
  return first->end < second->end ? -1 : first->end > second->end;
}

/* One after the other, without overlap or gap, to the end of the file. */
static ep_status places_check(content *out, ep_error *error) {
  uint64_t at = 0;
  qsort(out->tensor, out->count, sizeof *out->tensor, by_place);
  for (size_t i = 0; i < out->count; i++) {
    if (out->tensor[i].begin != at)
      return ep_fail(error, EP_INVALID, "safetensors: gap or overlap before \"%s\"",
                     out->tensor[i].shown);
    at = out->tensor[i].end;
  }
  if (at == out->values_bytes) return EP_OK;
  return ep_fail(error, EP_INVALID, "safetensors: %llu bytes of the file belong to no tensor",
                 (unsigned long long)(out->values_bytes - at));
}

static ep_status tensors_read(json_t *header, content *out, ep_error *error) {
  size_t count = json_object_size(header);
  if (!json_is_object(header))
    return ep_fail(error, EP_INVALID, "safetensors: the header is not an object");
  if (count > EP_LIMIT_WEIGHT_TENSORS)
    return ep_fail(error, EP_TOO_LARGE, "safetensors: %zu tensors: the limit is %d", count,
                   EP_LIMIT_WEIGHT_TENSORS);
  out->tensor = calloc(count + 1, sizeof *out->tensor);
  if (!out->tensor) return ep_fail_memory(error);
  const char *name;
  json_t *value;
  json_object_foreach(header, name, value) {
    if (strcmp(name, "__metadata__") == 0) continue;
    tensor *next = &out->tensor[out->count];
    ep_status status = tensor_read(name, value, out->values_bytes, next, error);
    if (status != EP_OK) return status;
    out->parts += next->part;
    out->count++;
  }
  if (out->count == 0) return ep_fail(error, EP_INVALID, "safetensors: no tensors");
  return places_check(out, error);
}

static ep_status array_store(ep_ingest *ingest, const content *file, tensor *from, ep_split split,
                             ep_role role, ep_error *error) {
  ep_status status = ep_array_part_check(ingest, format_name, from->name, split, role, error);
  if (status == EP_OK)
    status =
        ep_array_extent_find(&from->array, format_name, (size_t)(from->end - from->begin), error);
  if (status != EP_OK) return status;
  return ep_array_store(ingest, &from->array, file->values + from->begin, split, role, error);
}

static ep_status data_store(ep_ingest *ingest, const content *file, ep_error *error) {
  ep_status status = EP_OK;
  if (file->count > EP_LIMIT_ARRAYS)
    return ep_fail(error, EP_TOO_LARGE, "safetensors: %zu arrays: the limit is %d", file->count,
                   EP_LIMIT_ARRAYS);
  for (size_t i = 0; i < file->count && status == EP_OK; i++) {
    tensor *from = &file->tensor[i];
    if (!from->part)
      return ep_fail(error, EP_INVALID,
                     "safetensors: unknown array \"%s\" beside x and y: the names are x_train, "
                     "y_train, x_test, y_test, x_val, y_val, or x and y",
                     from->shown);
    status = array_store(ingest, file, from, from->split, from->role, error);
  }
  return status == EP_OK ? ep_array_parts_check(ingest, format_name, error) : status;
}

/* The file as it came. */
static ep_status weights_store(ep_ingest *ingest, const content *file, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_durable_file *copy = NULL;
  if (ingest->size > (size_t)ingest->budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the stored data would exceed the limit");
  ingest->budget_bytes -= (int64_t)ingest->size;
  ingest->meta->tensors = (int64_t)file->count;
  if (!ingest->folder) return EP_OK;
  ep_checksum_of(ingest->bytes, ingest->size, ingest->meta->checksum);
  ep_status status = ep_path_join(path, error, ingest->folder, EP_WEIGHTS_FILE, NULL);
  if (status == EP_OK) status = ep_durable_file_create(path, &copy, error);
  if (status == EP_OK) status = ep_durable_file_write(copy, ingest->bytes, ingest->size, error);
  if (status == EP_OK) return ep_durable_file_commit(copy, NULL, NULL, error);
  ep_durable_file_abandon(copy);
  return status;
}

static ep_status content_store(ep_ingest *ingest, const content *file, ep_error *error) {
  if (ingest->role == EP_ROLE_TABLE)
    return file->parts > 0 ? data_store(ingest, file, error) : weights_store(ingest, file, error);
  if (file->count != 1)
    return ep_fail(error, EP_INVALID, "safetensors: a part must be one array, this file has %zu",
                   file->count);
  return array_store(ingest, file, &file->tensor[0], ingest->split, ingest->role, error);
}

static ep_status read_safetensors(ep_ingest *ingest, ep_error *error) {
  content file = {0};
  json_error_t fault;
  if (ingest->size < PREFIX_BYTES)
    return ep_fail(error, EP_INVALID, "safetensors: the file ends inside its header");
  uint64_t length = header_bytes(ingest->bytes), rest = ingest->size - PREFIX_BYTES;
  if (length > EP_LIMIT_SAFETENSORS_HEADER_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "safetensors: a header of %llu bytes: the limit is %d",
                   (unsigned long long)length, EP_LIMIT_SAFETENSORS_HEADER_BYTES);
  if (length > rest)
    return ep_fail(error, EP_INVALID, "safetensors: the file ends inside its header");
  file.values = ingest->bytes + PREFIX_BYTES + length;
  file.values_bytes = rest - length;
  const char *text = (const char *)ingest->bytes + PREFIX_BYTES;
  ep_status status = ep_json_check(text, (size_t)length, EP_LIMIT_HEADER_TREE_BYTES, error);
  if (status != EP_OK) return status;
  json_t *header = ep_json_read(text, (size_t)length, JSON_REJECT_DUPLICATES, &fault);
  if (!header && !fault.text[0])
    status = ep_fail_memory(error);
  else if (!header)
    status = ep_fail(error, EP_INVALID, "safetensors: the header is not JSON (line %d, column %d)",
                     fault.line, fault.column);
  if (status == EP_OK) status = tensors_read(header, &file, error);
  if (status == EP_OK) status = content_store(ingest, &file, error);
  free(file.tensor);
  json_decref(header);
  return status;
}

const ep_format ep_format_safetensors = {format_name, recognise, read_safetensors};
