#include "engine/data/arrays/array_header.h"

ep_status ep_array_extent_find(ep_array_header *array, const char *format, size_t values_bytes,
                               ep_error *error) {
  if (array->dimensions == 0)
    return ep_fail(error, EP_INVALID,
                   "%s: a single number is not a table; at least one dimension is required",
                   format);
  array->rows = array->shape[0];
  array->columns = 1;
  for (int i = 1; i < array->dimensions; i++)
    if (__builtin_mul_overflow(array->columns, array->shape[i], &array->columns))
      return ep_fail(error, EP_TOO_LARGE, "%s: the shape is too large", format);
  if (array->rows < 1 || array->columns < 1)
    return ep_fail(error, EP_INVALID, "%s: the array has no values", format);
  if (array->rows > EP_LIMIT_ROWS)
    return ep_fail(error, EP_TOO_LARGE, "%s: %lld rows: the limit is %lld", format,
                   (long long)array->rows, (long long)EP_LIMIT_ROWS);
  if (array->columns > EP_LIMIT_COLUMNS)
    return ep_fail(error, EP_TOO_LARGE, "%s: %lld columns: the limit is %d", format,
                   (long long)array->columns, EP_LIMIT_COLUMNS);
  int64_t values = array->rows * array->columns; /* 2^47 at most */
  int64_t needed = values * (int64_t)ep_dtype_bytes(array->dtype);
  if ((uint64_t)needed != values_bytes)
    return ep_fail(
        error, EP_INVALID,
        "%s: the header declares %lld bytes of values (%lld × %lld × %zu), the file has %zu",
        format, (long long)needed, (long long)array->rows, (long long)array->columns,
        ep_dtype_bytes(array->dtype), values_bytes);
  return EP_OK;
}

int ep_array_row_shape(const ep_array_header *array, int64_t *shape) {
  int dimensions = array->dimensions - 1;
  if (dimensions > EP_LIMIT_ROW_DIMENSIONS) {
    shape[0] = array->columns;
    return 1;
  }
  for (int i = 0; i < dimensions; i++) shape[i] = array->shape[i + 1];
  return dimensions;
}
