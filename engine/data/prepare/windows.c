#include "engine/data/prepare/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare/gaps.h"
#include "engine/data/prepare/split_column.h"
#include "engine/data/sources/kept_rows.h"
#include "engine/data/sources/table_walk.h"

static ep_status spec_check(const ep_data_spec *data, ep_error *error) {
  const char *pointer = data->stratify    ? "/data/stratify"
                        : data->folds > 0 ? "/data/folds"
                        : data->group[0]  ? "/data/group"
                                          : NULL;
  if (!pointer) return EP_OK;
  return ep_fail_at(
      error, EP_INVALID, pointer,
      data->group[0]
          ? "a series is split by its order: use \"group\" within \"window\" for several series"
          : "a series is split by its order, the newest rows last: remove it, and use \"test\" and "
            "\"validation\"");
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
                    "%lld rows have no cell in that column: remove them from the data",
                    (long long)column->missing);
}

static ep_status columns_find(const ep_data_spec *data, const ep_part *table, int64_t target,
                              ep_windows *out, ep_error *error) {
  if (!table)
    return ep_fail_at(error, EP_INVALID, "/data/window",
                      "the data has separate x and y: a series needs the rows of a table");
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
                      "rows cannot be dropped from a series: fill the cells with \"missing\"");
  }
  return ep_fail_at(error, EP_INVALID, "/data/window",
                    "%lld rows have no target, and a series needs one in each row: fill them in",
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
    if (windows->found.left_out > 0)
      return ep_fail_at(error, EP_INVALID, "/data/window/gaps",
                        "an example and its target take %lld successive rows, and all such %s rows "
                        "have a gap in their times: use a shorter \"length\", or \"keep\"",
                        (long long)(windows->length + windows->horizon), of[split].name);
    return ep_fail_at(error, EP_INVALID, of[split].pointer,
                      "an example and its target take %lld successive rows, and no series has as "
                      "many %s rows",
                      (long long)(windows->length + windows->horizon), of[split].name);
  }
  return EP_OK;
}

static ep_status series_count(const ep_data_spec *data, const ep_part *table, int64_t target,
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

/* A row, and what decides its place. */
typedef struct {
  double time, target;
  int64_t row;
  int32_t series;
} series_row;

/* Rows of the same time stand by their targets, so that the order of the file does not matter but
 * where these are the same too. */
static int row_compare(const void *left, const void *right) {
  const series_row *a = left, *b = right;
  if (a->series != b->series) return a->series < b->series ? -1 : 1;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->target != b->target) return a->target < b->target ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

/* The rows of a table on their way. */
typedef struct {
  const ep_windows *windows;
  int64_t target; /* column */
  ep_dtype dtype;
  series_row *rows; /* [count] */
  int64_t count;
} reading;

/* column -1: 0. */
static double cell_of(const reading *from, const uint8_t *row, int64_t column) {
  double cell = 0;
  if (column >= 0)
    ep_dtype_values(from->dtype, row + (size_t)column * ep_dtype_bytes(from->dtype), 1, &cell);
  return cell;
}

static ep_status row_visit(void *context, const uint8_t *row, ep_error *error) {
  reading *to = context;
  const ep_windows *windows = to->windows;
  double series = cell_of(to, row, windows->group);
  if (!(series >= 0 && series < (double)windows->count))
    return ep_fail_at(error, EP_DATA, "/data", "the table does not match its metadata");
  to->rows[to->count] =
      (series_row){.series = (int32_t)series,
                   .time = cell_of(to, row, windows->time),
                   .target = cell_of(to, row, windows->time < 0 ? -1 : to->target),
                   .row = to->count};
  to->count++;
  return EP_OK;
}

static int64_t series_rows(const ep_windows *windows, int64_t series) {
  int64_t rows = 0;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) rows += windows->rows[series][split];
  return rows;
}

/* Each series has as many rows as was said of it. */
static ep_status order_check(const ep_windows *windows, const series_row *rows, ep_error *error) {
  int64_t place = 0;
  for (int64_t i = 0; i < windows->count; i++) {
    int64_t count = series_rows(windows, i);
    if (count > 0 && (rows[place].series != i || rows[place + count - 1].series != i))
      return ep_fail_at(error, EP_DATA, "/data", "the table does not match its metadata");
    place += count;
  }
  return EP_OK;
}

/* rows: [all], in their order. odd: [all], written: whether the step to that row is not as usual.
 */
static ep_status steps_judge(ep_windows *windows, const series_row *rows, int64_t all, bool *odd,
                             ep_error *error) {
  double *times = malloc((size_t)all * sizeof *times);
  if (!times) return ep_fail_memory(error);
  for (int64_t i = 0; i < all; i++) times[i] = rows[i].time;
  ep_status status = EP_OK;
  for (int64_t i = 0, first = 0; i < windows->count && status == EP_OK; i++) {
    int64_t count = series_rows(windows, i);
    status = ep_gaps_find(times + first, count, &windows->found, odd + first, error);
    first += count;
  }
  free(times);
  ep_gaps_judge(&windows->found);
  if (windows->found.uneven) memset(odd, 0, (size_t)all * sizeof *odd);
  return status;
}

