#include "engine/data/prepare/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/parts.h"
#include "engine/data/prepare/columns.h"
#include "engine/data/prepare/normalization.h"
#include "engine/data/prepare/split.h"
#include "engine/data/prepare/split_column.h"
#include "engine/data/prepare/windows.h"
#include "engine/data/sources/class_counts.h"
#include "engine/data/sources/generators.h"
#include "engine/data/sources/kept_rows.h"
#include "engine/data/sources/table_walk.h"
#include "engine/data/sources/target.h"

/* Figures of all values of x, or of y. */
typedef struct {
  double min, max;
  bool integer;
} value_range;

static void range_merge(value_range *range, const ep_column *column) {
  range->min = fmin(range->min, column->min);
  range->max = fmax(range->max, column->max);
  range->integer = range->integer && column->integer;
}

static void range_merge_part(value_range *range, const ep_part *part) {
  for (int64_t i = 0; part->rows > 0 && i < part->columns; i++)
    range_merge(range, &part->column[i]);
}

static void range_merge_values(value_range *range, const double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    ep_column column = {
        .min = values[i], .max = values[i], .integer = values[i] == floor(values[i])};
    range_merge(range, &column);
  }
}

/* y: [rows, columns], two columns or more: one 1 in each row, and the rest 0. */
static bool is_one_hot(const double *y, int64_t rows, int64_t columns) {
  bool one_hot = columns >= 2;
  for (int64_t i = 0; i < rows && one_hot; i++)
    one_hot = ep_row_is_one_hot(y + i * columns, columns);
  return one_hot;
}

/* What is known of the rows before they are split. */
typedef struct {
  int64_t rows[EP_SPLIT_COUNT]; /* the main set's, and those of sets of the data's own */
  value_range x, y;
} extent;

static ep_shape vector_shape(int64_t features) {
  return (ep_shape){features, 1, 1};
}

ep_shape ep_data_row_shape(const ep_data_spec *data, int dimensions, const int64_t *shape,
                           int64_t columns) {
  if (data->shape[0] > 0) return (ep_shape){data->shape[0], data->shape[1], data->shape[2]};
  if (dimensions == 3) return (ep_shape){shape[0], shape[1], shape[2]};
  if (dimensions == 2) return (ep_shape){1, shape[0], shape[1]};
  return vector_shape(columns);
}

/* Figures of a target: the classes of words are their numbers. */
static void target_merge(const ep_column *column, ep_data_shape *out, extent *found) {
  range_merge(&found->y, column);
  out->target_missing = column->missing;
  if (column->type != EP_COLUMN_CATEGORY) return;
  out->target_words = column->words.count;
  found->y = (value_range){0, (double)column->words.count - 1, true};
}

static ep_status table_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                            ep_data_shape *out, extent *found, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_encoding *encoding;
  int64_t target;
  ep_status status = ep_target_find(data, table, &target, error);
  if (status == EP_OK) status = ep_columns_plan(data, meta, &encoding, error);
  if (status != EP_OK) return status;
  for (int64_t i = 0; i < table->columns; i++)
    if (i == target)
      target_merge(&table->column[i], out, found);
    else if (!encoding)
      range_merge(&found->x, &table->column[i]);
  if (encoding) found->x = (value_range){0, 0, false}; /* not known before the rows are read */
  out->features = encoding ? ep_encoding_inputs(encoding) : table->columns - 1;
  out->embedded_columns = encoding ? encoding->embedded_columns : 0;
  out->embedded_rows = encoding ? encoding->embedded_rows : 0;
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
  out->row = vector_shape(out->features);
  out->target_columns = 1;
  status = ep_kept_rows_count(data, meta, target, &found->rows[EP_SPLIT_TRAIN], error);
  if (status != EP_OK) return status;
  out->dropped_rows = table->rows - out->target_missing - found->rows[EP_SPLIT_TRAIN];
  if (found->rows[EP_SPLIT_TRAIN] > 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, "/data/target",
                    "no rows left that have a target and all cells that the spec requires");
}

/* Whether all of x are stored so. */
static bool is_dtype(const ep_dataset_meta *meta, ep_dtype dtype) {
  bool is = true;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    const ep_part *x = &meta->part[split][EP_ROLE_X];
    is = is && (x->rows == 0 || x->dtype == dtype);
  }
  return is;
}

