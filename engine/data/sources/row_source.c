#include "engine/data/sources/row_source.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/positive.h"
#include "engine/data/columns/retype.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/datasets/parts.h"
#include "engine/data/sources/generators.h"
#include "engine/data/sources/kept_rows.h"
#include "engine/data/sources/path_source.h"
#include "engine/data/sources/table_walk.h"
#include "engine/data/sources/target.h"
#include "engine/files/path.h"

double ep_row_source_cell(const ep_row_source *samples, int64_t row, int64_t column) {
  double cell = ep_table_value(&samples->x, row, column);
  for (int64_t i = 0; i < samples->retyped_count; i++)
    if (samples->retyped_column[i] == column) return ep_retyped_cell(&samples->retyped[i], cell);
  return cell;
}

/* x: the cells of a row, without the target's unless the source is `whole`; or NULL. */
static void cells_retype(const ep_row_source *samples, double *x, double *y) {
  for (int64_t i = 0; i < samples->retyped_count; i++) {
    const ep_column *column = &samples->retyped[i];
    int64_t place = samples->retyped_column[i];
    bool target = place == samples->target;
    if (target) y[0] = ep_retyped_cell(column, y[0]);
    if (!x || (target && !samples->whole)) continue;
    if (place > samples->target && !samples->whole) place--;
    x[place] = ep_retyped_cell(column, x[place]);
  }
}

static void table_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  int64_t target = samples->target;
  row = ep_row_source_place(samples, row);
  if (x) ep_table_values(&samples->x, row, 0, target, x);
  if (x) ep_table_values(&samples->x, row, target + 1, samples->features - target, x + target);
  y[0] = ep_table_value(&samples->x, row, target);
  if (samples->retyped_count > 0) cells_retype(samples, x, y);
}

static void series_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  row = ep_row_source_place(samples, row);
  if (x) ep_table_values(&samples->x, row, 0, samples->features, x);
  y[0] = ep_table_value(&samples->x, row, samples->target);
  if (samples->retyped_count > 0) cells_retype(samples, x, y);
}

static void pair_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  if (x) ep_table_values(&samples->x, row, 0, samples->features, x);
  ep_table_values(&samples->y, row, 0, samples->targets, y);
}

static void unlabelled_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  if (x) ep_table_values(&samples->x, row, 0, samples->features, x);
  for (int64_t i = 0; i < samples->targets; i++) y[i] = NAN;
}

static void inline_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  if (x)
    memcpy(x, samples->data->inline_x + row * samples->features,
           (size_t)samples->features * sizeof *x);
  memcpy(y, samples->data->inline_y + row * samples->targets, (size_t)samples->targets * sizeof *y);
}

static void generator_read(const ep_row_source *samples, int64_t row, double *x, double *y) {
  double unused[EP_GENERATOR_FEATURES];
  ep_generator_row(samples->data, samples->test, row, x ? x : unused, y);
}

/* Where parts lie: in a dataset's folder, or in files that are mapped where they are. */
typedef struct {
  const char *folder; /* NULL: in `source` */
  ep_path_source source;
  ep_dataset_meta meta;
} place;

/* Opens one part and holds it against its description. */
static ep_status part_open(const place *from, ep_split split, ep_role role, ep_table *out,
                           ep_error *error) {
  char path[EP_PATH_BYTES] = "a file of the data";
  const ep_part *part = &from->meta.part[split][role];
  ep_status status;
  if (from->folder) {
    status = ep_part_path(from->folder, split, role, path, error);
    if (status == EP_OK) status = ep_table_open(path, out, error);
  } else {
    status = ep_path_source_map(&from->source, split, role, out, error);
  }
  if (status != EP_OK) return status;
  if (out->rows == part->rows && out->columns == part->columns && out->dtype == part->dtype)
    return EP_OK;
  ep_table_close(out);
  return ep_fail(error, EP_DATA, "%s does not match its metadata", path);
}

/* Notes which rows of an open table have a cell in all of these columns. */
static ep_status rows_keep(const int64_t *column, int64_t columns, ep_row_source *out,
                           ep_error *error) {
  int64_t count = 0;
  out->kept = malloc((size_t)out->rows * sizeof *out->kept);
  if (!out->kept) return ep_fail_memory(error);
  for (int64_t i = 0; i < out->rows; i++) {
    bool whole = true;
    for (int64_t k = 0; k < columns && whole; k++)
      whole = !isnan(ep_row_source_cell(out, i, column[k]));
    if (whole) out->kept[count++] = i;
  }
  out->rows = count;
  return EP_OK;
}

/* The columns that a job reads in another way: words as numbers, and a target's numbers as classes.
 * Those of features stay numbers in a raw row. They move from the description. */
static ep_status retyped_take(ep_part *part, ep_row_source *out, ep_error *error) {
  int64_t count = 0;
  for (int64_t i = 0; i < part->columns; i++) count += ep_column_is_retyped(&part->column[i]);
  if (count == 0) return EP_OK;
  ep_status status = ep_part_columns_own(part, error);
  if (status != EP_OK) return status;
  out->retyped = calloc((size_t)count, sizeof *out->retyped);
  out->retyped_column = calloc((size_t)count, sizeof *out->retyped_column);
  if (!out->retyped || !out->retyped_column) return ep_fail_memory(error);
  for (int64_t i = 0; i < part->columns; i++) {
    ep_column *column = &part->column[i];
    if (!ep_column_is_retyped(column)) continue;
    if (column->type == EP_COLUMN_CATEGORY && i != out->target) continue;
    out->retyped_column[out->retyped_count] = i;
    out->retyped[out->retyped_count++] = *column;
    column->words = (ep_words){0};
    column->value = NULL;
    column->note = NULL;
  }
  return EP_OK;
}

