#include "engine/weights/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/files/durable_file.h"
#include "engine/weights/safetensors.h"

/* Little-endian numbers, one after the other, of one of the archive's records. */
enum { RECORD_BYTES = 128, NPY_HEADER_BYTES = 256, NPY_ALIGNMENT_BYTES = 64 };
enum {
  LOCAL_HEADER = 0x04034b50,
  CENTRAL_HEADER = 0x02014b50,
  END_64 = 0x06064b50,
  END_64_LOCATOR = 0x07064b50,
  END = 0x06054b50,
  VERSION_64 = 45,        /* the first version of the format with 64-bit fields */
  DATE_1980 = 1 << 5 | 1, /* the first of January 1980: the same weights, the same archive */
  EXTRA_64 = 1,
  END_64_BYTES = 56
};

typedef struct {
  uint8_t bytes[RECORD_BYTES];
  size_t count;
} record;

static void put(record *r, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) r->bytes[r->count++] = (uint8_t)(value >> 8 * i);
}

/* One array on its way into the archive. */
typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 8];
  char header[NPY_HEADER_BYTES];
  size_t header_bytes;
  uint64_t bytes, offset; /* header and values; where the entry starts */
  uint32_t crc;
} entry;

/* NPY: magic, version, length, a Python literal filled up with spaces to the alignment, newline. */
static void npy_header_make(const ep_tensor *tensor, entry *e) {
  char shape[EP_TENSOR_SHAPE_BYTES], text[NPY_HEADER_BYTES];
  ep_tensor_shape_format(tensor, shape);
  size_t closing = strlen(shape) - 1;
  shape[closing] = 0;
  int length =
      snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s%s), }",
               shape + 1, tensor->dimensions == 1 ? "," : "");
  size_t unpadded = 10 + (size_t)length + 1;
  e->header_bytes =
      (unpadded + NPY_ALIGNMENT_BYTES - 1) / NPY_ALIGNMENT_BYTES * NPY_ALIGNMENT_BYTES;
  memset(e->header, ' ', e->header_bytes);
  memcpy(e->header, "\x93NUMPY\x01\x00", 8);
  e->header[8] = (char)((e->header_bytes - 10) & 0xFF);
  e->header[9] = (char)((e->header_bytes - 10) >> 8);
  memcpy(e->header + 10, text, (size_t)length);
  e->header[e->header_bytes - 1] = '\n';
}

static size_t values_bytes(const ep_tensor *tensor) {
  return (size_t)tensor->values_count * sizeof(float);
}

static void entry_make(const ep_tensor *tensor, uint64_t offset, entry *e) {
  snprintf(e->name, sizeof e->name, "%s.npy", tensor->name);
  npy_header_make(tensor, e);
  e->bytes = e->header_bytes + values_bytes(tensor);
  e->offset = offset;
  e->crc = (uint32_t)crc32_z(crc32_z(0, (const Bytef *)e->header, e->header_bytes), tensor->bytes,
                             values_bytes(tensor));
}

/* What local and central headers share: version to checksum, then sizes that stand elsewhere. */
static void put_common(record *r, const entry *e, size_t extra_bytes) {
  put(r, VERSION_64, 2);
  put(r, 0, 2); /* flags */
  put(r, 0, 2); /* stored */
  put(r, 0, 2); /* midnight */
  put(r, DATE_1980, 2);
  put(r, e->crc, 4);
  put(r, UINT32_MAX, 4); /* both sizes: in the extra field */
  put(r, UINT32_MAX, 4);
  put(r, strlen(e->name), 2);
  put(r, extra_bytes, 2);
}

static ep_status entry_write(ep_durable_file *file, const entry *e, const ep_tensor *tensor,
                             uint64_t *written, ep_error *error) {
  record head = {.count = 0}, extra = {.count = 0};
  put(&extra, EXTRA_64, 2);
  put(&extra, 16, 2);
  put(&extra, e->bytes, 8);
  put(&extra, e->bytes, 8);
  put(&head, LOCAL_HEADER, 4);
  put_common(&head, e, extra.count);
  ep_status status = ep_durable_file_write(file, head.bytes, head.count, error);
  if (status == EP_OK) status = ep_durable_file_write(file, e->name, strlen(e->name), error);
  if (status == EP_OK) status = ep_durable_file_write(file, extra.bytes, extra.count, error);
  if (status == EP_OK) status = ep_durable_file_write(file, e->header, e->header_bytes, error);
  if (status == EP_OK)
    status = ep_durable_file_write(file, tensor->bytes, values_bytes(tensor), error);
  *written += head.count + strlen(e->name) + extra.count + e->bytes;
  return status;
}