static ep_status dataset_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                              ep_data_shape *out, extent *found, ep_error *error) {
  if (!meta)
    return ep_fail_at(error, EP_INVALID, "/data/dataset", "dataset \"%s\" not found",
                      data->dataset);
  const ep_part *train = meta->part[EP_SPLIT_TRAIN];
  if (train[EP_ROLE_TABLE].rows > 0) return table_find(data, meta, out, found, error);
  ep_encoding *none;
  ep_status status = ep_dataset_pairs_check(meta, error);
  if (status == EP_OK) status = ep_columns_plan(data, meta, &none, error);
  if (status != EP_OK) return status;
  out->one_hot = true;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    const ep_part *x = &meta->part[split][EP_ROLE_X], *y = &meta->part[split][EP_ROLE_Y];
    range_merge_part(&found->x, x);
    range_merge_part(&found->y, y);
    out->one_hot = out->one_hot && (y->rows == 0 || y->one_hot);
    found->rows[split] = x->rows;
    out->test_unlabelled |= ep_dataset_is_unlabelled(meta, (ep_split)split);
  }
  out->features = train[EP_ROLE_X].columns;
  out->row =
      ep_data_row_shape(data, train[EP_ROLE_X].dimensions, train[EP_ROLE_X].shape, out->features);
  /* Bytes are kept as they are where nothing turns them into fractions. */
  bool bytes = !data->standardize_x && is_dtype(meta, EP_DTYPE_U8);
  out->x_type = bytes ? EP_X_UINT8 : EP_X_FLOAT32;
  out->x_deep = is_dtype(meta, EP_DTYPE_U16);
  out->target_columns = train[EP_ROLE_Y].columns;
  return EP_OK;
}

static ep_status generator_find(const ep_data_spec *data, ep_data_shape *out, extent *found,
                                ep_error *error) {
  int64_t rows = ep_generator_rows(data);
  if (rows < 1 || rows > EP_LIMIT_GENERATOR_ROWS)
    return ep_fail_at(error, EP_INVALID, "/data/rows", "a generator makes 1 to %d rows",
                      EP_LIMIT_GENERATOR_ROWS);
  bool whole = data->generator == EP_GENERATOR_XOR;
  found->x = (value_range){0, 1, whole};
  found->y = (value_range){0, 1, true};
  out->features = EP_GENERATOR_FEATURES;
  out->row = vector_shape(out->features);
  out->target_columns = 1;
  found->rows[EP_SPLIT_TRAIN] = found->rows[EP_SPLIT_TEST] = rows;
  return EP_OK;
}

static ep_status inline_find(const ep_data_spec *data, ep_data_shape *out, extent *found,
                             ep_error *error) {
  if (data->inline_rows < 1 || data->inline_columns < 1 || data->inline_targets < 1)
    return ep_fail_at(error, EP_INVALID, "/data/inline", "no rows");
  range_merge_values(&found->x, data->inline_x, data->inline_rows * data->inline_columns);
  range_merge_values(&found->y, data->inline_y, data->inline_rows * data->inline_targets);
  out->features = data->inline_columns;
  out->row = vector_shape(out->features);
  out->target_columns = data->inline_targets;
  out->one_hot = is_one_hot(data->inline_y, data->inline_rows, data->inline_targets);
  found->rows[EP_SPLIT_TRAIN] = data->inline_rows;
  return EP_OK;
}

static ep_status source_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, extent *found, ep_error *error) {
  switch (data->source) {
  case EP_DATA_PATH:
  case EP_DATA_DATASET: return dataset_find(data, meta, out, found, error);
  case EP_DATA_GENERATOR: return generator_find(data, out, found, error);
  case EP_DATA_INLINE: return inline_find(data, out, found, error);
  }
  return ep_fail_at(error, EP_INTERNAL, "/data", "unknown data source");
}

/* "shape" of the spec, in the place of the data's own. */
static ep_status row_check(const ep_data_spec *data, ep_data_shape *out, ep_error *error) {
  if (data->shape[0] == 0) return EP_OK;
  int64_t product = 1;
  for (int i = 0; i < 3; i++)
    if (data->shape[i] < 1 || __builtin_mul_overflow(product, data->shape[i], &product))
      product = 0;
  out->row = (ep_shape){data->shape[0], data->shape[1], data->shape[2]};
  if (product == out->features) return EP_OK;
  return ep_fail_at(error, EP_INVALID, "/data/shape",
                    "%lld × %lld × %lld is not the number of columns of x, %lld",
                    (long long)data->shape[0], (long long)data->shape[1], (long long)data->shape[2],
                    (long long)out->features);
}

static ep_status channels_check(const ep_data_spec *data, const ep_data_shape *shape,
                                ep_error *error) {
  ep_normalization normalization;
  ep_status status =
      ep_normalization_find(data, shape->row, shape->x_type == EP_X_UINT8, &normalization, error);
  if (status == EP_OK) ep_normalization_deinit(&normalization);
  return status;
}

