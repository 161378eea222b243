#include "engine/data/samples.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "engine/data/dataset.h"
#include "engine/data/generators.h"
#include "engine/data/part_writer.h"
#include "engine/data/target.h"

static void columns_read(const ep_table *table, int64_t row, int64_t first, int64_t count,
                         double *out) {
  if (table->dtype == EP_DTYPE_F64) {
    memcpy(out, table->values + (size_t)(row * table->columns + first) * sizeof *out,
           (size_t)count * sizeof *out);
    return;
  }
  for (int64_t i = 0; i < count; i++) out[i] = ep_table_value(table, row, first + i);
}

static void table_read(const ep_samples *samples, int64_t row, double *x, double *y) {
  int64_t target = samples->target;
  columns_read(&samples->x, row, 0, target, x);
  columns_read(&samples->x, row, target + 1, samples->features - target, x + target);
  y[0] = ep_table_value(&samples->x, row, target);
}

static void pair_read(const ep_samples *samples, int64_t row, double *x, double *y) {
  columns_read(&samples->x, row, 0, samples->features, x);
  columns_read(&samples->y, row, 0, samples->targets, y);
}

static void inline_read(const ep_samples *samples, int64_t row, double *x, double *y) {
  memcpy(x, samples->data->inline_x + row * samples->features,
         (size_t)samples->features * sizeof *x);
  memcpy(y, samples->data->inline_y + row * samples->targets, (size_t)samples->targets * sizeof *y);
}

static void generator_read(const ep_samples *samples, int64_t row, double *x, double *y) {
  ep_generator_row(samples->data, samples->test, row, x, y);
}

/* Opens one part and holds it against its description. */
static ep_status part_open(const char *folder, const ep_dataset_meta *meta, ep_split split,
                           ep_role role, ep_table *out, ep_error *error) {
  char path[PATH_MAX];
  const ep_part *part = &meta->part[split][role];
  ep_status status = ep_part_path(folder, split, role, sizeof path, path, error);
  if (!status) status = ep_table_open(path, out, error);
  if (status) return status;
  if (out->rows == part->rows && out->columns == part->columns && out->dtype == part->dtype)
    return EP_OK;
  ep_table_close(out);
  return ep_fail(error, EP_DATA, "%s is not what meta.json says of it", path);
}

static ep_status table_open(const ep_data_spec *data, const char *folder,
                            const ep_dataset_meta *meta, ep_samples *out, ep_error *error) {
  const ep_part *part = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_status status = ep_target_find(data, part, &out->target, error);
  if (!status) status = part_open(folder, meta, EP_SPLIT_TRAIN, EP_ROLE_TABLE, &out->x, error);
  if (status) return status;
  out->rows = part->rows;
  out->features = part->columns - 1;
  out->targets = 1;
  out->read = table_read;
  return EP_OK;
}

static ep_status pair_open(const char *folder, const ep_dataset_meta *meta, ep_split split,
                           ep_samples *out, ep_error *error) {
  ep_status status = part_open(folder, meta, split, EP_ROLE_X, &out->x, error);
  if (!status) status = part_open(folder, meta, split, EP_ROLE_Y, &out->y, error);
  if (status) return status;
  if (out->x.rows != out->y.rows)
    return ep_fail(error, EP_DATA, "x has %lld rows, y has %lld", (long long)out->x.rows,
                   (long long)out->y.rows);
  out->rows = out->x.rows;
  out->features = out->x.columns;
  out->targets = out->y.columns;
  out->read = pair_read;
  return EP_OK;
}

static ep_status dataset_open(const ep_data_spec *data, const char *folder, ep_samples *main,
                              ep_samples *test, ep_error *error) {
  ep_dataset_meta meta;
  ep_status status = ep_dataset_meta_read(folder, &meta, error);
  if (status) return status;
  if (meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows > 0) {
    status = table_open(data, folder, &meta, main, error);
  } else {
    status = pair_open(folder, &meta, EP_SPLIT_TRAIN, main, error);
    if (!status && meta.part[EP_SPLIT_TEST][EP_ROLE_X].rows > 0)
      status = pair_open(folder, &meta, EP_SPLIT_TEST, test, error);
    if (!status && test->rows > 0 &&
        (test->features != main->features || test->targets != main->targets))
      status = ep_fail(error, EP_DATA, "the test set's columns are not the training set's");
  }
  ep_dataset_meta_deinit(&meta);
  return status;
}

static void generator_open(const ep_data_spec *data, bool test, ep_samples *out) {
  *out = (ep_samples){.rows = ep_generator_rows(data),
                      .features = EP_GENERATOR_FEATURES,
                      .targets = 1,
                      .read = generator_read,
                      .data = data,
                      .test = test};
}

ep_status ep_samples_open(const ep_data_spec *data, const char *dataset_folder, ep_samples *main,
                          ep_samples *test, ep_error *error) {
  ep_status status = EP_OK;
  *main = *test = (ep_samples){0};
  switch (data->source) {
  case EP_DATA_DATASET:
    assert(dataset_folder);
    status = dataset_open(data, dataset_folder, main, test, error);
    break;
  case EP_DATA_GENERATOR:
    generator_open(data, false, main);
    generator_open(data, true, test);
    break;
  case EP_DATA_INLINE:
    *main = (ep_samples){.rows = data->inline_rows,
                         .features = data->inline_columns,
                         .targets = data->inline_targets,
                         .read = inline_read,
                         .data = data};
    break;
  }
  if (!status && (main->rows < 1 || main->features < 1 || main->targets < 1))
    status = ep_fail_at(error, EP_DATA, "/data", "there are no rows to train on");
  if (status) {
    ep_samples_close(main);
    ep_samples_close(test);
  }
  return status;
}

void ep_samples_close(ep_samples *samples) {
  ep_table_close(&samples->x);
  ep_table_close(&samples->y);
  *samples = (ep_samples){0};
}
