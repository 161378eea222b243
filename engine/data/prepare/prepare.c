#include "engine/data/prepare/prepare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/positive.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/columns.h"
#include "engine/data/prepare/names.h"
#include "engine/data/prepare/preparation.h"
#include "engine/data/prepare/shape.h"
#include "engine/data/prepare/split.h"
#include "engine/data/sources/class_counts.h"
#include "engine/data/sources/table_walk.h"
#include "engine/data/sources/target.h"

static const ep_row_source *main_rows(const ep_preparation *work) {
  return &work->sets[EP_SPLIT_TRAIN];
}

static void *array(int64_t count, size_t bytes) {
  size_t size;
  if (__builtin_mul_overflow((size_t)count, bytes, &size)) return NULL;
  return malloc(size ? size : 1);
}

/* What is found of columns over the training rows. */
typedef struct {
  const double *values;     /* [columns]: where those of a row appear when it is read */
  int64_t columns, rows;    /* that were read */
  double *mean, *deviation; /* [columns] each, zeroed; lent */
  double *rest, *first;     /* [columns] each, the same: working memory */
} figures;

/* first: a column's one value, NaN once it has had two. */
static void values_sum(const figures *of) {
  for (int64_t j = 0; j < of->columns; j++) {
    of->mean[j] += of->values[j];
    if (of->rows == 0)
      of->first[j] = of->values[j];
    else if (of->values[j] != of->first[j])
      of->first[j] = NAN;
  }
}

static void squares_sum(const figures *of) {
  for (int64_t j = 0; j < of->columns; j++) {
    double distance = of->values[j] - of->mean[j];
    of->rest[j] += distance;
    of->deviation[j] += distance * distance;
  }
}

static void train_walk(const ep_preparation *work, void (*add)(const figures *of), figures *of) {
  const ep_row_source *main = main_rows(work);
  of->rows = 0;
  for (int64_t i = 0; i < main->rows; i++) {
    if (work->split[i] != EP_SPLIT_TRAIN) continue;
    ep_row_source_read(main, i, work->x, work->y);
    add(of);
    of->rows++;
  }
}

/* Mean and population deviation, by the corrected two-pass algorithm (T. Chan, G. Golub, R.
 * LeVeque, "Algorithms for Computing the Sample Variance", 1983). A column of one value has no
 * deviation, but the rounding of its mean may leave a tiny one, which would blow that rounding up
 * to 1: such a column keeps its value as mean and is divided by 1. */
