/* array_header.h: what the head of an array says, whatever its format: type, order, shape, and
 * where the values start. */
#ifndef EP_ENGINE_DATA_ARRAYS_ARRAY_HEADER_H
#define EP_ENGINE_DATA_ARRAYS_ARRAY_HEADER_H

#include <stdbool.h>

#include "api/limits.h"
#include "api/status.h"
#include "engine/data/arrays/dtype.h"

/* An array in a file of any format: NPY, IDX, safetensors. */
typedef struct {
  ep_dtype dtype;
  bool big_endian, fortran_order;
  int dimensions; /* 1 … EP_LIMIT_NPY_DIMENSIONS */
  int64_t shape[EP_LIMIT_NPY_DIMENSIONS];
  int64_t rows, columns; /* shape[0]; the product of the others, 1 without any */
  size_t values_offset;
} ep_array_header;

/* Finds rows and columns of the shape: at least 1, within limits.h, and exactly `values_bytes` of
 * values. `format` is for messages. */
ep_status ep_array_extent_find(ep_array_header *array, const char *format, size_t values_bytes,
                               ep_error *error);

/* The shape of a row: its dimensions, or one of all columns where those are more than
 * EP_LIMIT_ROW_DIMENSIONS. Returns how many; shape: [EP_LIMIT_ROW_DIMENSIONS], written. */
int ep_array_row_shape(const ep_array_header *array, int64_t *shape);

#endif
