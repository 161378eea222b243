#include "engine/data/sources/class_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/columns/retype.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/sources/generators.h"
#include "engine/data/sources/path_source.h"
#include "engine/data/sources/target.h"
#include "engine/files/path.h"

double ep_class_value(const double *y, int64_t targets) {
  int64_t column = 0;
  if (targets == 1) return y[0];
  while (column < targets - 1 && y[column] != 1) column++;
  return (double)column;
}

ep_status ep_class_find(const double *y, int64_t targets, int *out, ep_error *error) {
  double value = ep_class_value(y, targets);
  if (!(value >= 0 && value < EP_LIMIT_CLASSES && value == floor(value)))
    return ep_fail_at(error, EP_DATA, "/loss",
                      "the target %g is no class; classes are 0, 1, 2, … up to %d", value,
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

/* target: the column of a table; -1: all columns are targets. column: its description, or NULL. */
static ep_status file_count(int file, const char *path, int64_t target, const ep_column *column,
                            int64_t *rows, ep_error *error) {
  ep_table table;
  size_t values_offset;
  ep_status status = ep_table_peek(file, path, &table, &values_offset, error);
  if (status != EP_OK) return status;
  if (target >= table.columns)
    return ep_fail(error, EP_DATA, "%s is not what was said of it", path);
  counting count = {.dtype = table.dtype,
                    .first = target < 0 ? 0 : target,
                    .targets = target < 0 ? table.columns : 1,
                    .retyped = column && ep_column_is_retyped(column) ? column : NULL,
                    .rows = rows};
  count.y = malloc((size_t)count.targets * sizeof *count.y);
  if (!count.y) return ep_fail_memory(error);
  status = ep_table_walk(file, &table, values_offset, row_visit, &count, error);
  free(count.y);
  return status;
}

/* Which part has the targets, and in which column (-1: all). */
static ep_status targets_find(const ep_data_spec *data, const ep_dataset_meta *meta, ep_role *role,
                              int64_t *target, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  *role = table->rows > 0 ? EP_ROLE_TABLE : EP_ROLE_Y;
  *target = -1;
  return table->rows > 0 ? ep_target_find(data, table, target, error) : EP_OK;
}

static ep_status dataset_count(const ep_data_spec *data, const char *folder, int64_t *rows,
                               ep_error *error) {
  ep_dataset_meta meta;
  ep_role role;
  int64_t target;
  char path[EP_PATH_BYTES];
  ep_status status = ep_dataset_meta_read(folder, &meta, error);
  if (status != EP_OK) return status;
  status = ep_data_retype(data, &meta, error);
  if (status == EP_OK) status = targets_find(data, &meta, &role, &target, error);
  if (status == EP_OK) status = ep_part_path(folder, EP_SPLIT_TRAIN, role, path, error);
  int file = status == EP_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (status == EP_OK && file < 0) status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (status == EP_OK)
    status = file_count(file, path, target,
                        target < 0 ? NULL : &meta.part[EP_SPLIT_TRAIN][role].column[target], rows,
                        error);
  if (file >= 0) close(file);
  ep_dataset_meta_deinit(&meta);
  return status;
}

static ep_status path_count(const ep_data_spec *data, int64_t *rows, ep_error *error) {
  ep_path_source source;
  ep_dataset_meta meta;
  ep_role role;
  int64_t target;
  ep_error fault = {0};
  ep_status status = ep_path_source_open(data->path, &source, error);
  if (status != EP_OK) return status;
  status = ep_path_source_measure(&source, false, &meta, &fault);
  if (status == EP_OK) {
    status = targets_find(data, &meta, &role, &target, &fault);
    ep_dataset_meta_deinit(&meta);
  }
  if (status == EP_OK && source.file[EP_SPLIT_TRAIN][role] < 0)
    status = ep_fail(&fault, EP_DATA, "the files are no more what they were");
  if (status == EP_OK)
    status = file_count(source.file[EP_SPLIT_TRAIN][role], "the file", target, NULL, rows, &fault);
  ep_path_source_close(&source);
  if (status == EP_OK) return EP_OK;
  return ep_fail_at(error, status, fault.pointer[0] ? fault.pointer : "/data/path", "%s",
                    fault.message);
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
  if (dataset_folder) return dataset_count(data, dataset_folder, rows, error);
  switch (data->source) {
  case EP_DATA_INLINE: return inline_count(data, rows, error);
  case EP_DATA_GENERATOR: return generator_count(data, rows, error);
  case EP_DATA_PATH: return path_count(data, rows, error);
  case EP_DATA_DATASET: break;
  }
  return ep_fail_at(error, EP_INTERNAL, "/data", "a dataset without a folder");
}
