#include "engine/data/columns/retype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "engine/data/cells/unicode.h"
#include "engine/data/columns/order_statistic.h"
#include "engine/data/columns/rules.h"
#include "engine/data/datasets/distinct.h"

enum { WORDS_TOLD = 3, LIST_BYTES = 224 };

double ep_retyped_cell(const ep_column *column, double cell) {
  int64_t count = column->words.count;
  if (column->type != EP_COLUMN_CATEGORY)
    return cell >= 0 && cell < (double)count ? column->value[(int64_t)cell] : NAN;
  return isnan(cell) ? cell : (double)ep_value_find(column->value, count, cell);
}

/* Cells that the words which this kind reads have. value: [words], written. */
static int64_t words_read(const ep_words *words, ep_cell_kind kind, double *value) {
  int64_t rows = 0;
  for (int64_t k = 0; k < words->count; k++) {
    const char *text = words->word[k];
    size_t bytes = strlen(text);
    text = ep_cell_trim(text, &bytes);
    bool read = ep_cell_read(kind, text, bytes, &value[k]) && isfinite(value[k]);
    if (!read) value[k] = NAN;
    rows += read ? words->rows[k] : 0;
  }
  return rows;
}

/* The kind of dates that reads most cells; of two, that of the dialect. EP_INVALID: it has none. */
static ep_status date_kind_find(const ep_column *column, const ep_column_rule *rule,
                                const ep_dialect *dialect, double *value, ep_cell_kind *out,
                                ep_error *error) {
  int64_t most = 0;
  bool unclear = false;
  *out = EP_CELL_ISO_DATE;
  for (int kind = EP_CELL_ISO_DATE; kind < EP_CELL_DURATION; kind++) {
    int64_t rows = words_read(&column->words, (ep_cell_kind)kind, value);
    if (rows > 0 && rows == most) unclear = true;
    if (rows <= most) continue;
    most = rows;
    unclear = false;
    *out = (ep_cell_kind)kind;
  }
  if (!unclear) return EP_OK;
  if (dialect && ep_dialect_has(dialect, EP_DIALECT_DATES)) {
    *out = ep_dialect_date_kind(dialect);
    return EP_OK;
  }
  return ep_column_rule_fail(rule, "type", error,
                             "its dates may begin with the day or with the month: upload the file "
                             "again with ?dates=day_first or ?dates=month_first");
}

/* "288 numbers; 12 cells of 3 words (`n.a.`, `?`, …) are taken as missing" */
static ep_status note_make(ep_column *column, int64_t read, ep_error *error) {
  char list[LIST_BYTES] = "", shown[EP_EXCERPT_BYTES];
  int64_t unread = 0, words = 0;
  for (int64_t k = 0; k < column->words.count; k++) {
    if (!isnan(column->value[k])) continue;
    unread += column->words.rows[k];
    if (words++ < WORDS_TOLD)
      snprintf(list + strlen(list), sizeof list - strlen(list), "%s`%s`", list[0] ? ", " : "",
               ep_excerpt(shown, column->words.word[k], strlen(column->words.word[k])));
  }
  const char *order = column->form == EP_CELL_DAY_FIRST     ? " with the day first"
                      : column->form == EP_CELL_MONTH_FIRST ? " with the month first"
                                                            : "";
  free(column->note);
  column->note = NULL;
  ep_status status = ep_column_note_add(column, error, "%lld %s%s%s", (long long)read,
                                        column->type == EP_COLUMN_DATE ? "date" : "number",
                                        read == 1 ? "" : "s", order);
  if (status != EP_OK || words == 0) return status;
  return ep_column_note_add(column, error, "%lld cell%s of %lld word%s (%s%s) %s taken as missing",
                            (long long)unread, unread == 1 ? "" : "s", (long long)words,
                            words == 1 ? "" : "s", list, words > WORDS_TOLD ? ", …" : "",
                            unread == 1 ? "is" : "are");
}

