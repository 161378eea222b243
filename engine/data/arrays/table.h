/* table.h: numbers in rows and columns as they lie in a file, mapped and never copied.
 *
 * Every stored part of a dataset is one NPY file (NumPy's format 1.0, C order), whatever format it
 * came in: CSV and JSON as float64, NPY with its own type. */
#ifndef EP_ENGINE_DATA_ARRAYS_TABLE_H
#define EP_ENGINE_DATA_ARRAYS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "engine/data/arrays/dtype.h"

/* An open NPY file in C order, little-endian, of one or more dimensions, or an IDX file of bytes;
 * the first counts rows, the others are flattened into columns. */
typedef struct {
  ep_dtype dtype;
  int64_t rows, columns;
  int dimensions; /* of a row: 0 (a list of numbers) … EP_LIMIT_ROW_DIMENSIONS */
  int64_t shape[EP_LIMIT_ROW_DIMENSIONS]; /* [dimensions]; its product is `columns` */
  const uint8_t *values;                  /* [rows, columns], mapped; not necessarily aligned */
  void *mapping;
  size_t mapping_bytes;
} ep_table;

ep_status ep_table_open(const char *path, ep_table *out, ep_error *error);
/* The same of an open file, which stays the caller's; `path` is for messages. */
ep_status ep_table_of(int file, const char *path, ep_table *out, ep_error *error);
/* Reads no more than the head of the open file into *out, whose values are NULL; they start at
 * *values_offset. EP_UNSUPPORTED when it is no file that can be used where it lies. */
ep_status ep_table_peek(int file, const char *path, ep_table *out, size_t *values_offset,
                        ep_error *error);
/* Calls `visit` for each row of the open file that ep_table_peek described, in order, until one
 * fails. row: [columns] values of the dtype, aligned for it, lent for the call. Nothing is mapped:
 * a file that is cut meanwhile is EP_DATA. */
ep_status ep_table_walk(int file, const ep_table *table, size_t values_offset,
                        ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                        void *context, ep_error *error);
/* One row of the open file that ep_table_peek described. row: [columns] values of the dtype,
 * written. */
ep_status ep_table_row_read(int file, const ep_table *table, size_t values_offset, int64_t index,
                            uint8_t *row, ep_error *error);
void ep_table_close(ep_table *table);
double ep_table_value(const ep_table *table, int64_t row, int64_t column);
/* Columns first … first + count - 1 of a row. out: [count], written. */
void ep_table_values(const ep_table *table, int64_t row, int64_t first, int64_t count, double *out);

#endif
