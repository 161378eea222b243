/* npy.c: NumPy's array files, whatever their order, as a table with its own type. */
#include <string.h>

#include "engine/data/format.h"
#include "engine/data/npy_header.h"
#include "engine/data/part_writer.h"

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= sizeof ep_npy_magic && memcmp(bytes, ep_npy_magic, sizeof ep_npy_magic) == 0;
}

/* The place of column `column` of row 0 in a Fortran-order array, in values: the first index runs
 * fastest, and the flattened column counts the others in C order. */
static int64_t fortran_column(const ep_npy_header *header, int64_t column) {
  int64_t place = 0, stride = header->rows * header->columns;
  for (int i = header->dimensions - 1; i > 0; i--) {
    stride /= header->shape[i];
    place += column % header->shape[i] * stride;
    column /= header->shape[i];
  }
  return place;
}

static void value_copy(uint8_t *out, const uint8_t *value, size_t bytes, bool swap) {
  if (!swap) {
    memcpy(out, value, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i++) out[i] = value[bytes - 1 - i];
}

static void row_copy(const ep_npy_header *header, const uint8_t *values, int64_t row,
                     uint8_t *out) {
  size_t bytes = ep_dtype_bytes(header->dtype);
  if (!header->fortran_order && !header->big_endian) {
    size_t row_bytes = (size_t)header->columns * bytes;
    memcpy(out, values + (size_t)row * row_bytes, row_bytes);
    return;
  }
  for (int64_t column = 0; column < header->columns; column++) {
    int64_t place = header->fortran_order ? fortran_column(header, column) + row
                                          : row * header->columns + column;
    value_copy(out + (size_t)column * bytes, values + (size_t)place * bytes, bytes,
               header->big_endian);
  }
}

static ep_status read_npy(ep_ingest *ingest, ep_error *error) {
  ep_npy_header header;
  ep_part_writer writer = {0};
  ep_status status = ep_npy_header_parse(ingest->bytes, ingest->size, &header, error);
  if (status) return status;
  const uint8_t *values = ingest->bytes + header.values_offset;
  status = ep_part_writer_open(&writer, ingest->folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, header.dtype,
                               header.columns, NULL, &ingest->budget_bytes, error);
  for (int64_t row = 0; row < header.rows && !status; row++) {
    row_copy(&header, values, row, ep_part_writer_next(&writer));
    status = ep_part_writer_commit(&writer, error);
  }
  if (!status)
    status =
        ep_part_writer_finish(&writer, &ingest->meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE], error);
  ep_part_writer_abandon(&writer);
  return status;
}

const ep_format ep_format_npy = {"npy", recognise, read_npy};
