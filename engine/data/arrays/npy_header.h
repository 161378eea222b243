/* npy_header.h: the head of an NPY file: what the array is and where its values start.
 *
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef EP_ENGINE_DATA_ARRAYS_NPY_HEADER_H
#define EP_ENGINE_DATA_ARRAYS_NPY_HEADER_H

#include "engine/data/arrays/array_header.h"

extern const uint8_t ep_npy_magic[6];
enum { EP_NPY_CANONICAL_BYTES = 128 };

/* Reads the head of a whole file of `size` bytes. rows and columns are at least 1 and within
 * limits.h; values_offset + rows * columns * the type's bytes is exactly `size`. */
ep_status ep_npy_header_parse(const uint8_t *bytes, size_t size, ep_array_header *out,
                              ep_error *error);

/* Writes the head of a C-order, little-endian [rows, shape…] array, always the same size. shape:
 * [dimensions], 0 … EP_LIMIT_ROW_DIMENSIONS of them. */
void ep_npy_header_format(ep_dtype dtype, int64_t rows, int dimensions, const int64_t *shape,
                          uint8_t out[EP_NPY_CANONICAL_BYTES]);

#endif