static void figures_find(const ep_preparation *work, figures *of) {
  train_walk(work, values_sum, of);
  double rows = (double)of->rows;
  for (int64_t j = 0; j < of->columns; j++) of->mean[j] /= rows;
  train_walk(work, squares_sum, of);
  for (int64_t j = 0; j < of->columns; j++) {
    double variance = (of->deviation[j] - of->rest[j] * of->rest[j] / rows) / rows;
    bool constant = !isnan(of->first[j]);
    of->mean[j] = constant ? of->first[j] : of->mean[j] + of->rest[j] / rows;
    of->deviation[j] = constant || variance <= 0 ? 1 : sqrt(variance);
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
static ep_status scaling_find(const ep_preparation *work, const double *values, const char *what,
                              int64_t columns, double **mean, double **deviation, ep_error *error) {
  size_t count = (size_t)columns;
  figures of = {.values = values,
                .columns = columns,
                .mean = *mean = calloc(count, sizeof **mean),
                .deviation = *deviation = calloc(count, sizeof **deviation),
                .rest = calloc(2 * count, sizeof *of.rest)};
  of.first = of.rest + columns;
  bool ok = of.mean && of.deviation && of.rest;
  if (ok) figures_find(work, &of);
  free(of.rest);
  return ok ? figures_check(columns, *mean, *deviation, what, error) : ep_fail_memory(error);
}

/* Whether x of a set can be used where it lies: all of its rows, in their order, as they are. */
static bool is_usable(const ep_preparation *work, const ep_prepared *out, int split) {
  const ep_row_source *set = &work->sets[split];
  if (!set->apart || set->rows != out->rows[split]) return false;
  if (out->x_type == EP_X_UINT8) return true;
  return set->x.dtype == EP_DTYPE_F32 && !out->scaling.x_mean && out->normalization.channels == 0 &&
         (uintptr_t)set->x.values % sizeof(float) == 0;
}

/* The table goes from the samples to *out; afterwards the samples' x must not be read. */
static void x_map(ep_preparation *work, ep_prepared *out, int split) {
  ep_row_source *set = &work->sets[split];
  work->mapped[split] = true;
  out->x[split] = set->x.values;
  out->x_table[split] = set->x;
  set->x = (ep_table){0};
}

static ep_status x_allocate(ep_preparation *work, ep_prepared *out, int split, ep_error *error) {
  if (is_usable(work, out, split)) {
    x_map(work, out, split);
    return EP_OK;
  }
  size_t bytes = out->x_type == EP_X_UINT8 ? 1 : sizeof(float);
  /* rows * columns: 2^31 * 2^16 at most */
  out->x_owned[split] = array(out->rows[split] * out->features, bytes);
  out->x[split] = out->x_owned[split];
  return out->x[split] ? EP_OK : ep_fail_memory(error);
}

static ep_status out_allocate(ep_preparation *work, ep_prepared *out, ep_error *error) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    int64_t rows = out->rows[split];
    if (rows == 0) continue;
    ep_status status = x_allocate(work, out, split, error);
    if (status != EP_OK) return status;
    if (work->sets[split].unlabelled) continue;
    if (work->takes_classes)
      out->classes[split] = array(rows, sizeof(int32_t));
    else
      out->y[split] = array(rows * out->target_columns, sizeof(float));
    if (!out->y[split] && !out->classes[split]) return ep_fail_memory(error);
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
                      "row %lld: the target %g is not a class; classes are 0, 1, 2, …",
                      (long long)row + 1, value);
  *out = (int32_t)value;
  return EP_OK;
}

static ep_status x_store(const ep_preparation *work, ep_prepared *out, const ep_row_source *set,
                         ep_split split, int64_t row, int64_t place, ep_error *error) {
  if (out->x_type == EP_X_UINT8) {
    size_t bytes = (size_t)out->features;
    uint8_t *x = (uint8_t *)out->x_owned[split] + (size_t)place * bytes;
    memcpy(x, set->x.values + (size_t)row * bytes, bytes);
    return EP_OK;
  }
  float *x = (float *)out->x_owned[split] + place * out->features;
  if (out->normalization.channels > 0) ep_normalization_apply(&out->normalization, work->x, 1);
  if (out->scaling.encoding) ep_encoding_apply(out->scaling.encoding, work->x, work->encoded);
  ep_scaling_apply_x(&out->scaling, out->scaling.encoding ? work->encoded : work->x, 1, x);
  return finite_check(x, out->features, row, "x", error);
}

static ep_status y_store(const ep_preparation *work, ep_prepared *out, ep_split split, int64_t row,
                         int64_t place, ep_error *error) {
  const ep_scaling *scaling = &out->scaling;
  if (work->takes_classes)
    return class_store(ep_class_value(work->y, main_rows(work)->targets), row,
                       &out->classes[split][place], error);
  float *y = out->y[split] + place * out->target_columns;
  for (int64_t j = 0; j < out->target_columns; j++) {
    double value = work->y[j];
    if (scaling->y_mean) value = (value - scaling->y_mean[j]) / scaling->y_deviation[j];
    y[j] = (float)value;
  }
  return finite_check(y, out->target_columns, row, "y", error);
}

/* The rows of a series as a network takes them: [rows, features], the caller's. */
static ep_status series_encode(const ep_preparation *work, const ep_encoding *encoding, float **out,
                               ep_error *error) {
  const ep_row_source *main = main_rows(work);
  ep_status status = EP_OK;
  float *series = *out = array(main->rows * encoding->features, sizeof *series);
  if (!series) return ep_fail_memory(error);
  for (int64_t i = 0; i < main->rows && status == EP_OK; i++) {
    float *row = series + i * encoding->features;
    ep_row_source_read(main, i, work->x, work->y);
    ep_encoding_apply(encoding, work->x, work->encoded);
    for (int64_t j = 0; j < encoding->features; j++) row[j] = (float)work->encoded[j];
    status = finite_check(row, encoding->features, ep_row_source_place(main, i), "x", error);
  }
  return status;
}

