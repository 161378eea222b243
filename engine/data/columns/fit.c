/* fit.c: what an encoding learns from the training rows. */
#include <math.h>
#include <stdlib.h>

#include "api/json/fields.h"
#include "engine/data/columns/calendar.h"
#include "engine/data/columns/column_value.h"
#include "engine/data/columns/encoding.h"
#include "engine/data/columns/order_statistic.h"

/* Mean and population deviation by the corrected two-pass algorithm (Chan, Golub, LeVeque 1983). A
 * column of one value keeps it as mean, and is divided by 1. */
static void standard_find(const double *values, int64_t count, double *mean, double *deviation) {
  double sum = 0, square = 0, rest = 0;
  bool constant = true;
  for (int64_t i = 0; i < count; i++) {
    sum += values[i];
    constant = constant && values[i] == values[0];
  }
  *mean = constant ? values[0] : sum / (double)count;
  *deviation = 1;
  if (constant) return;
  for (int64_t i = 0; i < count; i++) {
    double distance = values[i] - *mean;
    rest += distance;
    square += distance * distance;
  }
  double variance = (square - rest * rest / (double)count) / (double)count;
  *mean += rest / (double)count;
  if (!(variance <= 0)) *deviation = sqrt(variance);
}

static void range_find(const double *values, int64_t count, double *least, double *greatest) {
  *greatest = *least = values[0];
  for (int64_t i = 1; i < count; i++) {
    *least = fmin(*least, values[i]);
    *greatest = fmax(*greatest, values[i]);
  }
}

static void minmax_find(const double *values, int64_t count, double *least, double *range) {
  double greatest;
  range_find(values, count, least, &greatest);
  *range = greatest > *least ? greatest - *least : 1;
}

/* cells: [count] that are there, count >= 1. */
static double fill_find(ep_fill how, double *cells, int64_t count) {
  double fill = 0, deviation;
  switch (how) {
  case EP_FILL_MEAN: standard_find(cells, count, &fill, &deviation); break;
  case EP_FILL_MOST_FREQUENT: fill = ep_mode(cells, count); break;
  case EP_FILL_ZERO: break;
  default: fill = ep_median(cells, count);
  }
  return fill;
}

/* Moves the cells that are there to the front; returns their count. */
static int64_t present_gather(double *cells, int64_t rows) {
  int64_t count = 0;
  for (int64_t i = 0; i < rows; i++) {
    double cell = cells[i];
    if (isnan(cell)) continue;
    cells[i] = cells[count];
    cells[count++] = cell;
  }
  return count;
}

static ep_status scale_check(const ep_column_encoding *column, ep_error *error) {
  ep_field_reader reader = {0};
  if (isfinite(column->fill) && isfinite(column->shift) && isfinite(column->scale)) return EP_OK;
  ep_field_reader_enter(&reader, "data");
  ep_field_reader_enter(&reader, "columns");
  ep_field_reader_enter(&reader, column->name);
  return ep_fail_at(error, EP_DATA, reader.pointer,
                    "its values are too large to be scaled: scale them down");
}

/* values: of the training rows, filled. */
static void scale_find(ep_column_encoding *column, const double *values, int64_t rows) {
  column->shift = 0;
  column->scale = 1;
  if (column->encode != EP_ENCODE_DATE && column->scaling == EP_COLUMN_SCALE_NONE) return;
  if (column->encode != EP_ENCODE_DATE && column->scaling == EP_COLUMN_SCALE_MINMAX)
    minmax_find(values, rows, &column->shift, &column->scale);
  else
    standard_find(values, rows, &column->shift, &column->scale);
}

static ep_status number_fit(ep_column_encoding *column, double *cells, int64_t rows,
                            ep_error *error) {
  int64_t present = present_gather(cells, rows);
  column->ranged = column->encode == EP_ENCODE_NUMBER && present > 0;
  if (column->ranged) range_find(cells, present, &column->least, &column->greatest);
  if (!column->has_value)
    column->fill = present > 0 ? fill_find(column->missing, cells, present) : 0;
  for (int64_t i = present; i < rows; i++) cells[i] = column->fill;
  for (int64_t i = 0; i < rows; i++)
    cells[i] = column->encode == EP_ENCODE_DATE ? (double)ep_calendar_of(cells[i]).year
                                                : ep_column_value(column, cells[i]);
  scale_find(column, cells, rows);
  return scale_check(column, error);
}

static ep_status words_fit(ep_column_encoding *column, const double *cells, int64_t rows,
                           ep_error *error) {
  int64_t *count = calloc((size_t)column->words.count + 1, sizeof *count);
  if (!count) return ep_fail_memory(error);
  for (int64_t i = 0; i < rows; i++) {
    int64_t word = ep_column_word(column, cells[i]);
    if (word >= 0) count[word]++;
  }
  int64_t least = column->min_count > 1 ? column->min_count : 1;
  for (int64_t i = 0; i < column->words.count; i++) column->trained[i] = count[i] >= least;
  free(count);
  return EP_OK;
}

/* A missing cell is another word, unless it is filled with the commonest. */
static ep_status category_fit(ep_column_encoding *column, double *cells, int64_t rows,
                              ep_error *error) {
  ep_status status = words_fit(column, cells, rows, error);
  int64_t present = present_gather(cells, rows);
  bool filled = column->missing == EP_FILL_MOST_FREQUENT && present > 0;
  column->fill = filled ? ep_mode(cells, present) : NAN;
  return status;
}

ep_status ep_encoding_fit(ep_encoding *encoding, int64_t column, double *cells, int64_t rows,
                          ep_error *error) {
  ep_column_encoding *one = &encoding->column[column];
  ep_status status;
  one->missing_rows = 0;
  for (int64_t i = 0; i < rows; i++) one->missing_rows += isnan(cells[i]) != 0;
  switch (one->encode) {
  case EP_ENCODE_NONE: return EP_OK;
  case EP_ENCODE_ONE_HOT:
  case EP_ENCODE_EMBEDDING:
  case EP_ENCODE_HASH: return category_fit(one, cells, rows, error);
  case EP_ENCODE_ORDINAL:
    status = words_fit(one, cells, rows, error);
    return status == EP_OK ? number_fit(one, cells, rows, error) : status;
  default: return number_fit(one, cells, rows, error);
  }
}
