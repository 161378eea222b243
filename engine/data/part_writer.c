#include "engine/data/part_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/durable_file.h"
#include "engine/data/npy_header.h"

enum { BUFFER_BYTES = 1 << 20 };

const char *ep_split_name(ep_split split) {
  static const char *const names[EP_SPLIT_COUNT] = {"train", "validation", "test"};
  assert(split < EP_SPLIT_COUNT);
  return names[split];
}

const char *ep_role_name(ep_role role) {
  static const char *const names[EP_ROLE_COUNT] = {"table", "x", "y"};
  assert(role < EP_ROLE_COUNT);
  return names[role];
}

ep_status ep_part_path(const char *folder, ep_split split, ep_role role, size_t capacity,
                       char *path, ep_error *error) {
  int length =
      snprintf(path, capacity, "%s/%s.%s.npy", folder, ep_split_name(split), ep_role_name(role));
  if (length < 0 || (size_t)length >= capacity)
    return ep_fail(error, EP_IO, "the folder's path is too long");
  return EP_OK;
}

static ep_status budget_take(ep_part_writer *writer, size_t bytes, ep_error *error) {
  if ((int64_t)bytes > *writer->budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "stored, this would be larger than the limit");
  *writer->budget_bytes -= (int64_t)bytes;
  return EP_OK;
}

static ep_status flush(ep_part_writer *writer, ep_error *error) {
  ep_status status = budget_take(writer, writer->used, error);
  if (!status && writer->file >= 0)
    status = ep_file_write_all(writer->file, writer->buffer, writer->used, error);
  writer->used = 0;
  return status;
}

static ep_status part_create(ep_part_writer *writer, const char *folder, ep_split split,
                             ep_role role, ep_error *error) {
  char path[PATH_MAX];
  ep_status status = ep_part_path(folder, split, role, sizeof path, path, error);
  if (status) return status;
  writer->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (writer->file < 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  uint8_t blank[EP_NPY_CANONICAL_BYTES] = {0}; /* the head is written when the rows are known */
  return ep_file_write_all(writer->file, blank, sizeof blank, error);
}

ep_status ep_part_writer_open(ep_part_writer *writer, const char *folder, ep_split split,
                              ep_role role, ep_dtype dtype, int64_t columns, ep_column *column,
                              int64_t *budget_bytes, ep_error *error) {
  assert(columns >= 1 && columns <= EP_LIMIT_COLUMNS);
  size_t row_bytes = (size_t)columns * ep_dtype_bytes(dtype); /* 512 KiB at most */
  size_t capacity = BUFFER_BYTES / row_bytes * row_bytes;
  *writer = (ep_part_writer){.dtype = dtype,
                             .columns = columns,
                             .column = column,
                             .row_bytes = row_bytes,
                             .capacity = capacity,
                             .file = -1,
                             .budget_bytes = budget_bytes};
  if (!column) writer->column = calloc((size_t)columns, sizeof *writer->column);
  writer->scratch = malloc((size_t)columns * sizeof *writer->scratch);
  writer->buffer = malloc(capacity);
  if (!writer->column || !writer->scratch || !writer->buffer)
    return ep_fail(error, EP_NO_MEMORY, "no memory for a table of %lld columns",
                   (long long)columns);
  for (int64_t i = 0; i < columns; i++) {
    writer->column[i].min = INFINITY;
    writer->column[i].max = -INFINITY;
    writer->column[i].integer = true;
  }
  ep_status status = budget_take(writer, EP_NPY_CANONICAL_BYTES, error);
  if (!status && folder) status = part_create(writer, folder, split, role, error);
  return status;
}

static inline bool is_integer(double value) {
  return fabs(value) >= 0x1p52 || value == (double)(int64_t)value;
}

static ep_status row_measure(ep_part_writer *writer, const double *row, ep_error *error) {
  for (int64_t i = 0; i < writer->columns; i++) {
    double value = row[i];
    ep_column *column = &writer->column[i];
    if (!isfinite(value))
      return ep_fail(error, EP_INVALID, "row %lld, column %lld: %s is not a number to train on",
                     (long long)writer->rows + 1, (long long)i + 1,
                     isnan(value) ? "NaN" : "an infinity");
    if (value < column->min) column->min = value;
    if (value > column->max) column->max = value;
    if (column->integer && !is_integer(value)) column->integer = false;
  }
  return EP_OK;
}

ep_status ep_part_writer_commit(ep_part_writer *writer, ep_error *error) {
  const uint8_t *row = writer->buffer + writer->used;
  const double *values = (const double *)(const void *)row;
  if (writer->dtype != EP_DTYPE_F64) {
    size_t bytes = ep_dtype_bytes(writer->dtype);
    for (int64_t i = 0; i < writer->columns; i++)
      writer->scratch[i] = ep_dtype_value(writer->dtype, row + (size_t)i * bytes);
    values = writer->scratch;
  }
  ep_status status = row_measure(writer, values, error);
  if (status) return status;
  if (writer->rows == EP_LIMIT_ROWS)
    return ep_fail(error, EP_TOO_LARGE, "more than %lld rows", (long long)EP_LIMIT_ROWS);
  writer->rows++;
  writer->used += writer->row_bytes;
  return writer->used == writer->capacity ? flush(writer, error) : EP_OK;
}

static ep_status head_write(ep_part_writer *writer, ep_error *error) {
  uint8_t head[EP_NPY_CANONICAL_BYTES];
  ep_npy_header_format(writer->dtype, writer->rows, writer->columns, head);
  if (pwrite(writer->file, head, sizeof head, 0) != (ssize_t)sizeof head)
    return ep_fail(error, EP_IO, "writing the head of a part: %s", strerror(errno));
  if (fsync(writer->file) != 0) return ep_fail(error, EP_IO, "fsync: %s", strerror(errno));
  return EP_OK;
}

ep_status ep_part_writer_finish(ep_part_writer *writer, ep_part *out, ep_error *error) {
  if (writer->rows == 0) return ep_fail(error, EP_INVALID, "there are no rows");
  ep_status status = flush(writer, error);
  if (!status && writer->file >= 0) status = head_write(writer, error);
  if (status) return status;
  *out = (ep_part){writer->rows, writer->columns, writer->dtype, writer->column};
  writer->column = NULL;
  return EP_OK;
}

void ep_part_writer_abandon(ep_part_writer *writer) {
  free(writer->column);
  free(writer->scratch);
  free(writer->buffer);
  if (writer->buffer && writer->file >= 0) close(writer->file);
  *writer = (ep_part_writer){.file = -1};
}