static ep_status last_value_find(const ep_preparation *work, ep_baseline *out, ep_error *error) {
  const ep_row_source *main = main_rows(work);
  double *y = array(main->rows, sizeof *y);
  if (!y) return ep_fail_memory(error);
  for (int64_t i = 0; i < main->rows; i++) ep_row_source_read(main, i, NULL, &y[i]);
  *out = ep_windows_last_value(&work->windows, y);
  free(y);
  return EP_OK;
}

/* Each row is encoded once, and lies in as many examples as it is part of. */
static ep_status examples_store(const ep_preparation *work, ep_prepared *out, ep_error *error) {
  const ep_windows *windows = &work->windows;
  int64_t features = out->scaling.encoding->features;
  float *series;
  ep_status status = series_encode(work, out->scaling.encoding, &series, error);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < out->rows[split] && status == EP_OK; i++) {
      int64_t row = ep_windows_target_row(windows, (ep_split)split, i);
      ep_windows_gather(windows, (ep_split)split, i, series, features,
                        (float *)out->x_owned[split] + i * out->features);
      ep_row_source_read(main_rows(work), row, NULL, work->y);
      status =
          y_store(work, out, (ep_split)split, ep_row_source_place(main_rows(work), row), i, error);
    }
  free(series);
  if (status != EP_OK || work->takes_classes || main_rows(work)->targets != 1) return status;
  return last_value_find(work, &out->last_value, error);
}

/* Row `row` of the set becomes row `place` of the split. */
static ep_status row_store(const ep_preparation *work, ep_prepared *out, const ep_row_source *set,
                           ep_split split, int64_t row, int64_t place, ep_error *error) {
  bool floats = !work->mapped[split] && out->x_type == EP_X_FLOAT32;
  ep_status status = EP_OK;
  ep_row_source_read(set, row, floats ? work->x : NULL, work->y);
  if (!work->mapped[split]) status = x_store(work, out, set, split, row, place, error);
  return status == EP_OK && !set->unlabelled ? y_store(work, out, split, row, place, error)
                                             : status;
}

static ep_status rows_store(const ep_preparation *work, ep_prepared *out, ep_error *error) {
  int64_t place[EP_SPLIT_COUNT] = {0};
  ep_status status = EP_OK;
  const ep_row_source *main = main_rows(work);
  if (work->windows.length > 0) return examples_store(work, out, error);
  for (int64_t i = 0; i < main->rows && status == EP_OK; i++) {
    ep_split split = (ep_split)work->split[i];
    status = row_store(work, out, main, split, i, place[split]++, error);
  }
  for (int split = EP_SPLIT_TRAIN + 1; split < EP_SPLIT_COUNT; split++)
    for (int64_t i = 0; i < work->sets[split].rows && status == EP_OK; i++)
      status = row_store(work, out, &work->sets[split], (ep_split)split, i, i, error);
  return status;
}

/* Several columns are classes when they are one-hot. */
static bool is_one_hot(const ep_row_source *set, double *y) {
  bool one_hot = true;
  for (int64_t row = 0; row < set->rows && one_hot; row++) {
    ep_row_source_read(set, row, NULL, y);
    one_hot = ep_row_is_one_hot(y, set->targets);
  }
  return one_hot;
}

static ep_status loss_check(const ep_data_spec *data, ep_loss_type loss, const ep_preparation *work,
                            ep_error *error) {
  if (data->standardize_y && ep_loss_is_classifier(loss))
    return ep_fail_at(error, EP_INVALID, "/data/standardize",
                      "y contains classes for %s: it cannot be standardized",
                      ep_loss_type_name(loss));
  int64_t targets = main_rows(work)->targets;
  if (data->stratify && (!ep_loss_is_classifier(loss) || (!work->takes_classes && targets != 1)))
    return ep_fail_at(error, EP_INVALID, "/data/stratify",
                      "%s of %lld target column%s has no classes to stratify by",
                      ep_loss_type_name(loss), (long long)targets, targets == 1 ? "" : "s");
  if (!work->takes_classes || targets == 1) return EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    if (!work->sets[split].unlabelled && !is_one_hot(&work->sets[split], work->y))
      return ep_fail_at(error, EP_INVALID, "/loss",
                        "%s takes one column of classes, or one-hot columns; the data has %lld "
                        "target columns, which are not one-hot",
                        ep_loss_type_name(loss), (long long)targets);
  return EP_OK;
}

