/* plan.c: which columns of a table become features, and how, from its description. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/unicode.h"
#include "engine/data/columns/calendar.h"
#include "engine/data/columns/encoding.h"
#include "engine/data/columns/positive.h"
#include "engine/data/columns/retype.h"
#include "engine/data/columns/rules.h"

/* What is said of a column of which nothing is. */
static const ep_column_rule no_rule = {.indicator = -1};

bool ep_encoding_needed(const ep_data_spec *data, const ep_part *table) {
  if (data->columns_count > 0 || data->features.name || data->exclude.name) return true;
  if (data->window.length > 0) return true;
  for (int64_t i = 0; i < table->columns; i++) {
    const ep_column *column = &table->column[i];
    if (column->type != EP_COLUMN_NUMBER || column->missing > 0) return true;
    if (column->unit[0] || column->form == EP_CELL_DURATION) return true; /* cells need them */
  }
  return false;
}

/* One value in all rows, or none in any. */
static bool is_constant(const ep_column *column, int64_t rows) {
  return (column->distinct == 1 && column->missing == 0) || column->missing >= rows;
}

static int date_parts_find(const ep_column *column) {
  ep_calendar least = ep_calendar_of(column->min), greatest = ep_calendar_of(column->max);
  int parts = EP_DATE_HOUR;
  bool year = least.year == greatest.year, month = year && least.month == greatest.month;
  if (!year) parts |= EP_DATE_YEAR;
  if (!month) parts |= EP_DATE_MONTH;
  if (least.days != greatest.days) parts |= EP_DATE_DAY | EP_DATE_WEEKDAY;
  return parts;
}

/* What the cells are taken for: the description has the types that the spec sets (retype.h). */
static ep_column_as type_of(const ep_column *column, const ep_column_rule *rule) {
  static const ep_column_as own[EP_COLUMN_TYPES] = {
      [EP_COLUMN_NUMBER] = EP_COLUMN_AS_NUMBER,
      [EP_COLUMN_CATEGORY] = EP_COLUMN_AS_CATEGORY,
      [EP_COLUMN_DATE] = EP_COLUMN_AS_DATE,
      [EP_COLUMN_TEXT] = EP_COLUMN_AS_IGNORE,
  };
  bool number = column->type == EP_COLUMN_NUMBER || column->type == EP_COLUMN_DATE;
  if (rule->type == EP_COLUMN_AS_IGNORE) return rule->type;
  if (number && (rule->type == EP_COLUMN_AS_DATE || rule->type == EP_COLUMN_AS_NUMBER))
    return rule->type;
  return own[column->type];
}

/* From fewer rows of a word its vector would be learnt by heart (ggplot2's midwest: 437 rows of 320
 * counties). */
enum { EMBEDDED_ROWS = 5 };

/* rows: of cells that are there. */
static ep_encode category_choose(const ep_column *column, const ep_column_rule *rule,
                                 int64_t rows) {
  static const ep_encode chosen[] = {[EP_CATEGORY_ONE_HOT] = EP_ENCODE_ONE_HOT,
                                     [EP_CATEGORY_EMBEDDING] = EP_ENCODE_EMBEDDING,
                                     [EP_CATEGORY_ORDINAL] = EP_ENCODE_ORDINAL,
                                     [EP_CATEGORY_HASH] = EP_ENCODE_HASH};
  if (rule->encode != EP_CATEGORY_AUTO) return chosen[rule->encode];
  bool often = column->value || rows / column->words.count >= EMBEDDED_ROWS;
  return column->words.count > EP_LIMIT_ONE_HOT && often ? EP_ENCODE_EMBEDDING : EP_ENCODE_ONE_HOT;
}

static ep_status category_plan(const ep_column *column, const ep_column_rule *rule, int64_t rows,
                               ep_column_encoding *out, ep_error *error) {
  int64_t count = column->words.count;
  out->encode = category_choose(column, rule, rows - column->missing);
  bool ordinal = out->encode == EP_ENCODE_ORDINAL, one_hot = out->encode == EP_ENCODE_ONE_HOT;
  if (rule->has_value ||
      (rule->missing != EP_FILL_AUTO && rule->missing != EP_FILL_MOST_FREQUENT && !out->required))
    return ep_column_rule_fail(
        rule, "missing", error,
        "a category has no such value: use \"most_frequent\" or \"drop_row\"");
  if (ordinal) out->missing = EP_FILL_MOST_FREQUENT;
  bool apart = out->encode == EP_ENCODE_EMBEDDING && rule->missing == EP_FILL_AUTO;
  if (!ordinal && !apart) out->indicator = rule->indicator == 1;
  out->buckets = rule->buckets;
  out->min_count = rule->min_count;
  out->unknown_fails = rule->unknown == EP_UNKNOWN_WORD_ERROR;
  if (out->unknown_fails && one_hot && count > EP_LIMIT_ONE_HOT)
    return ep_column_rule_fail(rule, "unknown", error,
                               "one_hot supports %d words, and the column has %lld: \"encode\": "
                               "\"embedding\" supports all of them",
                               EP_LIMIT_ONE_HOT, (long long)count);
  if (one_hot && column->value && count > EP_LIMIT_ONE_HOT)
    return ep_column_rule_fail(
        rule, "encode", error,
        "one_hot supports the %d most frequent words, and the frequencies of the column's %lld "
        "numbers are unknown: use \"embedding\" or \"hash\"",
        EP_LIMIT_ONE_HOT, (long long)count);
  if (one_hot && count > EP_LIMIT_ONE_HOT) count = EP_LIMIT_ONE_HOT;
  if (ep_words_copy(&column->words, count, &out->words))
    out->trained = calloc((size_t)out->words.count + 1, sizeof *out->trained);
  if (!out->trained) return ep_fail_memory(error);
  if (column->value)
    out->type = EP_COLUMN_NUMBER; /* what its cells are */
  else
    out->compare = column->codes ? EP_WORD_CODE : column->boolean ? EP_WORD_BOOLEAN : EP_WORD_VALUE;
  return ep_column_words_index(out, error);
}

