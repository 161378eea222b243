#include "engine/data/datasets/part_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/npy_header.h"
#include "engine/files/durable_file.h"
#include "engine/files/path.h"

enum { BUFFER_BYTES = 1 << 20 };

ep_status ep_part_path(const char *folder, ep_split split, ep_role role, char *path,
                       ep_error *error) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s.npy", ep_split_name(split), ep_role_name(role));
  return ep_path_join(path, error, folder, name, NULL);
}

static ep_status budget_take(ep_part_writer *writer, size_t bytes, ep_error *error) {
  if ((int64_t)bytes > *writer->budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "the stored data would exceed the limit");
  *writer->budget_bytes -= (int64_t)bytes;
  return EP_OK;
}

static ep_status rows_measure(ep_part_writer *writer, ep_error *error) {
  return ep_column_stats_rows(&writer->measure, writer->buffer,
                              (int64_t)(writer->used / writer->row_bytes), error);
}

static ep_status place_seek(ep_part_writer *writer, int64_t row, ep_error *error) {
  off_t place = EP_NPY_CANONICAL_BYTES + row * (off_t)writer->row_bytes;
  return lseek(writer->file, place, SEEK_SET) == place
             ? EP_OK
             : ep_fail(error, EP_IO, "a place in a part: %s", strerror(errno));
}

static ep_status flush(ep_part_writer *writer, ep_error *error) {
  ep_status status = rows_measure(writer, error);
  if (status == EP_OK) status = budget_take(writer, writer->used, error);
  if (status == EP_OK && writer->file >= 0) {
    ep_checksum_update(&writer->checksum, writer->buffer, writer->used);
    status = ep_file_write_all(writer->file, writer->buffer, writer->used, error);
  }
  writer->used = 0;
  return status;
}

static ep_status part_create(ep_part_writer *writer, const char *folder, ep_split split,
                             ep_role role, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_part_path(folder, split, role, path, error);
  if (status != EP_OK) return status;
  writer->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (writer->file < 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  status = ep_checksum_init(&writer->checksum, error);
  if (status != EP_OK) return status;
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
                             .dimensions = 1,
                             .shape = {columns},
                             .column = column,
                             .row_bytes = row_bytes,
                             .capacity = capacity,
                             .file = -1,
                             .budget_bytes = budget_bytes};
  if (!column) writer->column = calloc((size_t)columns, sizeof *writer->column);
  writer->buffer = malloc(capacity);
  if (!writer->column || !writer->buffer) return ep_fail_memory(error);
  ep_status status = ep_column_stats_init(&writer->measure, dtype, columns, writer->column, error);
  if (status != EP_OK) return status;
  status = budget_take(writer, EP_NPY_CANONICAL_BYTES, error);
  if (status == EP_OK && folder) status = part_create(writer, folder, split, role, error);
  return status;
}

void ep_part_writer_shape(ep_part_writer *writer, int dimensions, const int64_t *shape) {
  assert(dimensions >= 0 && dimensions <= EP_LIMIT_ROW_DIMENSIONS);
  writer->dimensions = dimensions;
  for (int i = 0; i < dimensions; i++) writer->shape[i] = shape[i];
}

ep_status ep_part_writer_table(ep_part_writer *writer, ep_error *error) {
  return ep_column_stats_table(&writer->measure, error);
}

ep_status ep_part_writer_commit(ep_part_writer *writer, ep_error *error) {
  writer->used += writer->row_bytes;
  return writer->used == writer->capacity ? flush(writer, error) : EP_OK;
}

ep_status ep_part_writer_restart(ep_part_writer *writer, ep_error *error) {
  ep_status status = EP_OK;
  *writer->budget_bytes += writer->measure.rows * (int64_t)writer->row_bytes;
  writer->used = 0;
  ep_column_stats_restart(&writer->measure, NULL);
  if (writer->file < 0) return EP_OK;
  ep_checksum_deinit(&writer->checksum);
  status = ep_checksum_init(&writer->checksum, error);
  if (status == EP_OK) status = place_seek(writer, 0, error);
  if (status == EP_OK && ftruncate(writer->file, EP_NPY_CANONICAL_BYTES) != 0)
    status = ep_fail(error, EP_IO, "the rows of a part: %s", strerror(errno));
  return status;
}

