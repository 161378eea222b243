#include "engine/data/prepare/split_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/rules.h"
#include "engine/data/sources/target.h"
#include "engine/files/excerpt.h"
#include "kernels/random.h"

ep_status ep_split_column_named(const ep_part *table, const char *name, const char *pointer,
                                int64_t *out, ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  if (!table)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "the data has separate x and y: there are no table columns to split by");
  ep_status status = ep_column_named(table, name, pointer, "rename one", out, error);
  if (status != EP_NOT_FOUND) return status;
  return ep_fail_at(error, EP_INVALID, pointer, "no column named \"%s\"",
                    ep_excerpt(shown, name, strlen(name)));
}

static ep_status spec_check(const ep_data_spec *data, ep_error *error) {
  const char *pointer = data->time[0] ? "/data/time" : "/data/group";
  if (data->time[0] && data->group[0])
    return ep_fail_at(error, EP_INVALID, pointer,
                      "rows are split either by time or by group: remove one");
  if (data->stratify)
    return ep_fail_at(error, EP_INVALID, pointer,
                      "the column determines the split: it cannot be combined with \"stratify\"");
  if (data->folds > 0)
    return ep_fail_at(error, EP_INVALID, pointer, "folds are random: use \"validation\" instead");
  return EP_OK;
}

static ep_status time_find(const ep_data_spec *data, const ep_part *table, ep_split_column *out,
                           ep_error *error) {
  int64_t target;
  ep_status status = ep_target_find(data, table, &target, error);
  if (status != EP_OK) return status;
  if (out->column == target)
    return ep_fail_at(error, EP_INVALID, "/data/time", "the target cannot be the time column");
  const ep_column *column = &table->column[out->column];
  if (column->type != EP_COLUMN_DATE && column->type != EP_COLUMN_NUMBER)
    return ep_fail_at(error, EP_INVALID, "/data/time",
                      "the column is %s: rows are ordered by a date or a number",
                      column->type == EP_COLUMN_TEXT ? "text" : "of words");
  if (column->missing == 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, "/data/time",
                    "%lld rows have no cell in that column: remove them from the data",
                    (long long)column->missing);
}

/* Of so many rows, how many each group has. */
static int64_t group_rows(const ep_column *column, int64_t group) {
  return group < column->words.count ? column->words.rows[group] : column->missing;
}

/* Gives groups that have no split yet to `split`, in their order, while that comes nearer to its
 * share. */
static ep_status share_take(const ep_column *column, const uint32_t *order, double share,
                            int64_t rows, ep_split split, ep_split_column *out, ep_error *error) {
  double wanted = share * (double)rows;
  if (share == 0) return EP_OK;
  for (int64_t i = 0; i < out->groups; i++) {
    int64_t group = order[i], count = group_rows(column, group), taken = out->rows[split];
    if (out->split[group] != EP_SPLIT_TRAIN || count == 0 ||
        fabs(wanted - (double)(taken + count)) >= fabs(wanted - (double)taken) ||
        count >= out->rows[EP_SPLIT_TRAIN])
      continue;
    out->split[group] = (uint8_t)split;
    out->rows[split] += count;
    out->rows[EP_SPLIT_TRAIN] -= count;
  }
  if (out->rows[split] > 0) return EP_OK;
  return ep_fail_at(
      error, EP_INVALID, "/data/group",
      "each remaining group has more than twice the rows of the %s split, %g: increase its share",
      split == EP_SPLIT_TEST ? "test" : "validation", wanted);
}

