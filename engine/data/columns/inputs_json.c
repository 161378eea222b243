#include "engine/data/columns/inputs_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/data/columns/column_value.h"
#include "engine/data/datasets/column_json.h"

enum { DAY_SECONDS = 86400 };

static bool is_whole(double value, double of) {
  return fmod(value, of) == 0;
}

/* Four digits, as people would write it. */
static double rounded(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", value);
  return strtod(text, NULL);
}

static json_t *number_json(double value) {
  const double exact = 9007199254740992.0; /* 2^53: integers up to it are */
  if (!isfinite(value)) return json_null();
  return value == floor(value) && fabs(value) <= exact ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

static json_t *typical_json(const ep_column_encoding *column) {
  const ep_column_range *range = &column->range;
  double value = isfinite(column->fill) ? column->fill : range->typical;
  if (ep_column_is_category(column)) {
    int64_t word = isfinite(column->fill) ? ep_column_word(column, column->fill) : 0;
    if (word < 0 || word >= column->words.count) return json_null();
    return column->value ? number_json(column->value[word]) : json_string(column->words.word[word]);
  }
  if (!isfinite(value)) value = (range->min + range->max) / 2;
  if (!isfinite(value)) return json_null();
  if (column->type != EP_COLUMN_DATE)
    return number_json(range->integer ? round(value) : rounded(value));
  bool days = is_whole(range->min, DAY_SECONDS) && is_whole(range->max, DAY_SECONDS);
  return ep_date_json(column->form, days ? floor(value / DAY_SECONDS) * DAY_SECONDS : floor(value));
}

static json_t *words_json(const ep_words *words, size_t *left_bytes) {
  json_t *array = json_array();
  int64_t count = ep_words_fit(words, left_bytes);
  for (int64_t i = 0; i < count; i++)
    json_array_append_new(array, json_pack("{s:s}", "value", words->word[i]));
  return ep_json_whole(array, count);
}

static bool category_set(json_t *object, const ep_column_encoding *column, size_t *left_bytes) {
  bool cut = column->encode == EP_ENCODE_ONE_HOT && column->words.count == EP_LIMIT_ONE_HOT;
  return ep_json_set(object, "distinct", cut ? json_null() : json_integer(column->words.count)) &&
         ep_json_set(object, "categories", words_json(&column->words, left_bytes));
}

static bool range_set(json_t *object, const ep_column_encoding *column) {
  const ep_column_range *range = &column->range;
  return ep_json_set(object, "min", number_json(range->min)) &&
         ep_json_set(object, "max", number_json(range->max)) &&
         ep_json_set(object, "integer", json_boolean(range->integer)) &&
         (column->form == EP_CELL_NUMBER ||
          ep_json_set(object, "form", json_string(ep_cell_kind_name(column->form)))) &&
         (!column->unit[0] || ep_json_set(object, "unit", json_string(column->unit)));
}

static json_t *column_json(const ep_column_encoding *column, size_t *left_bytes) {
  bool used = column->encode != EP_ENCODE_NONE, category = ep_column_is_category(column);
  json_t *object = json_pack("{s:s, s:b, s:s}", "name", column->name, "used", used, "type",
                             ep_column_type_name(column->type));
  bool ok = object && (!category || category_set(object, column, left_bytes));
  if (ok && used && !category) ok = range_set(object, column);
  if (ok && used) ok = ep_json_set(object, "typical", typical_json(column));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

json_t *ep_encoding_inputs_json(const ep_encoding *encoding) {
  size_t left_bytes = EP_LIMIT_SHOWN_WORDS_BYTES;
  json_t *array = json_array();
  for (int64_t i = 0; i < encoding->columns; i++)
    json_array_append_new(array, column_json(&encoding->column[i], &left_bytes));
  return ep_json_whole(array, encoding->columns);
}
