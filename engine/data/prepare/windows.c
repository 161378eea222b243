#include "engine/data/prepare/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare/split_column.h"
#include "engine/data/sources/kept_rows.h"

static ep_status spec_check(const ep_data_spec *data, ep_error *error) {
  const char *pointer = data->stratify    ? "/data/stratify"
                        : data->folds > 0 ? "/data/folds"
                        : data->group[0]  ? "/data/group"
                                          : NULL;
  if (!pointer) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer,
                    data->group[0] ? "a series is split by its order: \"group\" within \"window\" "
                                     "tells several series apart"
                                   : "a series is split by its order, the newest rows last: leave "
                                     "it out, and take \"test\" and \"validation\"");
}

static ep_status time_find(const ep_data_spec *data, const ep_part *table, int64_t *out,
                           ep_error *error) {
  ep_split_column by;
  *out = -1;
  if (!data->time[0]) return EP_OK;
  ep_status status = ep_split_column_find(data, table, &by, error);
  if (status == EP_OK) *out = by.column;
  ep_split_column_deinit(&by);
  return status;
}

static ep_status group_find(const ep_data_spec *data, const ep_part *table, int64_t *out,
                            ep_error *error) {
  static const char pointer[] = "/data/window/group";
  *out = -1;
  if (!data->window.group[0]) return EP_OK;
  ep_status status = ep_split_column_named(table, data->window.group, pointer, out, error);
  if (status != EP_OK) return status;
  const ep_column *column = &table->column[*out];
  if (column->type != EP_COLUMN_CATEGORY)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "the column is %s: series are the words of a category, which occur in "
                      "several rows each",
                      column->type == EP_COLUMN_TEXT ? "text" : "of numbers or dates");
  if (column->missing == 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, pointer,
                    "%lld rows have no cell in that column: leave them out of the data",
                    (long long)column->missing);
}

static ep_status columns_find(const ep_data_spec *data, const ep_part *table, int64_t target,
                              ep_windows *out, ep_error *error) {
  if (!table)
    return ep_fail_at(error, EP_INVALID, "/data/window",
                      "the data has x and y apart: there are no rows of a table in a series");
  ep_status status = spec_check(data, error);
  if (status == EP_OK) status = time_find(data, table, &out->time, error);
  if (status == EP_OK) status = group_find(data, table, &out->group, error);
  int64_t *needed = NULL, count = 0;
  if (status != EP_OK) return status;
  if (table->column[target].missing == 0) {
    status = ep_needed_columns_find(data, table, target, &needed, &count, error);
    free(needed);
    if (status != EP_OK || count == 0) return status;
    return ep_fail_at(error, EP_INVALID, "/data/columns",
                      "no row can be dropped from a series: let \"missing\" fill its cells");
  }
  return ep_fail_at(error, EP_INVALID, "/data/window",
                    "%lld rows have no target, and a series has one in each row: fill them in",
                    (long long)table->column[target].missing);
}

/* Examples among so many successive rows. */
static int64_t examples_count(const ep_windows *windows, int64_t rows) {
  int64_t taken = windows->length + windows->horizon;
  return rows < taken ? 0 : (rows - taken) / windows->stride + 1;
}

static void series_cut(const ep_data_spec *data, int64_t rows, int64_t out[EP_SPLIT_COUNT]) {
  int64_t test = llround(data->test * (double)rows);
  int64_t validation = llround(data->validation * (double)rows);
  if (test > rows) test = rows;
  if (validation > rows - test) validation = rows - test;
  out[EP_SPLIT_TRAIN] = rows - test - validation;
  out[EP_SPLIT_VALIDATION] = validation;
  out[EP_SPLIT_TEST] = test;
}

/* Each split that the spec gives a share has an example. */
static ep_status examples_check(const ep_data_spec *data, const ep_windows *windows,
                                ep_error *error) {
  static const struct {
    const char *pointer, *name;
  } of[EP_SPLIT_COUNT] = {[EP_SPLIT_TRAIN] = {"/data/window/length", "training"},
                          [EP_SPLIT_VALIDATION] = {"/data/validation", "validation"},
                          [EP_SPLIT_TEST] = {"/data/test", "test"}};
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    bool wanted = split == EP_SPLIT_TRAIN || (split == EP_SPLIT_TEST && data->test > 0) ||
                  (split == EP_SPLIT_VALIDATION && data->validation > 0);
    if (!wanted || windows->windows[split] > 0) continue;
    return ep_fail_at(error, EP_INVALID, of[split].pointer,
                      "an example and its target take %lld successive rows, and no series has as "
                      "many %s rows",
                      (long long)(windows->length + windows->horizon), of[split].name);
  }
  return EP_OK;
}