/* Rows from `row` on, as many as the buffer holds. */
static ep_status rows_map(ep_part_writer *writer, int64_t row, ep_row_map *map, void *context,
                          ep_error *error) {
  for (size_t at = 0; at < writer->used;) {
    ssize_t got = read(writer->file, writer->buffer + at, writer->used - at);
    if (got <= 0) return ep_fail(error, EP_IO, "the rows of a part cannot be read");
    at += (size_t)got;
  }
  for (size_t at = 0; at < writer->used; at += writer->row_bytes)
    map(context, (double *)(void *)(writer->buffer + at));
  ep_status status = rows_measure(writer, error);
  if (status == EP_OK) status = place_seek(writer, row, error);
  ep_checksum_update(&writer->checksum, writer->buffer, writer->used);
  if (status == EP_OK)
    status = ep_file_write_all(writer->file, writer->buffer, writer->used, error);
  return status;
}

ep_status ep_part_writer_map(ep_part_writer *writer, const bool *again, ep_row_map *map,
                             void *context, ep_error *error) {
  assert(writer->dtype == EP_DTYPE_F64 && writer->file >= 0);
  ep_status status = flush(writer, error);
  int64_t rows = writer->measure.rows, most = (int64_t)(writer->capacity / writer->row_bytes);
  ep_column_stats_restart(&writer->measure, again);
  ep_checksum_deinit(&writer->checksum);
  if (status == EP_OK) status = ep_checksum_init(&writer->checksum, error);
  if (status == EP_OK) status = place_seek(writer, 0, error);
  for (int64_t row = 0; row < rows && status == EP_OK; row += most) {
    writer->used = (size_t)(rows - row < most ? rows - row : most) * writer->row_bytes;
    status = rows_map(writer, row, map, context, error);
    writer->used = 0;
  }
  return status;
}

/* Also ends the checksum. */
static ep_status head_write(ep_part_writer *writer, char checksum[EP_CHECKSUM_HEX_BYTES],
                            ep_error *error) {
  uint8_t head[EP_NPY_CANONICAL_BYTES];
  ep_npy_header_format(writer->dtype, writer->measure.rows, writer->dimensions, writer->shape,
                       head);
  ep_checksum_update(&writer->checksum, head, sizeof head);
  ep_checksum_final(&writer->checksum, checksum);
  if (lseek(writer->file, 0, SEEK_SET) != 0)
    return ep_fail(error, EP_IO, "the head of a part: %s", strerror(errno));
  ep_status status = ep_file_write_all(writer->file, head, sizeof head, error);
  if (status != EP_OK) return status;
  if (fsync(writer->file) != 0)
    return ep_fail(error, ep_status_from_errno(errno), "fsync: %s", strerror(errno));
  return EP_OK;
}

ep_status ep_part_writer_finish(ep_part_writer *writer, ep_part *out, ep_error *error) {
  char checksum[EP_CHECKSUM_HEX_BYTES] = "";
  ep_status status = flush(writer, error);
  if (status == EP_OK && writer->measure.rows == 0) return ep_fail(error, EP_INVALID, "no rows");
  if (status == EP_OK && writer->file >= 0) status = head_write(writer, checksum, error);
  if (status != EP_OK) return status;
  ep_column_stats_finish(&writer->measure);
  *out = (ep_part){.rows = writer->measure.rows,
                   .columns = writer->columns,
                   .dtype = writer->dtype,
                   .column = writer->column,
                   .dimensions = writer->dimensions,
                   .one_hot = writer->measure.one_hot};
  memcpy(out->shape, writer->shape, sizeof out->shape);
  memcpy(out->checksum, checksum, sizeof out->checksum);
  writer->column = NULL;
  return EP_OK;
}

void ep_part_writer_abandon(ep_part_writer *writer) {
  ep_columns_destroy(writer->column, writer->columns);
  ep_column_stats_deinit(&writer->measure);
  ep_checksum_deinit(&writer->checksum);
  free(writer->buffer);
  if (writer->buffer && writer->file >= 0) close(writer->file);
  *writer = (ep_part_writer){.file = -1};
}
