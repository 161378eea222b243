#include "engine/data/datasets/column_json.h"

#include "engine/data/cells/date.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/memory.h"

bool ep_json_set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

/* Gives `value` back where it is complete; else frees it. */
static json_t *json_if(bool complete, json_t *value) {
  if (complete) return value;
  json_decref(value);
  return NULL;
}

json_t *ep_json_whole(json_t *array, int64_t count) {
  return json_if(array && json_array_size(array) == (size_t)count, array);
}

static json_t *words_stored(const ep_words *words) {
  json_t *array = json_array();
  for (int64_t i = 0; i < words->count; i++)
    json_array_append_new(array, json_pack("[s, I]", words->word[i], (json_int_t)words->rows[i]));
  return ep_json_whole(array, words->count);
}

static json_t *values_stored(const ep_column *column) {
  json_t *array = json_array();
  for (int64_t i = 0; i < column->distinct; i++)
    json_array_append_new(array, json_real(column->value[i]));
  return ep_json_whole(array, column->distinct);
}

static bool range_set(json_t *object, const ep_column *column) {
  return ep_json_set(object, "min", json_real(column->min)) &&
         ep_json_set(object, "max", json_real(column->max)) &&
         ep_json_set(object, "integer", json_boolean(column->integer));
}

/* How the cells were read. */
static bool reading_set(json_t *object, const ep_column *column) {
  return (!column->codes || ep_json_set(object, "codes", json_true())) &&
         (!column->boolean || ep_json_set(object, "boolean", json_true())) &&
         (!column->note || ep_json_set(object, "note", json_string(column->note)));
}

static json_t *column_stored(const ep_column *column) {
  json_t *object = json_object();
  bool ok = object && (!column->name[0] || ep_json_set(object, "name", json_string(column->name)));
  if (ok && column->type != EP_COLUMN_NUMBER)
    ok = ep_json_set(object, "type", json_string(ep_column_type_name(column->type)));
  if (ok && column->form != EP_CELL_NUMBER)
    ok = ep_json_set(object, "form", json_string(ep_cell_kind_name(column->form)));
  if (ok && column->unit[0]) ok = ep_json_set(object, "unit", json_string(column->unit_form));
  ok = ok && range_set(object, column);
  if (ok && column->missing > 0) ok = ep_json_set(object, "missing", json_integer(column->missing));
  if (ok && column->distinct > 0)
    ok = ep_json_set(object, "distinct", json_integer(column->distinct));
  if (ok && column->words.count > 0)
    ok = ep_json_set(object, "words", words_stored(&column->words));
  if (ok && column->missing_words.count > 0)
    ok = ep_json_set(object, "missing_words", words_stored(&column->missing_words));
  if (ok && column->value) ok = ep_json_set(object, "values", values_stored(column));
  return json_if(ok && reading_set(object, column), object);
}

int64_t ep_words_fit(const ep_words *words, size_t *left_bytes) {
  enum { FRAME_BYTES = 32 }; /* of JSON around a word */
  int64_t count = 0;
  for (; count < words->count && count < EP_LIMIT_SHOWN_WORDS; count++) {
    size_t bytes = strlen(words->word[count]) + FRAME_BYTES;
    if (bytes > *left_bytes) break;
    *left_bytes -= bytes;
  }
  return count;
}

static json_t *words_shown(const ep_words *words, size_t *left_bytes) {
  json_t *array = json_array();
  int64_t count = ep_words_fit(words, left_bytes);
  for (int64_t i = 0; i < count; i++)
    json_array_append_new(array, json_pack("{s:s, s:I}", "value", words->word[i], "count",
                                           (json_int_t)words->rows[i]));
  return ep_json_whole(array, count);
}

static json_t *column_shown(const ep_column *column, size_t *left_bytes) {
  json_t *object = json_object();
  json_t *name = column->name[0] ? json_string(column->name) : json_null();
  json_t *distinct = column->distinct > 0 ? json_integer(column->distinct) : json_null();
  bool ok = ep_json_set(object, "name", name);
  ok = ep_json_set(object, "distinct", distinct) && ok;
  ok = ok && ep_json_set(object, "type", json_string(ep_column_type_name(column->type))) &&
       ep_json_set(object, "missing", json_integer(column->missing)) && range_set(object, column);
  if (ok && column->form != EP_CELL_NUMBER && column->type != EP_COLUMN_CATEGORY)
    ok = ep_json_set(object, "form", json_string(ep_cell_kind_name(column->form)));
  if (ok && column->unit[0]) ok = ep_json_set(object, "unit", json_string(column->unit));
  if (ok && column->type == EP_COLUMN_CATEGORY)
    ok = ep_json_set(object, "categories", words_shown(&column->words, left_bytes));
  return json_if(ok && reading_set(object, column), object);
}

json_t *ep_date_json(ep_cell_kind form, double seconds) {
  char text[EP_DATE_TEXT_BYTES];
  bool formed = ep_date_format(form == EP_CELL_TIME, seconds, text);
  return formed ? json_string(text) : json_real(seconds);
}

void ep_columns_json_write(ep_writer *out, const char *key, const ep_part *part, bool stored) {
  size_t left_bytes = EP_LIMIT_SHOWN_WORDS_BYTES;
  const size_t flags = JSON_COMPACT | (stored ? 0 : JSON_REAL_PRECISION(15));
  ep_writer_member_open(out, key, '[');
  for (int64_t i = 0; !out->failed && i < part->columns; i++) {
    json_t *object =
        stored ? column_stored(&part->column[i]) : column_shown(&part->column[i], &left_bytes);
    char *text = ep_json_write(object, flags);
    if (!text) out->failed = true;
    ep_writer_raw(out, text);
    free(text);
    json_decref(object);
  }
  ep_writer_close(out, ']');
}