static bool has_table(const ep_data_spec *data, const ep_dataset_meta *meta) {
  return (data->source == EP_DATA_DATASET || data->source == EP_DATA_PATH) &&
         (!meta || meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows > 0);
}

/* A path's faults are found where a dataset's are. */
static ep_status problem_add(const ep_data_spec *data, ep_status status, const ep_error *error,
                             ep_problem *problem) {
  bool path = data->source == EP_DATA_PATH && strcmp(error->pointer, "/data/dataset") == 0;
  return ep_problem_add(problem, status, path ? "/data/path" : error->pointer, "%s",
                        error->message);
}

static void range_keep(const extent *found, ep_data_shape *out) {
  out->target_min = found->y.min;
  out->target_max = found->y.max;
  out->x_min = found->x.min;
  out->x_max = found->x.max;
  out->x_integer = found->x.integer;
  out->one_hot = out->one_hot && out->target_columns >= 2;
  /* classes are int32 */
  if (found->y.integer && found->y.min >= 0 && found->y.max < INT32_MAX)
    out->classes = (int64_t)found->y.max + 1;
}

/* Examples of each split of a series; meta: NULL where the data has no table. */
static ep_status windows_count(const ep_data_spec *data, const ep_dataset_meta *meta,
                               int64_t rows[EP_SPLIT_COUNT], ep_series_gaps *gaps,
                               ep_error *error) {
  ep_windows windows = {0};
  int64_t target = 0;
  ep_status status =
      meta ? ep_target_find(data, &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE], &target, error)
           : EP_OK;
  if (status == EP_OK) status = ep_windows_find(data, meta, target, &windows, error);
  memcpy(rows, windows.windows, sizeof windows.windows);
  *gaps = windows.found;
  ep_windows_deinit(&windows);
  return status;
}

/* Rows of each split. own: those that the data brings. */
static ep_status splits_count(const ep_data_spec *data, const ep_part *table, int64_t missing,
                              const int64_t own[EP_SPLIT_COUNT], int64_t rows[EP_SPLIT_COUNT],
                              ep_error *error) {
  ep_split_column by;
  ep_status status = ep_split_column_find(data, table, &by, error);
  if (status == EP_OK) status = ep_split_column_check(&by, missing, error);
  if (status == EP_OK && by.split)
    memcpy(rows, by.rows, sizeof by.rows);
  else if (status == EP_OK)
    status = ep_split_count(data, own, rows, error);
  ep_split_column_deinit(&by);
  return status;
}

ep_status ep_data_shape_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, ep_problem *problem) {
  ep_error error = {0};
  int64_t rows[EP_SPLIT_COUNT];
  extent found = {.x = {INFINITY, -INFINITY, true}, .y = {INFINITY, -INFINITY, true}};
  *out = (ep_data_shape){0};
  ep_status status = source_find(data, meta, out, &found, &error);
  if (status == EP_OK) status = row_check(data, out, &error);
  if (status == EP_OK) status = channels_check(data, out, &error);
  if (status != EP_OK) return problem_add(data, status, &error, problem);
  if (data->target_by != EP_TARGET_LAST && !has_table(data, meta))
    status = ep_problem_add(problem, EP_INVALID, "/data/target",
                            "the data has separate x and y: there is no target to choose");
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  if (table && table->rows == 0) table = NULL;
  ep_status split_status =
      data->window.length > 0
          ? windows_count(data, table ? meta : NULL, rows, &out->series_gaps, &error)
          : splits_count(data, table, out->target_missing + out->dropped_rows, found.rows, rows,
                         &error);
  if (split_status != EP_OK) return problem_add(data, split_status, &error, problem);
  if (status != EP_OK) return status;
  out->train_rows = rows[EP_SPLIT_TRAIN];
  out->validation_rows = rows[EP_SPLIT_VALIDATION];
  out->test_rows = rows[EP_SPLIT_TEST];
  range_keep(&found, out);
  return EP_OK;
}

ep_status ep_data_classes_check(const ep_data_spec *data, const char *dataset_folder,
                                const ep_data_shape *shape, ep_error *error) {
  int64_t rows[EP_LIMIT_CLASSES];
  ep_status status = EP_OK;
  if (!data->stratify || data->folds == 0) return EP_OK;
  status = ep_class_counts_read(data, dataset_folder, rows, error);
  if (status != EP_OK) return status;
  /* a test set of the data's own takes no row of the main one */
  return ep_split_check_classes(data, rows, data->test != 0 ? shape->test_rows : 0, error);
}