static ep_status groups_find(const ep_data_spec *data, const ep_part *table, ep_split_column *out,
                             ep_error *error) {
  const ep_column *column = &table->column[out->column];
  if (column->type != EP_COLUMN_CATEGORY)
    return ep_fail_at(error, EP_INVALID, "/data/group",
                      "the column is %s: groups are the words of a category, which occur in "
                      "several rows each",
                      column->type == EP_COLUMN_TEXT ? "text" : "of numbers or dates");
  out->groups = column->words.count + 1;
  out->split = calloc((size_t)out->groups, sizeof *out->split); /* all train */
  uint32_t *order = malloc((size_t)out->groups * sizeof *order);
  ep_status status = out->split && order ? EP_OK : ep_fail_memory(error);
  ep_permutation permutation =
      ep_permutation_make(data->split_seed, EP_RANDOM_SPLIT, 0, (uint64_t)out->groups);
  for (int64_t i = 0; i < out->groups && status == EP_OK; i++)
    order[i] = ep_permutation_at(&permutation, (uint32_t)i);
  out->rows[EP_SPLIT_TRAIN] = table->rows;
  if (status == EP_OK)
    status = share_take(column, order, data->test, table->rows, EP_SPLIT_TEST, out, error);
  if (status == EP_OK)
    status =
        share_take(column, order, data->validation, table->rows, EP_SPLIT_VALIDATION, out, error);
  free(order);
  return status;
}

ep_status ep_split_column_find(const ep_data_spec *data, const ep_part *table, ep_split_column *out,
                               ep_error *error) {
  *out = (ep_split_column){.column = -1, .time = data->time[0] != 0};
  if (!data->time[0] && !data->group[0]) return EP_OK;
  ep_status status = spec_check(data, error);
  if (status == EP_OK)
    status = ep_split_column_named(table, out->time ? data->time : data->group,
                                   out->time ? "/data/time" : "/data/group", &out->column, error);
  if (status != EP_OK) return status;
  return out->time ? time_find(data, table, out, error) : groups_find(data, table, out, error);
}

void ep_split_column_deinit(ep_split_column *by) {
  free(by->split);
  *by = (ep_split_column){.column = -1};
}

typedef struct {
  double time;
  int64_t row;
} timed_row;

static int time_compare(const void *left, const void *right) {
  const timed_row *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->row > b->row) - (a->row < b->row);
}

/* What the column says of a row of the source. */
static double cell_of(const ep_split_column *by, const ep_row_source *source, int64_t row) {
  return ep_table_value(&source->x, source->kept ? source->kept[row] : row, by->column);
}

static ep_status times_assign(const ep_split_column *by, const ep_row_source *source,
                              int64_t test_rows, int64_t validation_rows, uint8_t *split,
                              ep_error *error) {
  int64_t rows = source->rows;
  timed_row *order = malloc((size_t)rows * sizeof *order);
  if (!order) return ep_fail_memory(error);
  for (int64_t i = 0; i < rows; i++) order[i] = (timed_row){cell_of(by, source, i), i};
  qsort(order, (size_t)rows, sizeof *order, time_compare);
  for (int64_t i = 0; i < rows; i++)
    split[order[i].row] = i >= rows - test_rows                     ? EP_SPLIT_TEST
                          : i >= rows - test_rows - validation_rows ? EP_SPLIT_VALIDATION
                                                                    : EP_SPLIT_TRAIN;
  free(order);
  return EP_OK;
}

ep_status ep_split_column_check(const ep_split_column *by, int64_t rows_without_target,
                                ep_error *error) {
  if (!by->split || rows_without_target == 0) return EP_OK;
  return ep_fail_at(error, EP_INVALID, "/data/group",
                    "%lld rows have no target: remove them to split the data by groups",
                    (long long)rows_without_target);
}

ep_status ep_split_column_assign(const ep_split_column *by, const ep_row_source *source,
                                 int64_t test_rows, int64_t validation_rows, uint8_t *split,
                                 ep_error *error) {
  if (by->time) return times_assign(by, source, test_rows, validation_rows, split, error);
  for (int64_t i = 0; i < source->rows; i++) {
    double word = cell_of(by, source, i);
    bool known = word >= 0 && word < (double)(by->groups - 1);
    split[i] = by->split[known ? (int64_t)word : by->groups - 1];
  }
  return EP_OK;
}