static bool words_parse(const json_t *array, ep_words *out, bool *no_memory) {
  size_t count = json_array_size(array);
  if (count < 1 || count > EP_LIMIT_CATEGORIES) return false;
  *no_memory = !ep_words_init(out, (int64_t)count);
  for (size_t i = 0; !*no_memory && i < count; i++) {
    const json_t *pair = json_array_get(array, i);
    const char *word = json_string_value(json_array_get(pair, 0));
    out->rows[i] = json_integer_value(json_array_get(pair, 1));
    if (!word || strlen(word) > EP_LIMIT_WORD_BYTES || out->rows[i] < 1) return false;
    out->word[i] = strdup(word);
    *no_memory = !out->word[i];
  }
  return !*no_memory;
}

/* As many as are distinct, ascending. */
static bool values_parse(const json_t *array, ep_column *out, bool *no_memory) {
  size_t count = json_array_size(array);
  if (out->type != EP_COLUMN_NUMBER || count < 1 || count > EP_LIMIT_COLUMN_VALUES ||
      (int64_t)count != out->distinct)
    return false;
  out->value = malloc(count * sizeof *out->value);
  *no_memory = !out->value;
  for (size_t i = 0; !*no_memory && i < count; i++) {
    const json_t *value = json_array_get(array, i);
    out->value[i] = json_number_value(value);
    if (!json_is_number(value) || (i > 0 && !(out->value[i] > out->value[i - 1]))) return false;
  }
  return !*no_memory;
}

bool ep_column_parse(const json_t *object, ep_column *out, bool *no_memory) {
  const char *name = "", *type = ep_column_type_name(EP_COLUMN_NUMBER),
             *form = ep_cell_kind_name(EP_CELL_NUMBER), *unit = "", *note = NULL;
  json_t *min, *max, *words = NULL, *values = NULL, *missing_words = NULL;
  char unit_form[EP_UNIT_FORM_BYTES] = "", unit_sign[EP_UNIT_BYTES] = "";
  json_int_t missing = 0, distinct = 0;
  int integer, codes = 0, boolean = 0;
  if (json_unpack((json_t *)object,
                  "{s?s, s:o, s:o, s:b, s?s, s?s, s?s, s?I, s?I, s?o, s?b, s?b, s?s, s?o, s?o}",
                  "name", &name, "min", &min, "max", &max, "integer", &integer, "type", &type,
                  "form", &form, "unit", &unit, "missing", &missing, "distinct", &distinct, "words",
                  &words, "codes", &codes, "boolean", &boolean, "note", &note, "values", &values,
                  "missing_words", &missing_words) != 0)
    return false;
  int known = ep_column_type_from_name(type), written = ep_cell_kind_from_name(form);
  if (written < 0 || !json_is_number(min) || !json_is_number(max) ||
      strlen(name) > EP_LIMIT_NAME_BYTES || known < 0 || missing < 0 || distinct < 0 ||
      (known == EP_COLUMN_CATEGORY) != (words != NULL) ||
      (unit[0] && !ep_unit_form_parse(unit, unit_form, unit_sign)))
    return false;
  memcpy(out->name, name, strlen(name) + 1);
  out->type = (ep_column_type)known;
  out->form = (ep_cell_kind)written;
  memcpy(out->unit, unit_sign, sizeof out->unit);
  memcpy(out->unit_form, unit_form, sizeof out->unit_form);
  out->min = json_number_value(min);
  out->max = json_number_value(max);
  out->integer = integer;
  out->missing = missing;
  out->distinct = distinct;
  out->codes = codes;
  out->boolean = boolean;
  if (note) *no_memory = !(out->note = strdup(note));
  return !*no_memory && (!words || words_parse(words, &out->words, no_memory)) &&
         (!missing_words || words_parse(missing_words, &out->missing_words, no_memory)) &&
         (!values || values_parse(values, out, no_memory));
}

static int64_t faults_kept(const ep_dataset_meta *meta) {
  return meta->faults < EP_LIMIT_PROBLEM_ERRORS ? meta->faults : EP_LIMIT_PROBLEM_ERRORS;
}

json_t *ep_faults_json(const ep_dataset_meta *meta) {
  json_t *cells = json_array();
  for (int64_t i = 0; i < faults_kept(meta); i++) {
    const ep_cell_fault *fault = &meta->fault[i];
    json_array_append_new(cells,
                          json_pack("{s:I, s:I, s:s}", "row", (json_int_t)fault->row, "column",
                                    (json_int_t)fault->column, "value", fault->text));
  }
  cells = ep_json_whole(cells, faults_kept(meta));
  return cells ? json_pack("{s:I, s:o}", "count", (json_int_t)meta->faults, "cells", cells) : NULL;
}

bool ep_faults_parse(const json_t *object, ep_dataset_meta *out) {
  json_int_t count;
  json_t *cells;
  if (!object) return true;
  if (json_unpack((json_t *)object, "{s:I, s:o}", "count", &count, "cells", &cells) != 0 ||
      count < 1)
    return false;
  out->faults = count;
  if (json_array_size(cells) != (size_t)faults_kept(out)) return false;
  for (int64_t i = 0; i < faults_kept(out); i++) {
    json_int_t row, column;
    const char *text;
    if (json_unpack(json_array_get(cells, (size_t)i), "{s:I, s:I, s:s}", "row", &row, "column",
                    &column, "value", &text) != 0 ||
        strlen(text) >= EP_EXCERPT_BYTES)
      return false;
    out->fault[i] = (ep_cell_fault){.row = row, .column = column};
    memcpy(out->fault[i].text, text, strlen(text) + 1);
  }
  return true;
}