/* Bytes stay bytes when all of x are, and nothing makes fractions of them. */
static ep_x_type x_type_find(const ep_data_spec *data, const ep_preparation *work) {
  bool bytes = !data->standardize_x;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    const ep_row_source *set = &work->sets[split];
    bytes = bytes && (set->rows == 0 || (set->apart && set->x.dtype == EP_DTYPE_U8));
  }
  return bytes ? EP_X_UINT8 : EP_X_FLOAT32;
}

/* What bytes stand for, as a device computes it. */
static ep_status bytes_scale(ep_prepared *out, ep_error *error) {
  if (out->x_type != EP_X_UINT8) return EP_OK;
  out->x_scale = array(out->row.channels, sizeof *out->x_scale);
  out->x_shift = array(out->row.channels, sizeof *out->x_shift);
  if (!out->x_scale || !out->x_shift) return ep_fail_memory(error);
  bool plain = out->normalization.channels == 0;
  for (int64_t c = 0; c < out->row.channels; c++) {
    out->x_scale[c] = plain ? 1 : (float)out->normalization.factor[c];
    out->x_shift[c] = plain ? 0 : (float)out->normalization.offset[c];
  }
  return EP_OK;
}

/* Which class each main row is of. */
static ep_status classes_read(ep_preparation *work, bool folds, ep_error *error) {
  const ep_row_source *main = main_rows(work);
  ep_strata *strata = &work->strata;
  ep_status status = EP_OK;
  strata->class_of = array(main->rows, sizeof *strata->class_of);
  if (!strata->class_of) return ep_fail_memory(error);
  for (int64_t i = 0; i < main->rows && status == EP_OK; i++) {
    int found = 0;
    ep_row_source_read(main, i, NULL, work->y);
    if (!folds && ep_class_value(work->y, main->targets) >= EP_LIMIT_CLASSES)
      found = EP_LIMIT_CLASSES - 1; /* a stratum of all that are left; the loss looks at them */
    else
      status = ep_class_find(work->y, main->targets, &found, error);
    strata->class_of[i] = (uint16_t)found;
    strata->rows[found]++;
  }
  return status;
}

/* Sizes, working memory. */
static ep_status work_begin(const ep_data_spec *data, ep_preparation *work, ep_prepared *out,
                            ep_error *error) {
  const ep_row_source *main = main_rows(work);
  int64_t rows[EP_SPLIT_COUNT];
  for (int split = 0; split < EP_SPLIT_COUNT; split++) rows[split] = work->sets[split].rows;
  ep_status status = EP_OK;
  status = ep_split_column_check(&work->by, main->kept ? main->x.rows - main->rows : 0, error);
  if (status != EP_OK) return status;
  if (work->windows.length > 0)
    memcpy(out->rows, work->windows.windows, sizeof out->rows);
  else if (work->by.split)
    memcpy(out->rows, work->by.rows, sizeof out->rows);
  else
    status = ep_split_count(data, rows, out->rows, error);
  if (status != EP_OK) return status;
  const ep_encoding *encoding = out->scaling.encoding;
  out->features = out->scaling.x_columns = encoding ? ep_encoding_inputs(encoding) : main->features;
  out->target_columns = out->scaling.y_columns = work->takes_classes ? 1 : main->targets;
  out->x_type = x_type_find(data, work);
  out->row =
      ep_data_row_shape(data, main->apart ? main->x.dimensions : 1, main->x.shape, out->features);
  if (ep_shape_count(out->row) != out->features)
    return ep_fail_at(error, EP_INVALID, "/data/shape", "the shape does not match %lld columns",
                      (long long)out->features);
  work->split = array(main->rows, sizeof *work->split);
  work->x = array(main->features, sizeof *work->x);
  work->y = array(main->targets, sizeof *work->y);
  work->encoded = array(out->features, sizeof *work->encoded);
  if (!work->split || !work->x || !work->y || !work->encoded) return ep_fail_memory(error);
  return EP_OK;
}