ep_status ep_windows_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                          ep_windows *out, ep_error *error) {
  const ep_window_spec *spec = &data->window;
  *out = (ep_windows){
      .length = spec->length, .horizon = spec->horizon, .stride = spec->stride, .time = -1};
  ep_status status = columns_find(data, table, target, out, error);
  if (status != EP_OK) return status;
  const ep_words *words = out->group >= 0 ? &table->column[out->group].words : NULL;
  out->count = words ? words->count : 1;
  out->rows = calloc((size_t)out->count, sizeof *out->rows);
  if (!out->rows) return ep_fail_memory(error);
  for (int64_t i = 0; i < out->count; i++) {
    series_cut(data, words ? words->rows[i] : table->rows, out->rows[i]);
    out->train_rows += out->rows[i][EP_SPLIT_TRAIN];
    for (int split = 0; split < EP_SPLIT_COUNT; split++)
      out->windows[split] += examples_count(out, out->rows[i][split]);
  }
  return examples_check(data, out, error);
}

typedef struct {
  int64_t series;
  double time;
  int64_t row;
} series_row;

static int row_compare(const void *left, const void *right) {
  const series_row *a = left, *b = right;
  if (a->series != b->series) return a->series < b->series ? -1 : 1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

/* Rows of the same time stand as they do in the table. */
static ep_status rows_order(ep_windows *windows, const ep_row_source *source, ep_error *error) {
  series_row *rows = malloc((size_t)source->rows * sizeof *rows);
  windows->order = malloc((size_t)source->rows * sizeof *windows->order);
  if (!rows || !windows->order) {
    free(rows);
    return ep_fail_memory(error);
  }
  for (int64_t i = 0; i < source->rows; i++) {
    double group = windows->group < 0 ? 0 : ep_table_value(&source->x, i, windows->group);
    double time = windows->time < 0 ? 0 : ep_table_value(&source->x, i, windows->time);
    bool known = group >= 0 && group < (double)windows->count;
    rows[i] = (series_row){known ? (int64_t)group : windows->count, time, i};
  }
  qsort(rows, (size_t)source->rows, sizeof *rows, row_compare);
  for (int64_t i = 0; i < source->rows; i++) windows->order[i] = rows[i].row;
  free(rows);
  return EP_OK;
}

/* The rows of one split of a series, which begin at `place` of the order. */
static void rows_assign(ep_windows *windows, ep_split split, int64_t place, int64_t rows,
                        int64_t *used, uint8_t *row_split) {
  int64_t examples = examples_count(windows, rows);
  for (int64_t i = 0; i < rows; i++) row_split[windows->order[place + i]] = (uint8_t)split;
  for (int64_t i = 0; i < examples; i++)
    windows->first[split][(*used)++] = place + i * windows->stride;
}

ep_status ep_windows_assign(ep_windows *windows, const ep_row_source *source, uint8_t *split,
                            ep_error *error) {
  int64_t place = 0, used[EP_SPLIT_COUNT] = {0}, rows = 0;
  for (int64_t i = 0; i < windows->count; i++)
    for (int k = 0; k < EP_SPLIT_COUNT; k++) rows += windows->rows[i][k];
  if (rows != source->rows)
    return ep_fail_at(error, EP_DATA, "/data", "the table is not what was said of it");
  ep_status status = rows_order(windows, source, error);
  for (int k = 0; k < EP_SPLIT_COUNT && status == EP_OK; k++) {
    windows->first[k] = malloc((size_t)(windows->windows[k] + 1) * sizeof *windows->first[k]);
    if (!windows->first[k]) status = ep_fail_memory(error);
  }
  for (int64_t i = 0; i < windows->count && status == EP_OK; i++)
    for (int k = EP_SPLIT_TRAIN; k <= EP_SPLIT_TEST; k++) { /* the oldest rows train */
      rows_assign(windows, (ep_split)k, place, windows->rows[i][k], &used[k], split);
      place += windows->rows[i][k];
    }
  return status;
}

int64_t ep_windows_target_row(const ep_windows *windows, ep_split split, int64_t index) {
  return windows->order[windows->first[split][index] + windows->length - 1 + windows->horizon];
}

void ep_windows_gather(const ep_windows *windows, ep_split split, int64_t index,
                       const float *series, int64_t features, float *x) {
  const int64_t *order = windows->order + windows->first[split][index];
  for (int64_t t = 0; t < windows->length; t++) {
    const float *row = series + order[t] * features;
    for (int64_t j = 0; j < features; j++) x[j * windows->length + t] = row[j];
  }
}

void ep_windows_deinit(ep_windows *windows) {
  free(windows->rows);
  free(windows->order);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) free(windows->first[split]);
  *windows = (ep_windows){0};
}