/* The examples of one split of a series, which begins at `place`. odd: NULL: all steps are usual.
 */
static void examples_find(ep_windows *windows, ep_split split, int64_t place, int64_t rows,
                          const bool *odd) {
  int64_t examples = examples_count(windows, rows), steps = windows->length - 1 + windows->horizon;
  int64_t last_odd = -1, seen = place;
  for (int64_t i = 0; i < examples; i++) {
    int64_t first = place + i * windows->stride;
    for (; odd && seen <= first + steps; seen++)
      if (odd[seen]) last_odd = seen;
    if (last_odd > first)
      windows->found.left_out++;
    else
      windows->first[split][windows->windows[split]++] = first;
    windows->found.windows++;
  }
}

static ep_status examples_place(const ep_data_spec *data, ep_windows *windows, const bool *odd,
                                ep_error *error) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    windows->first[split] =
        malloc((size_t)(windows->windows[split] + 1) * sizeof *windows->first[split]);
    if (!windows->first[split]) return ep_fail_memory(error);
    windows->windows[split] = 0;
  }
  for (int64_t i = 0, place = 0; i < windows->count; i++)
    for (int split = EP_SPLIT_TRAIN; split <= EP_SPLIT_TEST; split++) { /* the oldest rows train */
      examples_find(windows, (ep_split)split, place, windows->rows[i][split], odd);
      place += windows->rows[i][split];
    }
  return examples_check(data, windows, error);
}

/* The order of the rows, and the examples of each split. */
static ep_status series_read(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                             ep_windows *windows, ep_error *error) {
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  bool cuts = windows->time >= 0 && data->window.gaps == EP_WINDOW_GAPS_CUT;
  size_t all = (size_t)table->rows;
  reading to = {.windows = windows, .target = target, .dtype = table->dtype};
  to.rows = malloc(all * sizeof *to.rows);
  windows->order = malloc(all * sizeof *windows->order);
  bool *odd = cuts ? malloc(all * sizeof *odd) : NULL;
  ep_status status = to.rows && windows->order && (odd || !cuts) ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) status = ep_main_part_walk(data, meta, EP_ROLE_TABLE, row_visit, &to, error);
  if (status == EP_OK) {
    qsort(to.rows, all, sizeof *to.rows, row_compare);
    for (size_t i = 0; i < all; i++) windows->order[i] = to.rows[i].row;
    status = order_check(windows, to.rows, error);
  }
  if (status == EP_OK && cuts) {
    windows->found.dates = table->column[windows->time].type == EP_COLUMN_DATE;
    status = steps_judge(windows, to.rows, table->rows, odd, error);
  }
  if (status == EP_OK) status = examples_place(data, windows, odd, error);
  free(odd);
  free(to.rows);
  return status;
}

ep_status ep_windows_find(const ep_data_spec *data, const ep_dataset_meta *meta, int64_t target,
                          ep_windows *out, ep_error *error) {
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  if (table && table->rows == 0) table = NULL;
  ep_status status = series_count(data, table, target, out, error);
  if (status != EP_OK) return status;
  if (out->time >= 0 || out->group >= 0) return series_read(data, meta, target, out, error);
  return examples_place(data, out, NULL, error);
}

void ep_windows_assign(const ep_windows *windows, uint8_t *split) {
  int64_t place = 0;
  for (int64_t i = 0; i < windows->count; i++)
    for (int k = EP_SPLIT_TRAIN; k <= EP_SPLIT_TEST; k++)
      for (int64_t rows = windows->rows[i][k]; rows > 0; rows--) split[place++] = (uint8_t)k;
}

int64_t ep_windows_target_row(const ep_windows *windows, ep_split split, int64_t index) {
  return windows->first[split][index] + windows->length - 1 + windows->horizon;
}

void ep_windows_gather(const ep_windows *windows, ep_split split, int64_t index,
                       const float *series, int64_t features, float *x) {
  const float *row = series + windows->first[split][index] * features;
  for (int64_t t = 0; t < windows->length; t++, row += features)
    for (int64_t j = 0; j < features; j++) x[j * windows->length + t] = row[j];
}

ep_baseline ep_windows_last_value(const ep_windows *windows, const double *y) {
  int64_t count = windows->windows[EP_SPLIT_TEST];
  double mean = 0, missed = 0, all = 0, mae = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < count; i++) {
      int64_t row = ep_windows_target_row(windows, EP_SPLIT_TEST, i), last = row - windows->horizon;
      double target = y[windows->order ? windows->order[row] : row];
      double error = target - y[windows->order ? windows->order[last] : last];
      if (pass == 0) mean += target / (double)count;
      if (pass == 0) mae += fabs(error);
      if (pass == 1) missed += error * error;
      if (pass == 1) all += (target - mean) * (target - mean);
    }
  return ep_baseline_of_last_value(1 - missed / all, mae / (double)count);
}

void ep_windows_deinit(ep_windows *windows) {
  free(windows->rows);
  free(windows->order);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) free(windows->first[split]);
  *windows = (ep_windows){0};
}
