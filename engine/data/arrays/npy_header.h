/* npy_header.h: the head of an NPY file: what the array is and where its values start.
 *
 * Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef EP_ENGINE_DATA_ARRAYS_NPY_HEADER_H
#define EP_ENGINE_DATA_ARRAYS_NPY_HEADER_H

#include "engine/data/arrays/table.h"

/* An array, also of another format than NPY (idx.c, safetensors_data.c). */
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
/* The same of many, one after the other. out: [count], written. */
void ep_dtype_values(ep_dtype dtype, const uint8_t *values, int64_t count, double *out);

/* Reads the head of a whole file of `size` bytes. rows and columns are at least 1 and within
 * limits.h; values_offset + rows * columns * the type's bytes is exactly `size`. */
ep_status ep_npy_header_parse(const uint8_t *bytes, size_t size, ep_npy_header *out,
                              ep_error *error);

/* rows and columns of the shape, at least 1 and within limits.h, and that they take just
 * `values_bytes`. `format` is for messages. */
ep_status ep_npy_extent_find(ep_npy_header *array, const char *format, size_t values_bytes,
                             ep_error *error);

/* What a row looks like: its dimensions, or one of all columns where those are more than
 * EP_LIMIT_ROW_DIMENSIONS. Returns how many; shape: [EP_LIMIT_ROW_DIMENSIONS], written. */
int ep_npy_row_shape(const ep_npy_header *array, int64_t *shape);

/* Writes the head of a C-order, little-endian [rows, shape…] array, always the same size. shape:
 * [dimensions], 0 … EP_LIMIT_ROW_DIMENSIONS of them. */
void ep_npy_header_format(ep_dtype dtype, int64_t rows, int dimensions, const int64_t *shape,
                          uint8_t out[EP_NPY_CANONICAL_BYTES]);

#endif
