#include "engine/data/table.h"

#include <assert.h>

#include "engine/data/mapping.h"
#include "engine/data/npy_header.h"

ep_status ep_table_open(const char *path, ep_table *out, ep_error *error) {
  *out = (ep_table){0};
  ep_mapping mapping;
  ep_npy_header header;
  ep_status status = ep_mapping_open(path, &mapping, error);
  if (status) return status;
  status = ep_npy_header_parse(mapping.bytes, mapping.size, &header, error);
  if (!status && (header.big_endian || header.fortran_order))
    status = ep_fail(error, EP_INVALID, "NPY: a stored table is little-endian and in C order");
  if (status) {
    ep_mapping_close(&mapping);
    return status;
  }
  *out = (ep_table){.dtype = header.dtype,
                    .rows = header.rows,
                    .columns = header.columns,
                    .values = mapping.bytes + header.values_offset,
                    .mapping = (void *)mapping.bytes,
                    .mapping_bytes = mapping.size};
  return EP_OK;
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
