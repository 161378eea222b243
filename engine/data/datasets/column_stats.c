#include "engine/data/datasets/column_stats.h"

#include <assert.h>
#include <float.h>
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
  ep_column_stats_restart(measure, NULL);
  return EP_OK;
}

void ep_column_stats_restart(ep_column_stats *measure, const bool *again) {
  measure->rows = 0;
  measure->again = again;
  for (int64_t i = 0; i < measure->columns; i++) {
    ep_column *column = &measure->column[i];
    if (again && !again[i]) continue;
    column->min = INFINITY;
    column->max = -INFINITY;
    column->integer = true;
    column->missing = 0;
    if (measure->distinct) ep_distinct_reset(&measure->distinct[i], &measure->distinct_bytes);
  }
}

ep_status ep_column_stats_table(ep_column_stats *measure, ep_error *error) {
  assert(measure->dtype == EP_DTYPE_F64 && measure->rows == 0);
  measure->distinct = calloc((size_t)measure->columns, sizeof *measure->distinct);
  measure->distinct_bytes = EP_LIMIT_DISTINCT_BYTES;
  return measure->distinct ? EP_OK : ep_fail_memory(error);
}

/* Whether values are told apart: of a category its words are, and of a text nothing is. */
static inline bool has_values(ep_column_type type) {
  return type == EP_COLUMN_NUMBER || type == EP_COLUMN_DATE;
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

/* One column of so many rows; false where a value is not finite, and not a missing cell. */
static bool column_measure(ep_column_stats *measure, int64_t index, const double *values,
                           int64_t rows) {
  ep_column *column = &measure->column[index];
  double least = column->min, most = column->max;
  bool table = measure->distinct, integer = column->integer;
  ep_distinct *distinct = table && has_values(column->type) ? &measure->distinct[index] : NULL;
  for (int64_t i = 0; i < rows; i++) {
    double value = values[i * measure->columns];
    if (!(fabs(value) <= DBL_MAX)) {
      if (!table || !isnan(value)) return false;
      column->missing++;
      continue;
    }
    least = value < least ? value : least;
    most = value > most ? value : most;
    integer = integer && is_integer(value);
    if (distinct && !distinct->full) ep_distinct_add(distinct, value, &measure->distinct_bytes);
  }
  column->min = least;
  column->max = most;
  column->integer = integer;
  return true;
}

static bool is_one_hot(const double *row, int64_t columns) {
  int64_t zeros = 0, ones = 0;
  for (int64_t i = 0; i < columns; i++) {
    zeros += row[i] == 0;
    ones += row[i] == 1;
  }
  return ones == 1 && zeros == columns - 1;
}

/* The first value of the rows that is not finite. */
static ep_status value_refuse(const ep_column_stats *measure, const double *values,
                              ep_error *error) {
  int64_t at = 0, columns = measure->columns;
  while (isfinite(values[at]) || (measure->distinct && isnan(values[at]))) at++;
  return ep_fail(error, EP_INVALID, "row %lld, column %lld: %s is not a number to train on",
                 (long long)(measure->rows + at / columns + 1), (long long)(at % columns + 1),
                 isnan(values[at]) ? "NaN" : "an infinity");
}

static ep_status values_measure(ep_column_stats *measure, const double *values, int64_t rows,
                                ep_error *error) {
  for (int64_t i = 0; i < measure->columns; i++)
    if ((!measure->again || measure->again[i]) && !column_measure(measure, i, values + i, rows))
      return value_refuse(measure, values, error);
  for (int64_t i = 0; i < rows && measure->one_hot; i++)
    measure->one_hot = is_one_hot(values + i * measure->columns, measure->columns);
  return EP_OK;
}

ep_status ep_column_stats_rows(ep_column_stats *measure, const uint8_t *row, int64_t rows,
                               ep_error *error) {
  ep_status status = EP_OK;
  size_t row_bytes = (size_t)measure->columns * ep_dtype_bytes(measure->dtype);
  if (rows > EP_LIMIT_ROWS - measure->rows)
    return ep_fail(error, EP_TOO_LARGE, "more than %lld rows", (long long)EP_LIMIT_ROWS);
  if (measure->dtype == EP_DTYPE_F64) {
    status = values_measure(measure, (const double *)(const void *)row, rows, error);
    measure->rows += rows;
    return status;
  }
  for (int64_t i = 0; i < rows && status == EP_OK; i++, row += row_bytes, measure->rows++) {
    if (measure->dtype == EP_DTYPE_U8) {
      bytes_measure(measure, row);
    } else {
      ep_dtype_values(measure->dtype, row, measure->columns, measure->scratch);
      status = values_measure(measure, measure->scratch, 1, error);
    }
  }
  return status;
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
    if (column->type == EP_COLUMN_CATEGORY) column->distinct = column->words.count;
    if (has_values(column->type)) column->distinct = ep_distinct_count(&measure->distinct[i]);
    if (!values_matter(column, measure->rows) || column->distinct > left) continue;
    column->value = ep_distinct_values(&measure->distinct[i]);
    left -= column->distinct;
  }
}

void ep_column_stats_deinit(ep_column_stats *measure) {
  for (int64_t i = 0; i < measure->columns && measure->distinct; i++)
    ep_distinct_reset(&measure->distinct[i], &measure->distinct_bytes);
  free(measure->distinct);
  free(measure->scratch);
  free(measure->least);
  *measure = (ep_column_stats){0};
}
