#include "engine/data/prepare.h"

#include <math.h>
#include <stdlib.h>

#include "engine/data/samples.h"
#include "engine/data/split.h"

/* What is in use while rows become a program's input. */
typedef struct {
  ep_samples main, test; /* test: the data's own */
  uint8_t *split;        /* [main.rows], owned: ep_split of each row */
  double *x, *y;         /* [features], [targets], owned: the row at hand */
  bool takes_classes;
} preparation;

static void *array(int64_t count, size_t bytes) {
  size_t size;
  if (__builtin_mul_overflow((size_t)count, bytes, &size)) return NULL;
  return malloc(size ? size : 1);
}

static ep_status no_memory(ep_error *error) {
  return ep_fail(error, EP_NO_MEMORY, "no memory for the data");
}

/* Sums of value - origin, and of its square, over the training rows; origin NULL: 0; square NULL:
 * not asked for. [columns] each, written. */
static void sums_find(const preparation *work, const double *values, int64_t columns,
                      const double *origin, double *sum, double *square) {
  for (int64_t j = 0; j < columns; j++) {
    sum[j] = 0;
    if (square) square[j] = 0;
  }
  for (int64_t i = 0; i < work->main.rows; i++) {
    if (work->split[i] != EP_SPLIT_TRAIN) continue;
    ep_samples_read(&work->main, i, work->x, work->y);
    for (int64_t j = 0; j < columns; j++) {
      double distance = values[j] - (origin ? origin[j] : 0);
      sum[j] += distance;
      if (square) square[j] += distance * distance;
    }
  }
}

/* Mean and population deviation of the columns over the training rows, [columns] each, written, by
 * the corrected two-pass algorithm (T. Chan, G. Golub, R. LeVeque, "Algorithms for Computing the
 * Sample Variance", 1983). `values` is where a row's columns appear when it is read; rest:
 * [columns] of working memory. */
static void figures_find(const preparation *work, const double *values, int64_t columns,
                         double rows, double *mean, double *deviation, double *rest) {
  sums_find(work, values, columns, NULL, mean, NULL);
  for (int64_t j = 0; j < columns; j++) mean[j] /= rows;
  sums_find(work, values, columns, mean, rest, deviation);
  for (int64_t j = 0; j < columns; j++) {
    double variance = (deviation[j] - rest[j] * rest[j] / rows) / rows;
    mean[j] += rest[j] / rows;
    deviation[j] = variance > 0 ? sqrt(variance) : 0;
  }
}

/* A column of one value has no deviation, but the rounding of its mean may leave a tiny one, which
 * would blow that rounding up to 1: such a column keeps its value as mean and is divided by 1.
 * first: [columns] of working memory: a column's value, NaN once it has had two. */
static void constants_find(const preparation *work, const double *values, int64_t columns,
                           double *mean, double *deviation, double *first) {
  const ep_samples *main = &work->main;
  bool suspected = false, started = false;
  for (int64_t j = 0; j < columns; j++) suspected |= deviation[j] <= fabs(mean[j]) * 1e-12;
  if (!suspected) return;
  for (int64_t i = 0; i < main->rows; i++) {
    if (work->split[i] != EP_SPLIT_TRAIN) continue;
    ep_samples_read(main, i, work->x, work->y);
    for (int64_t j = 0; j < columns; j++)
      if (!started)
        first[j] = values[j];
      else if (values[j] != first[j])
        first[j] = NAN;
    started = true;
  }
  for (int64_t j = 0; j < columns; j++) {
    bool constant = !isnan(first[j]);
    if (constant) mean[j] = first[j];
    if (constant || deviation[j] == 0) deviation[j] = 1;
  }
}

/* Squares of values beyond 1e154 are infinite, and nothing would be left of the column. */
static ep_status figures_check(int64_t columns, const double *mean, const double *deviation,
                               const char *what, ep_error *error) {
  for (int64_t j = 0; j < columns; j++)
    if (!isfinite(mean[j]) || !isfinite(deviation[j]))
      return ep_fail_at(error, EP_DATA, "/data/standardize",
                        "column %lld of %s is too large to be standardized; scale the data down",
                        (long long)j + 1, what);
  return EP_OK;
}

/* what: "x" or "y", whose columns appear at `values`. */
static ep_status scaling_find(const preparation *work, const double *values, const char *what,
                              int64_t columns, int64_t train_rows, double **mean,
                              double **deviation, ep_error *error) {
  *mean = array(columns, sizeof **mean);
  *deviation = array(columns, sizeof **deviation);
  double *rest = array(columns, sizeof *rest);
  if (!*mean || !*deviation || !rest) {
    free(rest);
    return no_memory(error);
  }
  figures_find(work, values, columns, (double)train_rows, *mean, *deviation, rest);
  constants_find(work, values, columns, *mean, *deviation, rest);
  free(rest);
  return figures_check(columns, *mean, *deviation, what, error);
}

static ep_status out_allocate(const preparation *work, ep_prepared *out, ep_error *error) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    int64_t rows = out->rows[split];
    if (rows == 0) continue;
    /* rows * columns: 2^31 * 2^16 at most */
    out->x[split] = array(rows * out->features, sizeof(float));
    if (work->takes_classes)
      out->classes[split] = array(rows, sizeof(int32_t));
    else
      out->y[split] = array(rows * out->target_columns, sizeof(float));
    if (!out->x[split] || (!out->y[split] && !out->classes[split])) return no_memory(error);
  }
  return EP_OK;
}