/* Of the values that are there. */
static bool figures_find(ep_column *column) {
  int64_t count = 0;
  double *sorted = malloc((size_t)column->words.count * sizeof *sorted);
  if (!sorted) return false;
  column->integer = true;
  for (int64_t k = 0; k < column->words.count; k++) {
    double value = column->value[k];
    if (isnan(value)) {
      column->missing += column->words.rows[k];
      continue;
    }
    column->integer = column->integer && value == floor(value);
    sorted[count++] = value;
  }
  ep_values_sort(sorted, count);
  column->min = sorted[0];
  column->max = sorted[count - 1];
  column->distinct = 1;
  for (int64_t i = 1; i < count; i++) column->distinct += sorted[i] != sorted[i - 1];
  free(sorted);
  return true;
}

static ep_status words_to_values(ep_column *column, const ep_column_rule *rule,
                                 const ep_dialect *dialect, ep_error *error) {
  bool date = rule->type == EP_COLUMN_AS_DATE;
  ep_cell_kind kind = ep_cell_kind_is_number(column->form) ? column->form : EP_CELL_NUMBER;
  ep_status status = EP_OK;
  double *value = calloc((size_t)column->words.count, sizeof *value);
  if (!value) return ep_fail_memory(error);
  if (date) status = date_kind_find(column, rule, dialect, value, &kind, error);
  int64_t read = status == EP_OK ? words_read(&column->words, kind, value) : 0;
  if (status == EP_OK && read == 0)
    status = ep_column_rule_fail(rule, "type", error, "none of the column's %lld words is a %s",
                                 (long long)column->words.count, date ? "date" : "number");
  if (status != EP_OK) {
    free(value);
    return status;
  }
  column->value = value;
  column->type = date ? EP_COLUMN_DATE : EP_COLUMN_NUMBER;
  column->form = kind;
  if (!figures_find(column)) return ep_fail_memory(error);
  return note_make(column, read, error);
}

/* The values of a number; of a description from before they were stored, all in its range. */
static ep_status values_list(ep_column *column, const ep_column_rule *rule, int64_t *count,
                             ep_error *error) {
  *count = column->distinct;
  if (column->value) return EP_OK;
  if (!column->integer || column->max - column->min >= EP_LIMIT_CATEGORIES)
    return ep_column_rule_fail(
        rule, "type", error,
        "a category needs up to %d distinct numbers, each in at least two rows, or whole numbers "
        "in a range of up to %d; these are %sfrom %g to %g%s",
        EP_LIMIT_COLUMN_VALUES, EP_LIMIT_CATEGORIES, column->integer ? "" : "not all whole, ",
        column->min, column->max,
        column->distinct > 0 && column->distinct <= EP_LIMIT_COLUMN_VALUES
            ? ": if an earlier version of epochd read the data, delete them and upload them again"
            : "");
  *count = (int64_t)(column->max - column->min) + 1;
  column->value = malloc((size_t)*count * sizeof *column->value);
  if (!column->value) return ep_fail_memory(error);
  for (int64_t k = 0; k < *count; k++) column->value[k] = column->min + (double)k;
  return EP_OK;
}

static ep_status values_to_words(ep_column *column, const ep_column_rule *rule, ep_error *error) {
  int64_t count;
  char text[EP_NUMBER_BYTES];
  ep_status status = values_list(column, rule, &count, error);
  if (status != EP_OK) return status;
  bool ok = ep_words_init(&column->words, count);
  for (int64_t k = 0; ok && k < count; k++) {
    ep_number_format(column->value[k], text);
    ok = (column->words.word[k] = strdup(text));
  }
  column->type = EP_COLUMN_CATEGORY;
  return ok ? EP_OK : ep_fail_memory(error);
}

