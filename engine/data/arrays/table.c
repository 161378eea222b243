#include "engine/data/arrays/table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/data/arrays/idx_header.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/files/mapping.h"

/* The longest head, with what precedes it; what a walk reads at once. */
enum { HEAD_BYTES = EP_LIMIT_NPY_HEADER_BYTES + 16, CHUNK_BYTES = 1 << 20 };

/* Of the first bytes of a file of `size`: all of its head, if it has one. */
static ep_status head_parse(const uint8_t *bytes, size_t size, ep_array_header *out,
                            ep_error *error) {
  ep_status status = ep_idx_recognise(bytes, size) ? ep_idx_header_parse(bytes, size, out, error)
                                                   : ep_npy_header_parse(bytes, size, out, error);
  if (status != EP_OK) return status;
  bool swapped = out->big_endian && ep_dtype_bytes(out->dtype) > 1;
  if (swapped || out->fortran_order)
    return ep_fail(error, EP_UNSUPPORTED, "a table must be little-endian and in C order");
  return EP_OK;
}

static void head_keep(const ep_array_header *head, ep_table *out) {
  out->dtype = head->dtype;
  out->rows = head->rows;
  out->columns = head->columns;
  out->dimensions = ep_array_row_shape(head, out->shape);
}

ep_status ep_table_of(int file, const char *path, ep_table *out, ep_error *error) {
  *out = (ep_table){0};
  ep_mapping mapping;
  ep_array_header header;
  ep_status status = ep_mapping_of(file, path, &mapping, error);
  if (status != EP_OK) return status;
  status = head_parse(mapping.bytes, mapping.size, &header, error);
  if (status != EP_OK) {
    ep_mapping_close(&mapping);
    return status;
  }
  head_keep(&header, out);
  out->values = mapping.bytes + header.values_offset;
  out->mapping = (void *)mapping.bytes;
  out->mapping_bytes = mapping.size;
  return EP_OK;
}

ep_status ep_table_open(const char *path, ep_table *out, ep_error *error) {
  *out = (ep_table){0};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  ep_status status = ep_table_of(file, path, out, error);
  close(file);
  if (status == EP_UNSUPPORTED) status = error ? (error->status = EP_INVALID) : EP_INVALID;
  return status;
}

ep_status ep_table_peek(int file, const char *path, ep_table *out, size_t *values_offset,
                        ep_error *error) {
  struct stat stat;
  ep_array_header header;
  *out = (ep_table){0};
  if (fstat(file, &stat) != 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  uint8_t *head = calloc(1, HEAD_BYTES);
  if (!head) return ep_fail_memory(error);
  ssize_t count = pread(file, head, HEAD_BYTES, 0);
  ep_status status = EP_OK;
  if (count < 0) status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  bool known = status == EP_OK && (ep_idx_recognise(head, (size_t)count) ||
                                   ((size_t)count >= sizeof ep_npy_magic &&
                                    memcmp(head, ep_npy_magic, sizeof ep_npy_magic) == 0));
  if (status == EP_OK && !known)
    status = ep_fail(error, EP_UNSUPPORTED, "%s is neither NPY nor IDX", path);
  if (status == EP_OK) status = head_parse(head, (size_t)stat.st_size, &header, error);
  free(head);
  if (status != EP_OK) return status;
  head_keep(&header, out);
  *values_offset = header.values_offset;
  return EP_OK;
}

/* Exactly `count` bytes from `offset` on. */
static ep_status bytes_read(int file, uint8_t *bytes, size_t count, int64_t offset,
                            ep_error *error) {
  while (count > 0) {
    ssize_t got = pread(file, bytes, count, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ep_fail(error, EP_IO, "reading: %s", strerror(errno));
    if (got == 0) return ep_fail(error, EP_DATA, "a file was truncated while it was read");
    bytes += got;
    offset += got;
    count -= (size_t)got;
  }
  return EP_OK;
}

ep_status ep_table_walk(int file, const ep_table *table, size_t values_offset,
                        ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                        void *context, ep_error *error) {
  size_t row_bytes = (size_t)table->columns * ep_dtype_bytes(table->dtype);
  int64_t most = CHUNK_BYTES / (int64_t)row_bytes > 1 ? CHUNK_BYTES / (int64_t)row_bytes : 1;
  uint8_t *chunk = malloc((size_t)most * row_bytes);
  if (!chunk) return ep_fail_memory(error);
  ep_status status = EP_OK;
  for (int64_t row = 0; row < table->rows && status == EP_OK;) {
    int64_t rows = table->rows - row < most ? table->rows - row : most;
    status = bytes_read(file, chunk, (size_t)rows * row_bytes,
                        (int64_t)values_offset + row * (int64_t)row_bytes, error);
    for (int64_t i = 0; i < rows && status == EP_OK; i++)
      status = visit(context, chunk + (size_t)i * row_bytes, error);
    row += rows;
  }
  free(chunk);
  return status;
}

ep_status ep_table_row_read(int file, const ep_table *table, size_t values_offset, int64_t index,
                            uint8_t *row, ep_error *error) {
  assert(index >= 0 && index < table->rows);
  size_t row_bytes = (size_t)table->columns * ep_dtype_bytes(table->dtype);
  return bytes_read(file, row, row_bytes, (int64_t)values_offset + index * (int64_t)row_bytes,
                    error);
}

void ep_table_close(ep_table *table) {
  ep_mapping mapping = {table->mapping, table->mapping_bytes};
  ep_mapping_close(&mapping);
  *table = (ep_table){0};
}

double ep_table_value(const ep_table *table, int64_t row, int64_t column) {
  assert(row >= 0 && row < table->rows && column >= 0 && column < table->columns);
  size_t index = (size_t)(row * table->columns + column);
  return ep_dtype_value(table->dtype, table->values + index * ep_dtype_bytes(table->dtype));
}

void ep_table_values(const ep_table *table, int64_t row, int64_t first, int64_t count,
                     double *out) {
  assert(row >= 0 && row < table->rows && first >= 0 && first + count <= table->columns);
  size_t index = (size_t)(row * table->columns + first);
  ep_dtype_values(table->dtype, table->values + index * ep_dtype_bytes(table->dtype), count, out);
}