static ep_status finite_check(const float *values, int64_t columns, int64_t row, const char *what,
                              ep_error *error) {
  for (int64_t j = 0; j < columns; j++)
    if (!isfinite(values[j]))
      return ep_fail_at(error, EP_DATA, "/data/standardize",
                        "row %lld, column %lld of %s is too large for float32; standardize %s or "
                        "scale the data down",
                        (long long)row + 1, (long long)j + 1, what, what);
  return EP_OK;
}

static ep_status class_store(double value, int64_t row, int32_t *out, ep_error *error) {
  if (!(value >= 0 && value < INT32_MAX && value == floor(value)))
    return ep_fail_at(error, EP_DATA, "/loss",
                      "row %lld: the target %g is no class; classes are 0, 1, 2, …",
                      (long long)row + 1, value);
  *out = (int32_t)value;
  return EP_OK;
}

/* The row at hand, number `row` of its source, becomes row `place` of the split. */
static ep_status row_store(const preparation *work, ep_prepared *out, ep_split split, int64_t row,
                           int64_t place, ep_error *error) {
  const ep_scaling *scaling = &out->scaling;
  float *x = out->x[split] + place * out->features;
  ep_scaling_apply_x(scaling, work->x, 1, x);
  ep_status status = finite_check(x, out->features, row, "x", error);
  if (status) return status;
  if (work->takes_classes) return class_store(work->y[0], row, &out->classes[split][place], error);
  float *y = out->y[split] + place * out->target_columns;
  for (int64_t j = 0; j < out->target_columns; j++) {
    double value = work->y[j];
    if (scaling->y_mean) value = (value - scaling->y_mean[j]) / scaling->y_deviation[j];
    y[j] = (float)value;
  }
  return finite_check(y, out->target_columns, row, "y", error);
}

static ep_status rows_store(const preparation *work, ep_prepared *out, ep_error *error) {
  int64_t place[EP_SPLIT_COUNT] = {0};
  ep_status status = EP_OK;
  for (int64_t i = 0; i < work->main.rows && !status; i++) {
    ep_split split = (ep_split)work->split[i];
    ep_samples_read(&work->main, i, work->x, work->y);
    status = row_store(work, out, split, i, place[split]++, error);
  }
  for (int64_t i = 0; i < work->test.rows && !status; i++) {
    ep_samples_read(&work->test, i, work->x, work->y);
    status = row_store(work, out, EP_SPLIT_TEST, i, i, error);
  }
  return status;
}

static ep_status loss_check(const ep_data_spec *data, ep_loss_type loss, int64_t targets,
                            ep_error *error) {
  if (data->standardize_y && ep_loss_is_classifier(loss))
    return ep_fail_at(error, EP_INVALID, "/data/standardize",
                      "y holds classes for %s: it cannot be standardized", ep_loss_type_name(loss));
  if (ep_loss_takes_classes(loss) && targets != 1)
    return ep_fail_at(error, EP_INVALID, "/loss",
                      "%s takes one column of classes, the data has %lld target columns",
                      ep_loss_type_name(loss), (long long)targets);
  return EP_OK;
}

/* Sizes, the split of each row, working memory. */
static ep_status work_begin(const ep_data_spec *data, preparation *work, ep_prepared *out,
                            ep_error *error) {
  const ep_samples *main = &work->main;
  ep_status status = ep_split_count(data, main->rows, work->test.rows, out->rows, error);
  if (status) return status;
  out->features = out->scaling.x_columns = main->features;
  out->target_columns = out->scaling.y_columns = main->targets;
  work->split = array(main->rows, sizeof *work->split);
  work->x = array(main->features, sizeof *work->x);
  work->y = array(main->targets, sizeof *work->y);
  if (!work->split || !work->x || !work->y) return no_memory(error);
  int64_t test_rows = work->test.rows > 0 ? 0 : out->rows[EP_SPLIT_TEST];
  ep_split_assign(data->split_seed, main->rows, test_rows, out->rows[EP_SPLIT_VALIDATION],
                  work->split);
  return EP_OK;
}

static ep_status work_do(const ep_data_spec *data, preparation *work, ep_prepared *out,
                         ep_error *error) {
  int64_t train_rows = out->rows[EP_SPLIT_TRAIN];
  ep_scaling *scaling = &out->scaling;
  ep_status status = EP_OK;
  if (data->standardize_x)
    status = scaling_find(work, work->x, "x", out->features, train_rows, &scaling->x_mean,
                          &scaling->x_deviation, error);
  if (!status && data->standardize_y)
    status = scaling_find(work, work->y, "y", out->target_columns, train_rows, &scaling->y_mean,
                          &scaling->y_deviation, error);
  if (!status) status = out_allocate(work, out, error);
  return status ? status : rows_store(work, out, error);
}

ep_status ep_prepare(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                     ep_prepared *out, ep_error *error) {
  preparation work = {.takes_classes = ep_loss_takes_classes(loss)};
  *out = (ep_prepared){0};
  ep_status status = ep_samples_open(data, dataset_folder, &work.main, &work.test, error);
  if (status) return status;
  status = loss_check(data, loss, work.main.targets, error);
  if (!status) status = work_begin(data, &work, out, error);
  if (!status) status = work_do(data, &work, out, error);
  free(work.split);
  free(work.x);
  free(work.y);
  ep_samples_close(&work.main);
  ep_samples_close(&work.test);
  if (status) ep_prepared_deinit(out);
  return status;
}

void ep_prepared_deinit(ep_prepared *prepared) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    free(prepared->x[split]);
    free(prepared->y[split]);
    free(prepared->classes[split]);
  }
  ep_scaling_deinit(&prepared->scaling);
  *prepared = (ep_prepared){0};
}