static ep_status column_retype(ep_column *column, const ep_column_rule *rule,
                               const ep_dialect *dialect, ep_error *error) {
  ep_column_as as = rule->type;
  bool category = column->type == EP_COLUMN_CATEGORY;
  if (as == EP_COLUMN_AS_AUTO || as == EP_COLUMN_AS_IGNORE ||
      (category && as == EP_COLUMN_AS_CATEGORY))
    return EP_OK;
  if (column->type == EP_COLUMN_TEXT)
    return ep_column_rule_fail(
        rule, "type", error,
        "the column is text, which is not stored: reduce its distinct values and upload it again");
  if (category) return words_to_values(column, rule, dialect, error);
  if (as != EP_COLUMN_AS_CATEGORY) return EP_OK;
  if (column->type == EP_COLUMN_DATE)
    return ep_column_rule_fail(rule, "type", error,
                               "the column has dates, which cannot be a category: their months, "
                               "days, weekdays and hours are already features");
  return ep_column_is_retyped(column) ? EP_OK : values_to_words(column, rule, error);
}

/* Whether its numbers can be the numbers of classes: each from 0 on. */
static bool is_numbered(const ep_column *column) {
  return column->integer && column->min == 0 && column->max < EP_LIMIT_CLASSES &&
         (column->distinct == 0 || (double)column->distinct == column->max + 1);
}

/* rule: of its name; NULL: none. */
static ep_status target_retype(ep_column *column, const char *name, const ep_column_rule *rule,
                               ep_task task, const ep_dialect *dialect, ep_error *error) {
  bool classes = task == EP_TASK_CLASSIFICATION;
  ep_column_as as = classes ? EP_COLUMN_AS_CATEGORY : EP_COLUMN_AS_NUMBER;
  ep_column_rule wanted = rule ? *rule : (ep_column_rule){.indicator = -1};
  if (wanted.type != EP_COLUMN_AS_AUTO && wanted.type != as)
    return ep_fail_at(error, EP_INVALID, "/data/task",
                      "is \"%s\", and the type of the target in columns is \"%s\": remove one",
                      ep_task_name((int)task), ep_column_as_name((int)wanted.type));
  if (classes && !rule && column->type == EP_COLUMN_NUMBER && is_numbered(column)) return EP_OK;
  if (column->type == EP_COLUMN_TEXT) return EP_OK; /* it is no target at all */
  snprintf(wanted.name, sizeof wanted.name, "%s", name);
  wanted.type = as;
  ep_status status = column_retype(column, &wanted, dialect, error);
  if (status != EP_INVALID || rule) return status;
  if (column->type == EP_COLUMN_CATEGORY)
    return ep_fail_at(error, EP_INVALID, "/data/task",
                      "a regression needs numbers, and none of the target's %lld words is a "
                      "number: use \"classification\"",
                      (long long)column->words.count);
  return ep_fail_at(error, EP_INVALID, "/data/task",
                    "a classification needs up to %d values, each in at least two rows; the target "
                    "ranges from %g to %g, %s%lld distinct values: use \"regression\"",
                    EP_LIMIT_CLASSES, column->min, column->max,
                    column->integer ? "" : "not all whole, ", (long long)column->distinct);
}

static bool splits(const ep_data_spec *data, const char *name) {
  return ep_text_equals(name, data->time) || ep_text_equals(name, data->group) ||
         ep_text_equals(name, data->window.group);
}

ep_status ep_columns_retype(const ep_data_spec *data, const ep_dialect *dialect, ep_part *table,
                            int64_t target, ep_error *error) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_column_matcher matcher;
  if (data->columns_count == 0 && data->task == EP_TASK_AUTO) return EP_OK;
  ep_status status = ep_part_columns_own(table, error);
  if (status != EP_OK) return status;
  status = ep_column_matcher_init(data, table, &matcher, error);
  for (int64_t i = 0; i < table->columns && status == EP_OK; i++) {
    ep_column_title(table, i, name);
    const ep_column_rule *rule = ep_column_rule_find(&matcher, name);
    if (i == target && rule && !ep_text_equals(rule->name, name)) rule = NULL;
    if (i == target && data->task != EP_TASK_AUTO)
      status = target_retype(&table->column[i], name, rule, data->task, dialect, error);
    else if (rule && !splits(data, name))
      status = column_retype(&table->column[i], rule, dialect, error);
  }
  ep_column_matcher_deinit(&matcher);
  return status;
}