/* The split of each row of the main set. */
static ep_status rows_assign(const ep_data_spec *data, ep_preparation *work, const ep_prepared *out,
                             ep_error *error) {
  const ep_row_source *main = main_rows(work);
  ep_status status = EP_OK;
  if (work->windows.length > 0) {
    ep_windows_assign(&work->windows, work->split);
    return EP_OK;
  }
  /* sets of the data's own take no row of the main one */
  int64_t test_rows = out->rows[EP_SPLIT_TEST] - work->sets[EP_SPLIT_TEST].rows;
  int64_t validation_rows = out->rows[EP_SPLIT_VALIDATION] - work->sets[EP_SPLIT_VALIDATION].rows;
  if (data->stratify) status = classes_read(work, data->folds > 0, error);
  if (status == EP_OK && data->stratify)
    status = ep_split_check_classes(data, work->strata.rows, test_rows, error);
  if (status == EP_OK && work->by.column >= 0)
    return ep_split_column_assign(&work->by, main, test_rows, validation_rows, work->split, error);
  if (status == EP_OK)
    ep_split_assign(data, main->rows, test_rows, validation_rows,
                    data->stratify ? &work->strata : NULL, work->split);
  return status;
}

static ep_status work_do(const ep_data_spec *data, ep_preparation *work, ep_prepared *out,
                         ep_error *error) {
  int64_t train_rows =
      work->windows.length > 0 ? work->windows.train_rows : out->rows[EP_SPLIT_TRAIN];
  ep_scaling *scaling = &out->scaling;
  ep_status status =
      ep_normalization_find(data, out->row, out->x_type == EP_X_UINT8, &out->normalization, error);
  if (status == EP_OK) status = bytes_scale(out, error);
  if (status == EP_OK && scaling->encoding)
    status = ep_columns_fit(scaling->encoding, main_rows(work), work->split, train_rows, error);
  if (status == EP_OK && data->standardize_x)
    status = scaling_find(work, work->x, "x", out->features, &scaling->x_mean,
                          &scaling->x_deviation, error);
  if (status == EP_OK && data->standardize_y)
    status = scaling_find(work, work->y, "y", out->target_columns, &scaling->y_mean,
                          &scaling->y_deviation, error);
  if (status == EP_OK) status = out_allocate(work, out, error);
  return status == EP_OK ? rows_store(work, out, error) : status;
}

/* The names that go with the weights though nothing is encoded. */
static ep_status names_find(const ep_data_spec *data, const ep_preparation *work, bool classifies,
                            const char *dataset_folder, ep_scaling *out, ep_error *error) {
  const ep_dataset_meta *meta = &work->meta;
  const ep_row_source *main = main_rows(work);
  ep_status status = EP_OK;
  if (out->encoding) return EP_OK;
  if (dataset_folder && !main->apart) status = ep_column_names_find(data, meta, out, error);
  if (status == EP_OK && classifies && (meta->classes > 0 || main->swapped))
    status = ep_target_classes_find(meta, main->target, &out->classes, error);
  if (status == EP_OK && main->swapped) ep_classes_swap(&out->classes);
  if (meta->dialect) out->dialect = meta->dialect->dialect;
  return status;
}

/* What decides the split, but for a permutation: a column, or the order of a series. */
static ep_status by_find(const ep_data_spec *data, ep_preparation *work, ep_error *error) {
  const ep_dataset_meta *meta = work->described ? &work->meta : NULL;
  const ep_part *table = &work->meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_row_source *main = &work->sets[EP_SPLIT_TRAIN];
  ep_status status = EP_OK;
  work->by = (ep_split_column){.column = -1};
  if (data->window.length > 0)
    status = ep_windows_find(data, meta, main->target, &work->windows, error);
  else if (data->time[0] || data->group[0])
    status = ep_split_column_find(data, table->rows > 0 ? table : NULL, &work->by, error);
  if (work->windows.order) { /* the rows stand in the order of the series from here on */
    main->kept = work->windows.order;
    work->windows.order = NULL;
  }
  return status;
}

/* The encoding's plan, and what describes the rows: files that are mapped hold numbers alone, and
 * to describe them is to read them all. */
