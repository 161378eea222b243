#include "engine/data/prepare/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/rules.h"
#include "engine/data/sources/target.h"

bool ep_columns_are_said(const ep_data_spec *data) {
  return data->columns_count > 0 || data->features.name || data->exclude.name ||
         data->window.length > 0;
}

/* Columns of words, dates or gaps have no row of a table to be part of. */
static ep_status pair_check(const ep_data_spec *data, const ep_dataset_meta *meta,
                            ep_error *error) {
  if (ep_columns_are_said(data))
    return ep_fail_at(error, EP_INVALID,
                      data->columns_count > 0 ? "/data/columns"
                      : data->features.name   ? "/data/features"
                      : data->exclude.name    ? "/data/exclude"
                                              : "/data/window",
                      "the data has separate x and y: there are no table columns to choose");
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = EP_ROLE_X; role <= EP_ROLE_Y; role++) {
      const ep_part *part = &meta->part[split][role];
      for (int64_t i = 0; part->rows > 0 && i < part->columns; i++)
        if (part->column[i].type != EP_COLUMN_NUMBER || part->column[i].missing > 0)
          return ep_fail_at(
              error, EP_INVALID, "/data/dataset",
              "column %lld of %s has words, dates or missing cells: upload x and y as one table",
              (long long)i, ep_role_name((ep_role)role));
    }
  return EP_OK;
}

/* What is said of x as a whole does not go together with what is done to each column. */
static ep_status scaling_check(const ep_data_spec *data, ep_error *error) {
  const char *pointer = data->standardize_x                               ? "/data/standardize"
                        : data->normalize                                 ? "/data/normalize"
                        : data->scale != 0                                ? "/data/scale"
                        : data->shape[0] != 0 && data->window.length == 0 ? "/data/shape"
                        : data->augment_shift || data->augment_flip || data->augment_crop[0]
                            ? "/data/augment"
                            : NULL;
  if (!pointer) return EP_OK;
  return ep_fail_at(
      error, EP_INVALID, pointer,
      data->standardize_x
          ? "the columns are already scaled, as set in data.columns: remove \"x\""
          : "the columns of a table are scaled individually and are not an image: remove it");
}

ep_status ep_columns_plan(const ep_data_spec *data, const ep_dataset_meta *meta, ep_encoding **out,
                          ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  int64_t target;
  *out = NULL;
  if (table->rows == 0) return pair_check(data, meta, error);
  ep_status status = ep_target_find(data, table, &target, error);
  if (status != EP_OK || !ep_encoding_needed(data, table)) return status;
  status = scaling_check(data, error);
  if (status != EP_OK) return status;
  *out = malloc(sizeof **out);
  if (!*out) return ep_fail_memory(error);
  status = ep_encoding_plan(data, table, target, *out, error);
  if (status == EP_OK && meta->dialect) (*out)->dialect = meta->dialect->dialect;
  (*out)->dialect.set &= ~(UINT32_C(1) << EP_DIALECT_DATES); /* each column's form has its order */
  if (status == EP_OK) return EP_OK;
  free(*out);
  *out = NULL;
  return status;
}

/* The column of the table that cell `cell` of a raw row comes from. */
static int64_t table_column(const ep_row_source *main, int64_t cell) {
  return cell < main->target || main->whole ? cell : cell + 1;
}

/* The next columns that learn something, at most `room` of them, from *next on: [count]. */
static int64_t columns_choose(const ep_encoding *encoding, int64_t *next, int64_t room,
                              int64_t *chosen) {
  int64_t count = 0;
  for (; *next < encoding->columns && count < room; (*next)++)
    if (encoding->column[*next].encode != EP_ENCODE_NONE) chosen[count++] = *next;
  return count;
}

/* cells: [count, train_rows], written: the training cells of the chosen columns. */
static void cells_gather(const ep_row_source *main, const uint8_t *split, int64_t train_rows,
                         const int64_t *chosen, int64_t count, double *cells) {
  int64_t place = 0;
  for (int64_t i = 0; i < main->rows; i++) {
    if (split[i] != EP_SPLIT_TRAIN) continue;
    for (int64_t k = 0; k < count; k++)
      cells[k * train_rows + place] =
          ep_row_source_cell(main, ep_row_source_place(main, i), table_column(main, chosen[k]));
    place++;
  }
}

/* Column `index` of a table's raw rows, by name and by its place among the features; false: it is
 * none of them. encoding NULL: each number is its own feature. */
static bool feature_place(const ep_part *table, int64_t target, const ep_encoding *encoding,
                          int64_t index, char title[EP_LIMIT_NAME_BYTES + 1], int64_t place[2]) {
  if (encoding) {
    const ep_column_encoding *column = &encoding->column[index];
    memcpy(title, column->name, sizeof column->name);
    place[0] = column->first;
    place[1] = column->features;
    return column->encode != EP_ENCODE_NONE && place[1] > 0;
  }
  ep_column_title(table, index, title);
  place[0] = index - (index > target);
  place[1] = 1;
  return index != target;
}