static ep_status directory_write(ep_durable_file *file, const entry *e, uint64_t *written,
                                 ep_error *error) {
  record head = {.count = 0}, extra = {.count = 0};
  put(&extra, EXTRA_64, 2);
  put(&extra, 24, 2);
  put(&extra, e->bytes, 8);
  put(&extra, e->bytes, 8);
  put(&extra, e->offset, 8);
  put(&head, CENTRAL_HEADER, 4);
  put(&head, VERSION_64, 2);
  put_common(&head, e, extra.count);
  put(&head, 0, 2); /* comment */
  put(&head, 0, 2); /* disk */
  put(&head, 0, 2); /* attributes, internal and external */
  put(&head, 0, 4);
  put(&head, UINT32_MAX, 4); /* the offset: in the extra field */
  ep_status status = ep_durable_file_write(file, head.bytes, head.count, error);
  if (status == EP_OK) status = ep_durable_file_write(file, e->name, strlen(e->name), error);
  if (status == EP_OK) status = ep_durable_file_write(file, extra.bytes, extra.count, error);
  *written += head.count + strlen(e->name) + extra.count;
  return status;
}

/* The three records at the end: the 64-bit one, where it is, and the old one that says to look
 * there. */
static ep_status end_write(ep_durable_file *file, uint64_t entries, uint64_t start, uint64_t end,
                           ep_error *error) {
  record r = {.count = 0};
  put(&r, END_64, 4);
  put(&r, END_64_BYTES - 12, 8); /* what follows this field */
  put(&r, VERSION_64, 2);
  put(&r, VERSION_64, 2);
  put(&r, 0, 8); /* both disk numbers */
  put(&r, entries, 8);
  put(&r, entries, 8);
  put(&r, end - start, 8);
  put(&r, start, 8);
  put(&r, END_64_LOCATOR, 4);
  put(&r, 0, 4);
  put(&r, end, 8);
  put(&r, 1, 4);
  put(&r, END, 4);
  put(&r, 0, 4);
  put(&r, UINT16_MAX, 2);
  put(&r, UINT16_MAX, 2);
  put(&r, UINT32_MAX, 4);
  put(&r, UINT32_MAX, 4);
  put(&r, 0, 2);
  return ep_durable_file_write(file, r.bytes, r.count, error);
}

static ep_status archive_write(ep_durable_file *file, const ep_tensors *tensors, entry *entries,
                               ep_error *error) {
  ep_status status = EP_OK;
  uint64_t written = 0, count = 0;
  for (size_t i = 0; i < tensors->tensors_count && status == EP_OK; i++) {
    if (tensors->tensor[i].whole) continue;
    entry_make(&tensors->tensor[i], written, &entries[count]);
    status = entry_write(file, &entries[count++], &tensors->tensor[i], &written, error);
  }
  uint64_t start = written;
  for (size_t i = 0; i < count && status == EP_OK; i++)
    status = directory_write(file, &entries[i], &written, error);
  return status == EP_OK ? end_write(file, count, start, written, error) : status;
}

ep_status ep_weights_to_npz(const char *path, const char *npz_path, const ep_cancellation *stop,
                            ep_error *error) {
  ep_tensors tensors;
  ep_durable_file *file = NULL;
  ep_status status = ep_tensors_open(path, &tensors, error);
  if (status != EP_OK) return status;
  entry *entries = calloc(tensors.tensors_count + 1, sizeof *entries);
  if (!entries) status = ep_fail_memory(error);
  if (status == EP_OK) status = ep_durable_file_create(npz_path, &file, error);
  if (status == EP_OK) ep_durable_file_heed(file, stop);
  if (status == EP_OK) status = archive_write(file, &tensors, entries, error);
  free(entries);
  ep_tensors_close(&tensors);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}