/* The words of a number or a date that are missing cells. */
static ep_status unread_list(const ep_column *column, ep_column_encoding *out, ep_error *error) {
  ep_words unread = column->missing_words;
  if (ep_column_is_retyped(column)) {
    unread = (ep_words){.word = calloc((size_t)column->words.count, sizeof *unread.word)};
    if (!unread.word) return ep_fail_memory(error);
    for (int64_t k = 0; k < column->words.count; k++)
      if (isnan(column->value[k])) unread.word[unread.count++] = column->words.word[k];
  }
  bool copied = ep_words_copy(&unread, unread.count, &out->words);
  if (ep_column_is_retyped(column)) free(unread.word);
  if (!copied) return ep_fail_memory(error);
  return unread.count > 0 ? ep_column_words_index(out, error) : EP_OK;
}

/* What puts the rows of a series together and in order is no feature, unless "features" has the
 * time. */
static bool is_order(const ep_data_spec *data, const char *name) {
  bool time = ep_text_equals(data->time, name) && !data->features.name;
  return data->window.length > 0 && (time || ep_text_equals(data->window.group, name));
}

static ep_status column_plan(const ep_column_matcher *matcher, const ep_column *column,
                             int64_t rows, ep_column_encoding *out, ep_error *error) {
  const ep_data_spec *data = matcher->data;
  const ep_column_rule *rule = ep_column_rule_find(matcher, out->name);
  if (!rule) rule = &no_rule;
  ep_column_as type = type_of(column, rule);
  out->type = column->type;
  out->form = column->form;
  memcpy(out->unit, column->unit, sizeof out->unit);
  out->scale = 1;
  out->range = (ep_column_range){column->min, column->max, NAN, column->integer};
  out->left_out = rule->type == EP_COLUMN_AS_IGNORE || !ep_column_chosen(matcher, out->name);
  if (out->left_out || type == EP_COLUMN_AS_IGNORE || is_constant(column, rows) ||
      ep_text_equals(data->group, out->name) || is_order(data, out->name))
    return EP_OK;
  out->scaling = rule->scale;
  out->missing = rule->missing;
  out->has_value = rule->has_value;
  out->fill = rule->value;
  out->required = rule->missing == EP_FILL_DROP_ROW;
  out->indicator = rule->indicator < 0 ? column->missing > 0 && !out->required : rule->indicator;
  if (type == EP_COLUMN_AS_CATEGORY && data->window.length > 0) {
    if (rule->encode == EP_CATEGORY_EMBEDDING)
      return ep_column_rule_fail(
          rule, "encode", error,
          "embeddings are not supported in windows: use \"one_hot\" or \"hash\"");
    rows = 0; /* too few for one */
  }
  if (type == EP_COLUMN_AS_CATEGORY) return category_plan(column, rule, rows, out, error);
  if (rule->encode != EP_CATEGORY_AUTO)
    return ep_column_rule_fail(rule, "encode", error, "requires a category, and the column is a %s",
                               ep_column_as_name((int)type));
  if (rule->min_count > 1 || rule->unknown != EP_UNKNOWN_WORD_OTHER)
    return ep_column_rule_fail(rule, rule->min_count > 1 ? "min_count" : "unknown", error,
                               "requires a category, and the column is a %s",
                               ep_column_as_name((int)type));
  out->encode = type == EP_COLUMN_AS_DATE ? EP_ENCODE_DATE : EP_ENCODE_NUMBER;
  if (type == EP_COLUMN_AS_DATE) out->date_parts = date_parts_find(column);
  return unread_list(column, out, error);
}

/* How a column's words became numbers, as a line. */
static ep_status note_add(const ep_column *column, const char *name, ep_encoding *out,
                          ep_error *error) {
  char *notes = NULL;
  if (!ep_column_is_retyped(column) || column->type == EP_COLUMN_CATEGORY) return EP_OK;
  if (asprintf(&notes, "%s%s%s: %s", out->notes ? out->notes : "", out->notes ? "\n" : "", name,
               column->note) < 0)
    return ep_fail_memory(error);
  free(out->notes);
  out->notes = notes;
  return EP_OK;
}

