#include "engine/data/datasets/column_stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/arrays/npy_header.h"

ep_status ep_column_stats_init(ep_column_stats *measure, ep_dtype dtype, int64_t columns,
                               ep_column *column, ep_error *error) {
  assert(columns >= 1 && columns <= EP_LIMIT_COLUMNS);
  *measure = (ep_column_stats){
      .dtype = dtype, .columns = columns, .column = column, .one_hot = columns >= 2};
  size_t count = (size_t)columns;
  if (dtype == EP_DTYPE_U8) {
    measure->least = malloc(2 * count);
    if (measure->least) {
      memset(measure->least, UINT8_MAX, count);
      memset(measure->least + count, 0, count);
    }
  } else {
    measure->scratch = malloc(count * sizeof *measure->scratch);
  }
  if (!measure->least && !measure->scratch) return ep_fail_memory(error);
  for (int64_t i = 0; i < columns; i++) {
    column[i].min = INFINITY;
    column[i].max = -INFINITY;
    column[i].integer = true;
  }
  return EP_OK;
}

ep_status ep_column_stats_table(ep_column_stats *measure, ep_error *error) {
  assert(measure->dtype == EP_DTYPE_F64 && measure->rows == 0);
  measure->distinct = calloc((size_t)measure->columns, sizeof *measure->distinct);
  measure->distinct_bytes = EP_LIMIT_DISTINCT_BYTES;
  return measure->distinct ? EP_OK : ep_fail_memory(error);
}

static inline bool is_integer(double value) {
  return fabs(value) >= 0x1p52 || value == (double)(int64_t)value;
}

/* Bytes are whole and finite: their extremes are all there is, and quickly found. */
static void bytes_measure(ep_column_stats *measure, const uint8_t *row) {
  int64_t columns = measure->columns;
  uint8_t *restrict least = measure->least, *restrict greatest = measure->least + columns;
  for (int64_t i = 0; i < columns; i++) {
    least[i] = row[i] < least[i] ? row[i] : least[i];
    greatest[i] = row[i] > greatest[i] ? row[i] : greatest[i];
  }
  int64_t ones = 0;
  for (int64_t i = 0; i < columns && measure->one_hot; i++) {
    ones += row[i];
    measure->one_hot = row[i] <= 1 && ones <= 1;
  }
  measure->one_hot = measure->one_hot && ones == 1;
}

static ep_status values_measure(ep_column_stats *measure, const double *row, ep_error *error) {
  int64_t zeros = 0, ones = 0;
  for (int64_t i = 0; i < measure->columns; i++) {
    double value = row[i];
    ep_column *column = &measure->column[i];
    if (measure->distinct && isnan(value)) {
      column->missing++;
      continue;
    }
    if (!isfinite(value))
      return ep_fail(error, EP_INVALID, "row %lld, column %lld: %s is not a number to train on",
                     (long long)measure->rows + 1, (long long)i + 1,
                     isnan(value) ? "NaN" : "an infinity");
    if (value < column->min) column->min = value;
    if (value > column->max) column->max = value;
    if (column->integer && !is_integer(value)) column->integer = false;
    if (measure->distinct) ep_distinct_add(&measure->distinct[i], value, &measure->distinct_bytes);
    zeros += value == 0;
    ones += value == 1;
  }
  measure->one_hot = measure->one_hot && ones == 1 && zeros == measure->columns - 1;
  return EP_OK;
}

ep_status ep_column_stats_row(ep_column_stats *measure, const uint8_t *row, ep_error *error) {
  ep_status status = EP_OK;
  if (measure->dtype == EP_DTYPE_U8) {
    bytes_measure(measure, row);
  } else {
    const double *values = (const double *)(const void *)row;
    if (measure->dtype != EP_DTYPE_F64) {
      ep_dtype_values(measure->dtype, row, measure->columns, measure->scratch);
      values = measure->scratch;
    }
    status = values_measure(measure, values, error);
  }
  if (status != EP_OK) return status;
  if (measure->rows == EP_LIMIT_ROWS)
    return ep_fail(error, EP_TOO_LARGE, "more than %lld rows", (long long)EP_LIMIT_ROWS);
  measure->rows++;
  return EP_OK;
}

/* Whether the values of a number say more than its extremes, and each stands in several rows. */
static bool values_matter(const ep_column *column, int64_t rows) {
  bool all = column->integer && column->max - column->min + 1 == (double)column->distinct;
  return column->type == EP_COLUMN_NUMBER && !all && column->distinct > 1 &&
         column->distinct <= EP_LIMIT_COLUMN_VALUES &&
         2 * column->distinct <= rows - column->missing;
}

void ep_column_stats_finish(ep_column_stats *measure) {
  int64_t left = EP_LIMIT_TABLE_VALUES;
  if (measure->rows == 0) measure->one_hot = false;
  for (int64_t i = 0; i < measure->columns && measure->least && measure->rows > 0; i++) {
    measure->column[i].min = measure->least[i];
    measure->column[i].max = measure->least[measure->columns + i];
  }
  for (int64_t i = 0; i < measure->columns && measure->distinct; i++) {
    ep_column *column = &measure->column[i];
    if (column->missing == measure->rows) column->min = column->max = 0;
    if (column->type != EP_COLUMN_TEXT) column->distinct = ep_distinct_count(&measure->distinct[i]);
    if (!values_matter(column, measure->rows) || column->distinct > left) continue;
    column->value = ep_distinct_values(&measure->distinct[i]);
    left -= column->distinct;
  }
}

void ep_column_stats_deinit(ep_column_stats *measure) {
  for (int64_t i = 0; i < measure->columns && measure->distinct; i++)
    ep_distinct_deinit(&measure->distinct[i]);
  free(measure->distinct);
  free(measure->scratch);
  free(measure->least);
  *measure = (ep_column_stats){0};
}
