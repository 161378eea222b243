/* shape.c: what a job's data will look like, from its description alone. */
#include <math.h>

#include "engine/data/dataset.h"
#include "engine/data/generators.h"
#include "engine/data/split.h"
#include "engine/data/target.h"

/* Figures of all targets. */
typedef struct {
  double min, max;
  bool integer;
} target_range;

static void range_merge(target_range *range, const ep_column *column) {
  range->min = fmin(range->min, column->min);
  range->max = fmax(range->max, column->max);
  range->integer = range->integer && column->integer;
}

static void range_merge_part(target_range *range, const ep_part *part) {
  for (int64_t i = 0; part->rows > 0 && i < part->columns; i++)
    range_merge(range, &part->column[i]);
}

static void range_merge_values(target_range *range, const double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    ep_column column = {
        .min = values[i], .max = values[i], .integer = values[i] == floor(values[i])};
    range_merge(range, &column);
  }
}

/* Rows of the main set and of a test set of the data's own. */
typedef struct {
  int64_t rows, own_test_rows;
} extent;

static ep_status dataset_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                              ep_data_shape *out, extent *size, target_range *range,
                              ep_error *error) {
  if (!meta)
    return ep_fail_at(error, EP_INVALID, "/data/dataset", "there is no dataset \"%s\"",
                      data->dataset);
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  const ep_part *x = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_X];
  const ep_part *y = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y];
  if (table->rows > 0) {
    int64_t target;
    ep_status status = ep_target_find(data, table, &target, error);
    if (status) return status;
    range_merge(range, &table->column[target]);
    out->features = table->columns - 1;
    out->target_columns = 1;
    *size = (extent){table->rows, 0};
    return EP_OK;
  }
  if (x->rows == 0 || x->rows != y->rows)
    return ep_fail_at(error, EP_INVALID, "/data/dataset", "the dataset has no rows to train on");
  range_merge_part(range, y);
  range_merge_part(range, &meta->part[EP_SPLIT_TEST][EP_ROLE_Y]);
  out->features = x->columns;
  out->target_columns = y->columns;
  *size = (extent){x->rows, meta->part[EP_SPLIT_TEST][EP_ROLE_X].rows};
  return EP_OK;
}

static ep_status generator_find(const ep_data_spec *data, ep_data_shape *out, extent *size,
                                target_range *range, ep_error *error) {
  int64_t rows = ep_generator_rows(data);
  if (rows < 1 || rows > EP_LIMIT_GENERATOR_ROWS)
    return ep_fail_at(error, EP_INVALID, "/data/rows", "a generator makes 1 to %d rows",
                      EP_LIMIT_GENERATOR_ROWS);
  *range = (target_range){0, 1, true};
  out->features = EP_GENERATOR_FEATURES;
  out->target_columns = 1;
  *size = (extent){rows, rows};
  return EP_OK;
}

static ep_status inline_find(const ep_data_spec *data, ep_data_shape *out, extent *size,
                             target_range *range, ep_error *error) {
  if (data->inline_rows < 1 || data->inline_columns < 1 || data->inline_targets < 1)
    return ep_fail_at(error, EP_INVALID, "/data/inline", "there are no rows");
  range_merge_values(range, data->inline_y, data->inline_rows * data->inline_targets);
  out->features = data->inline_columns;
  out->target_columns = data->inline_targets;
  *size = (extent){data->inline_rows, 0};
  return EP_OK;
}

static ep_status source_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, extent *size, target_range *range,
                             ep_error *error) {
  switch (data->source) {
  case EP_DATA_DATASET: return dataset_find(data, meta, out, size, range, error);
  case EP_DATA_GENERATOR: return generator_find(data, out, size, range, error);
  case EP_DATA_INLINE: return inline_find(data, out, size, range, error);
  }
  return ep_fail_at(error, EP_INTERNAL, "/data", "a source of data that is not known");
}

static bool has_table(const ep_data_spec *data, const ep_dataset_meta *meta) {
  return data->source == EP_DATA_DATASET &&
         (!meta || meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows > 0);
}

ep_status ep_data_shape_find(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_data_shape *out, ep_problem *problem) {
  ep_error error;
  extent size = {0};
  int64_t rows[EP_SPLIT_COUNT];
  target_range range = {INFINITY, -INFINITY, true};
  *out = (ep_data_shape){0};
  ep_status status = source_find(data, meta, out, &size, &range, &error);
  if (status) return ep_problem_add(problem, status, error.pointer, "%s", error.message);
  if (data->has_target && !has_table(data, meta))
    status = ep_problem_add(problem, EP_INVALID, "/data/target",
                            "the data has x and y apart: there is no target to choose");
  ep_status split_status = ep_split_count(data, size.rows, size.own_test_rows, rows, &error);
  if (split_status)
    return ep_problem_add(problem, split_status, error.pointer, "%s", error.message);
  if (status) return status;
  out->train_rows = rows[EP_SPLIT_TRAIN];
  out->validation_rows = rows[EP_SPLIT_VALIDATION];
  out->test_rows = rows[EP_SPLIT_TEST];
  out->target_min = range.min;
  out->target_max = range.max;
  /* classes are int32 */
  if (range.integer && range.min >= 0 && range.max < INT32_MAX)
    out->classes = (int64_t)range.max + 1;
  return EP_OK;
}