/* Whether the spec takes a target that holds dates for a number all the same. */
static bool is_seconds(const ep_data_spec *data, const char *target) {
  bool asked = data->task == EP_TASK_REGRESSION;
  for (int i = 0; i < data->columns_count && !asked; i++)
    asked = ep_text_equals(data->columns[i].name, target) &&
            data->columns[i].type == EP_COLUMN_AS_NUMBER;
  return asked;
}

static ep_status target_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                             ep_encoding *out, ep_error *error) {
  const ep_column *column = &table->column[target];
  ep_column_title(table, target, out->target);
  memcpy(out->target_unit, column->unit_form, sizeof out->target_unit);
  if (column->type == EP_COLUMN_TEXT)
    return ep_fail_at(error, EP_INVALID, "/data/target",
                      "the column \"%.100s\" is text with too many distinct values to predict",
                      out->target);
  if (column->type == EP_COLUMN_DATE && !is_seconds(data, out->target))
    return ep_fail_at(error, EP_INVALID, "/data/target",
                      "the column \"%.100s\" has dates, and a network predicts classes or a "
                      "number: predict the days from one date to another, or, with \"task\": "
                      "\"regression\", seconds since 1970",
                      out->target);
  bool words = column->type == EP_COLUMN_CATEGORY;
  const ep_words *classes = words ? &column->words : &ep_binary_numbers;
  bool swapped = ep_classes_are_swapped(data, classes);
  if ((words || swapped) && !ep_words_copy(classes, classes->count, &out->classes))
    return ep_fail_memory(error);
  if (swapped) ep_classes_swap(&out->classes);
  return note_add(column, out->target, out, error);
}

/* About what the encoding takes as JSON within JSON. */
static int64_t bytes_estimate(const ep_encoding *encoding) {
  enum { COLUMN_BYTES = 80, FIGURES_BYTES = 160, WORD_BYTES = 5 };
  int64_t bytes = 0;
  for (int64_t i = 0; i <= encoding->columns; i++) {
    bool classes = i == encoding->columns;
    const ep_words *words = classes ? &encoding->classes : &encoding->column[i].words;
    if (!classes) bytes += COLUMN_BYTES + (int64_t)strlen(encoding->column[i].name);
    if (!classes && encoding->column[i].encode != EP_ENCODE_NONE) bytes += FIGURES_BYTES;
    for (int64_t k = 0; k < words->count; k++)
      bytes += WORD_BYTES + (int64_t)strlen(words->word[k]);
  }
  return bytes;
}

static ep_status columns_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                              ep_encoding *out, ep_error *error) {
  ep_column_matcher matcher;
  ep_status status = ep_column_matcher_init(data, table, &matcher, error);
  for (int64_t i = 0; i < table->columns && status == EP_OK; i++) {
    if (i == target && data->window.length == 0) continue;
    ep_column_encoding *column = &out->column[out->columns++];
    ep_column_title(table, i, column->name);
    status = column_plan(&matcher, &table->column[i], table->rows, column, error);
    if (status == EP_OK && column->encode != EP_ENCODE_NONE)
      status = note_add(&table->column[i], column->name, out, error);
  }
  ep_column_matcher_deinit(&matcher);
  ep_encoding_place(out);
  if (status != EP_OK) return status;
  if (ep_encoding_names_order(out) != EP_OK) return ep_fail_memory(error);
  ep_encoding_order_set(out, data->time, data->window.group);
  if (out->features == 0)
    return ep_fail_at(
        error, EP_INVALID, data->features.name ? "/data/features" : "/data/dataset",
        "no columns to learn from: text, constant columns and excluded columns are not features");
  int64_t most = EP_LIMIT_FEATURES / (data->window.length > 0 ? data->window.length : 1);
  if (out->features > most)
    return ep_fail_at(
        error, EP_INVALID, data->window.length > 0 ? "/data/window/length" : "/data/columns",
        "%lld features per row: the limit is %lld", (long long)out->features, (long long)most);
  if (bytes_estimate(out) > EP_LIMIT_ENCODING_BYTES)
    return ep_fail_at(error, EP_INVALID, "/data/columns",
                      "the encoding of the columns with all their words takes more than %d MB in "
                      "the weights: exclude some columns",
                      EP_LIMIT_ENCODING_BYTES >> 20);
  return EP_OK;
}

ep_status ep_encoding_plan(const ep_data_spec *data, const ep_part *table, int64_t target,
                           ep_encoding *out, ep_error *error) {
  bool window = data->window.length > 0; /* of which the target is a column as any other */
  *out = (ep_encoding){0};
  if (window)
    out->window = (ep_encoding_window){
        .length = data->window.length, .horizon = data->window.horizon, .target = target};
  ep_status status = ep_column_rules_check(data, table, window ? -1 : target, error);
  if (status != EP_OK) return status;
  out->column = calloc((size_t)table->columns, sizeof *out->column);
  if (!out->column) return ep_fail_memory(error);
  status = target_plan(data, table, target, out, error);
  if (status == EP_OK) status = columns_plan(data, table, target, out, error);
  if (status != EP_OK) ep_encoding_deinit(out);
  return status;
}
