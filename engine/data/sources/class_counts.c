#include "engine/data/sources/class_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/retype.h"
#include "engine/data/sources/generators.h"
#include "engine/data/sources/table_walk.h"
#include "engine/data/sources/target.h"

double ep_class_value(const double *y, int64_t targets) {
  int64_t column = 0;
  if (targets == 1) return y[0];
  while (column < targets - 1 && y[column] != 1) column++;
  return (double)column;
}

bool ep_row_is_one_hot(const double *y, int64_t targets) {
  int64_t zeros = 0, ones = 0;
  for (int64_t i = 0; i < targets; i++) {
    zeros += y[i] == 0;
    ones += y[i] == 1;
  }
  return ones == 1 && zeros == targets - 1;
}

ep_status ep_class_find(const double *y, int64_t targets, int *out, ep_error *error) {
  double value = ep_class_value(y, targets);
  if (!(value >= 0 && value < EP_LIMIT_CLASSES && value == floor(value)))
    return ep_fail_at(error, EP_DATA, "/loss",
                      "the target %g is not a class; classes are 0, 1, 2, … up to %d", value,
                      EP_LIMIT_CLASSES - 1);
  *out = (int)value;
  return EP_OK;
}

/* Where a row's targets are, and what they add up to. */
typedef struct {
  ep_dtype dtype;
  int64_t first, targets;   /* columns */
  const ep_column *retyped; /* lent: of one that a job reads in another way; NULL: it does not */
  double *y;                /* [targets], owned */
  int64_t *rows;            /* [EP_LIMIT_CLASSES], lent */
} counting;

static ep_status row_add(counting *count, const double *y, ep_error *error) {
  int found;
  ep_status status = ep_class_find(y, count->targets, &found, error);
  if (status == EP_OK) count->rows[found]++;
  return status;
}

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  counting *count = context;
  row += (size_t)count->first * ep_dtype_bytes(count->dtype);
  ep_dtype_values(count->dtype, row, count->targets, count->y);
  if (count->retyped) count->y[0] = ep_retyped_cell(count->retyped, count->y[0]);
  if (isnan(count->y[0])) return EP_OK; /* a row of a table that has no target is none */
  return row_add(count, count->y, error);
}

/* Of rows that are stored. */
static ep_status stored_count(const ep_data_spec *data, const char *folder, int64_t *rows,
                              ep_error *error) {
  ep_dataset_meta meta;
  bool there;
  counting count = {.rows = rows};
  ep_status status = ep_data_describe(data, folder, false, &there, &meta, error);
  if (status != EP_OK) return status;
  ep_role role = meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows > 0 ? EP_ROLE_TABLE : EP_ROLE_Y;
  const ep_part *part = &meta.part[EP_SPLIT_TRAIN][role];
  count.dtype = part->dtype;
  count.targets = role == EP_ROLE_TABLE ? 1 : part->columns;
  if (role == EP_ROLE_TABLE) status = ep_target_find(data, part, &count.first, error);
  if (status == EP_OK && role == EP_ROLE_TABLE && ep_column_is_retyped(&part->column[count.first]))
    count.retyped = &part->column[count.first];
  count.y = malloc((size_t)(count.targets + 1) * sizeof *count.y);
  if (status == EP_OK && !count.y) status = ep_fail_memory(error);
  if (status == EP_OK) status = ep_main_part_walk(data, &meta, role, row_visit, &count, error);
  free(count.y);
  ep_dataset_meta_deinit(&meta);
  return status;
}

static ep_status inline_count(const ep_data_spec *data, int64_t *rows, ep_error *error) {
  counting count = {.targets = data->inline_targets, .rows = rows};
  ep_status status = EP_OK;
  for (int64_t i = 0; i < data->inline_rows && status == EP_OK; i++)
    status = row_add(&count, data->inline_y + i * data->inline_targets, error);
  return status;
}

static ep_status generator_count(const ep_data_spec *data, int64_t *rows, ep_error *error) {
  counting count = {.targets = 1, .rows = rows};
  double x[EP_GENERATOR_FEATURES], y;
  ep_status status = EP_OK;
  for (int64_t i = 0; i < ep_generator_rows(data) && status == EP_OK; i++) {
    ep_generator_row(data, false, i, x, &y);
    status = row_add(&count, &y, error);
  }
  return status;
}

ep_status ep_class_counts_read(const ep_data_spec *data, const char *dataset_folder,
                               int64_t rows[EP_LIMIT_CLASSES], ep_error *error) {
  memset(rows, 0, EP_LIMIT_CLASSES * sizeof *rows);
  if (!dataset_folder && data->source == EP_DATA_INLINE) return inline_count(data, rows, error);
  if (!dataset_folder && data->source == EP_DATA_GENERATOR)
    return generator_count(data, rows, error);
  return stored_count(data, dataset_folder, rows, error);
}