static ep_status columns_find(const ep_data_spec *data, const char *dataset_folder,
                              ep_preparation *work, ep_encoding **out, ep_error *error) {
  bool columns = dataset_folder || ep_columns_are_said(data);
  if (!columns && !data->time[0] && !data->group[0]) return EP_OK;
  ep_status status =
      ep_data_describe(data, dataset_folder, true, &work->described, &work->meta, error);
  if (status != EP_OK || !columns || !work->described) return status;
  return ep_columns_plan(data, &work->meta, out, error);
}

ep_status ep_preparation_open(const ep_data_spec *data, ep_loss_type loss,
                              const char *dataset_folder, ep_preparation *work, ep_prepared *out,
                              ep_error *error) {
  *work = (ep_preparation){.takes_classes = ep_loss_takes_classes(loss)};
  *out = (ep_prepared){0};
  ep_status status = ep_row_source_open(data, dataset_folder, work->sets, error);
  if (status != EP_OK) return status;
  status = columns_find(data, dataset_folder, work, &out->scaling.encoding, error);
  if (status == EP_OK)
    status =
        names_find(data, work, ep_loss_is_classifier(loss), dataset_folder, &out->scaling, error);
  if (status == EP_OK) status = by_find(data, work, error);
  if (status == EP_OK) status = work_begin(data, work, out, error);
  if (status == EP_OK) status = loss_check(data, loss, work, error);
  return status == EP_OK ? rows_assign(data, work, out, error) : status;
}

void ep_preparation_close(ep_preparation *work) {
  ep_split_column_deinit(&work->by);
  ep_windows_deinit(&work->windows);
  free(work->strata.class_of);
  free(work->split);
  free(work->x);
  free(work->y);
  free(work->encoded);
  ep_row_source_close(work->sets);
  ep_dataset_meta_deinit(&work->meta);
}

ep_status ep_prepare(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                     ep_prepared *out, ep_error *error) {
  ep_preparation work;
  ep_status status = ep_preparation_open(data, loss, dataset_folder, &work, out, error);
  if (status == EP_OK) status = work_do(data, &work, out, error);
  ep_preparation_close(&work);
  if (status != EP_OK) ep_prepared_deinit(out);
  return status;
}

/* The x of one split as float32; its bytes are given up. */
static ep_status split_widen(ep_prepared *prepared, int split, ep_error *error) {
  int64_t columns = prepared->features, plane = columns / prepared->row.channels;
  const ep_normalization *normalization = &prepared->normalization;
  const uint8_t *bytes = prepared->x[split];
  float *x = array(prepared->rows[split] * columns, sizeof *x);
  if (!x) return ep_fail_memory(error);
  for (int64_t i = 0; i < prepared->rows[split]; i++)
    for (int64_t j = 0; j < columns; j++) {
      double value = bytes[i * columns + j];
      if (normalization->channels > 0)
        value = value * normalization->factor[j / plane] + normalization->offset[j / plane];
      x[i * columns + j] = (float)value;
    }
  free(prepared->x_owned[split]);
  ep_table_close(&prepared->x_table[split]);
  prepared->x[split] = prepared->x_owned[split] = x;
  return EP_OK;
}

ep_status ep_prepared_widen(ep_prepared *prepared, ep_error *error) {
  ep_status status = EP_OK;
  if (prepared->x_type == EP_X_FLOAT32) return EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    if (prepared->rows[split] > 0) status = split_widen(prepared, split, error);
  if (status == EP_OK) prepared->x_type = EP_X_FLOAT32;
  return status; /* after a failure some are wide and some are not: good for deinit alone */
}

const void *ep_prepared_targets(const ep_prepared *prepared, ep_split split) {
  return prepared->classes[split] ? (const void *)prepared->classes[split] : prepared->y[split];
}

void ep_prepared_deinit(ep_prepared *prepared) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    free(prepared->x_owned[split]);
    ep_table_close(&prepared->x_table[split]);
    free(prepared->y[split]);
    free(prepared->classes[split]);
  }
  free(prepared->x_scale);
  free(prepared->x_shift);
  ep_normalization_deinit(&prepared->normalization);
  ep_scaling_deinit(&prepared->scaling);
  *prepared = (ep_prepared){0};
}