static ep_status table_open(const ep_data_spec *data, place *from, ep_row_source *out,
                            ep_error *error) {
  ep_part *part = &from->meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_status status = ep_target_find(data, part, &out->target, error);
  if (status == EP_OK)
    status = ep_target_swapped_find(data, &from->meta, out->target, &out->swapped, error);
  if (status == EP_OK) status = part_open(from, EP_SPLIT_TRAIN, EP_ROLE_TABLE, &out->x, error);
  if (status != EP_OK) return status;
  out->rows = part->rows;
  out->whole = data->window.length > 0;
  out->features = part->columns - !out->whole;
  out->targets = 1;
  out->read = out->whole ? series_read : table_read;
  status = retyped_take(part, out, error);
  if (status != EP_OK) return status;
  int64_t *needed, count;
  status = ep_needed_columns_find(data, part, out->target, &needed, &count, error);
  if (status == EP_OK && count > 0) status = rows_keep(needed, count, out, error);
  free(needed);
  return status;
}

static ep_status pair_open(const ep_data_spec *data, const place *from, ep_split split,
                           ep_row_source *out, ep_error *error) {
  ep_status status = part_open(from, split, EP_ROLE_X, &out->x, error);
  if (status == EP_OK) status = ep_target_swapped_find(data, &from->meta, -1, &out->swapped, error);
  out->unlabelled = ep_dataset_is_unlabelled(&from->meta, split);
  if (status == EP_OK && !out->unlabelled)
    status = part_open(from, split, EP_ROLE_Y, &out->y, error);
  if (status != EP_OK) return status;
  out->rows = out->x.rows;
  out->features = out->x.columns;
  out->targets = from->meta.part[EP_SPLIT_TRAIN][EP_ROLE_Y].columns;
  out->apart = true;
  out->read = out->unlabelled ? unlabelled_read : pair_read;
  return EP_OK;
}

static ep_status parts_open(const ep_data_spec *data, place *from,
                            ep_row_source sets[EP_SPLIT_COUNT], ep_error *error) {
  if (from->meta.part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows > 0)
    return table_open(data, from, &sets[EP_SPLIT_TRAIN], error);
  ep_status status = ep_dataset_pairs_check(&from->meta, error);
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    if (from->meta.part[split][EP_ROLE_X].rows > 0)
      status = pair_open(data, from, (ep_split)split, &sets[split], error);
  return status;
}

/* Values were looked at when the shape of the data was found. */
static ep_status stored_open(const ep_data_spec *data, const char *folder,
                             ep_row_source sets[EP_SPLIT_COUNT], ep_error *error) {
  place from = {.folder = folder};
  bool there;
  ep_path_source_init(&from.source);
  ep_status status = ep_data_describe(data, folder, false, &there, &from.meta, error);
  if (status == EP_OK && !folder) status = ep_path_source_open(data->path, &from.source, error);
  if (status == EP_OK) status = parts_open(data, &from, sets, error);
  ep_dataset_meta_deinit(&from.meta);
  ep_path_source_close(&from.source);
  return status;
}

static void generator_open(const ep_data_spec *data, bool test, ep_row_source *out) {
  *out = (ep_row_source){.rows = ep_generator_rows(data),
                         .features = EP_GENERATOR_FEATURES,
                         .targets = 1,
                         .read = generator_read,
                         .swapped = ep_classes_are_swapped(data, &ep_binary_numbers),
                         .data = data,
                         .test = test};
}

static void inline_open(const ep_data_spec *data, ep_row_source *out) {
  *out = (ep_row_source){.rows = data->inline_rows,
                         .features = data->inline_columns,
                         .targets = data->inline_targets,
                         .read = inline_read,
                         .swapped = ep_classes_are_swapped(data, &ep_binary_numbers),
                         .data = data};
}

ep_status ep_row_source_open(const ep_data_spec *data, const char *dataset_folder,
                             ep_row_source sets[EP_SPLIT_COUNT], ep_error *error) {
  const ep_row_source *main = &sets[EP_SPLIT_TRAIN];
  ep_status status = EP_OK;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) sets[split] = (ep_row_source){0};
  if (dataset_folder || data->source == EP_DATA_PATH)
    status = stored_open(data, dataset_folder, sets, error);
  else if (data->source == EP_DATA_INLINE)
    inline_open(data, &sets[EP_SPLIT_TRAIN]);
  else {
    assert(data->source == EP_DATA_GENERATOR);
    generator_open(data, false, &sets[EP_SPLIT_TRAIN]);
    generator_open(data, true, &sets[EP_SPLIT_TEST]);
  }
  if (status == EP_OK && (main->rows < 1 || main->features < 1 || main->targets < 1))
    status = ep_fail_at(error, EP_DATA, "/data", "no rows to train on");
  if (status != EP_OK) ep_row_source_close(sets);
  return status;
}

void ep_row_source_close(ep_row_source sets[EP_SPLIT_COUNT]) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    ep_table_close(&sets[split].x);
    ep_table_close(&sets[split].y);
    free(sets[split].kept);
    ep_columns_destroy(sets[split].retyped, sets[split].retyped_count);
    free(sets[split].retyped_column);
    sets[split] = (ep_row_source){0};
  }
}