static ep_status slice_fail(int layer, int name, const char *text, ep_error *error) {
  char pointer[EP_POINTER_BYTES];
  snprintf(pointer, sizeof pointer, "/model/layers/%d/columns/%d", layer, name);
  return ep_fail_at(error, EP_INVALID, pointer, "no column that the network learns from is \"%s\"",
                    text);
}

/* Neighbours become one place. False: there are too many. */
static bool place_add(ep_layer_spec *layer, const int64_t place[2]) {
  int64_t(*last)[2] = layer->places_count > 0 ? &layer->places[layer->places_count - 1] : NULL;
  if (last && (*last)[0] + (*last)[1] == place[0]) {
    (*last)[1] += place[1];
    return true;
  }
  if (layer->places_count == EP_LIMIT_SLICE_PLACES) return false;
  memcpy(layer->places[layer->places_count++], place, sizeof *layer->places);
  return true;
}

/* The features of one slice's columns, in the order of the table. */
static ep_status slice_resolve(ep_layer_spec *layer, int number, const ep_part *table,
                               int64_t target, const ep_encoding *encoding, ep_error *error) {
  char title[EP_LIMIT_NAME_BYTES + 1];
  const int64_t count = encoding ? encoding->columns : table->columns;
  int64_t place[2];
  bool *found = calloc((size_t)layer->columns.count, sizeof *found);
  free(layer->places);
  layer->places = calloc(EP_LIMIT_SLICE_PLACES, sizeof *layer->places);
  layer->places_count = 0;
  ep_status status = found && layer->places ? EP_OK : ep_fail_memory(error);
  for (int64_t i = 0; i < count && status == EP_OK; i++) {
    bool taken = false;
    if (!feature_place(table, target, encoding, i, title, place)) continue;
    for (int k = 0; k < layer->columns.count; k++)
      if (ep_text_equals(layer->columns.name[k], title) ||
          ep_glob_matches(layer->columns.name[k], title))
        found[k] = taken = true;
    if (taken && !place_add(layer, place))
      status = ep_fail_at(error, EP_INVALID, "/model/layers",
                          "layer %d slices more than %d parts of the row: name columns that stand "
                          "together",
                          number, EP_LIMIT_SLICE_PLACES);
  }
  for (int k = 0; k < layer->columns.count && status == EP_OK; k++)
    if (!found[k]) status = slice_fail(number, k, layer->columns.name[k], error);
  free(found);
  return status;
}

ep_status ep_slices_resolve(ep_job_spec *spec, const ep_dataset_meta *meta, ep_error *error) {
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  ep_encoding *encoding = NULL;
  int64_t target = -1;
  bool planned = false;
  ep_status status = EP_OK;
  for (int i = 0; i < spec->layers_count && status == EP_OK; i++) {
    ep_layer_spec *layer = &spec->layers[i];
    if (layer->columns.count == 0) continue;
    if (!table || table->rows == 0) {
      char pointer[EP_POINTER_BYTES];
      snprintf(pointer, sizeof pointer, "/model/layers/%d/columns", i);
      status = ep_fail_at(error, EP_INVALID, pointer,
                          "the data is no table with columns: give start and length");
    }
    if (status == EP_OK && !planned) status = ep_target_find(&spec->data, table, &target, error);
    if (status == EP_OK && !planned) status = ep_columns_plan(&spec->data, meta, &encoding, error);
    planned = true;
    if (status == EP_OK) status = slice_resolve(layer, i, table, target, encoding, error);
  }
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
  return status;
}

ep_status ep_columns_fit(ep_encoding *encoding, const ep_row_source *main, const uint8_t *split,
                         int64_t train_rows, ep_error *error) {
  int64_t room = EP_LIMIT_FIT_BYTES / ((int64_t)sizeof(double) * train_rows), next = 0, count;
  ep_status status = EP_OK;
  if (room < 1) room = 1;
  if (room > encoding->columns) room = encoding->columns;
  int64_t *chosen = malloc((size_t)room * sizeof *chosen);
  double *cells = malloc((size_t)room * (size_t)train_rows * sizeof *cells);
  if (!chosen || !cells) status = ep_fail_memory(error);
  while (status == EP_OK && (count = columns_choose(encoding, &next, room, chosen)) > 0) {
    cells_gather(main, split, train_rows, chosen, count, cells);
    for (int64_t k = 0; k < count && status == EP_OK; k++)
      status = ep_encoding_fit(encoding, chosen[k], cells + k * train_rows, train_rows, error);
  }
  free(cells);
  free(chosen);
  return status;
}
