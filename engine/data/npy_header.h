/* npy_header.h: the head of an NPY file: what the array is and where its values start.
 *
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef EP_ENGINE_DATA_NPY_HEADER_H
#define EP_ENGINE_DATA_NPY_HEADER_H

#include "engine/data/table.h"

typedef struct {
  ep_dtype dtype;
  bool big_endian, fortran_order;
  int dimensions; /* 1 … EP_LIMIT_NPY_DIMENSIONS */
  int64_t shape[EP_LIMIT_NPY_DIMENSIONS];
  int64_t rows, columns; /* shape[0]; the product of the others, 1 without any */
  size_t values_offset;
} ep_npy_header;

extern const uint8_t ep_npy_magic[6];
enum { EP_NPY_CANONICAL_BYTES = 128 };

const char *ep_dtype_name(ep_dtype dtype); /* "f8" */
int ep_dtype_from_name(const char *name);  /* -1 when there is none */
size_t ep_dtype_bytes(ep_dtype dtype);
/* One little-endian value, not necessarily aligned. */
double ep_dtype_value(ep_dtype dtype, const uint8_t *value);

/* Reads the head of a whole file of `size` bytes. rows and columns are at least 1 and within
 * limits.h; values_offset + rows * columns * the type's bytes is exactly `size`. */
ep_status ep_npy_header_parse(const uint8_t *bytes, size_t size, ep_npy_header *out,
                              ep_error *error);

/* Writes the head of a C-order, little-endian [rows, columns] array, always the same size. */
void ep_npy_header_format(ep_dtype dtype, int64_t rows, int64_t columns,
                          uint8_t out[EP_NPY_CANONICAL_BYTES]);

#endif
