#include "engine/data/columns/named_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/json.h"
#include "api/json/nearest.h"
#include "api/json/number.h"
#include "engine/data/cells/unicode.h"
#include "engine/data/cells/unit.h"
#include "engine/data/columns/column_value.h"
#include "engine/files/excerpt.h"

enum { NAMES_COMPARED = 256 }; /* for the nearest one */

/* Where by_name has the first column that is not before these names; after: that is behind them.
 * name: NULL: whatever it is. */
static int64_t bound_find(const ep_encoding *encoding, const char *composed, const char *name,
                          bool after) {
  int64_t first = 0, end = encoding->columns;
  while (first < end) {
    int64_t middle = (first + end) / 2;
    const ep_column_encoding *column = &encoding->column[encoding->by_name[middle]];
    int order = strcmp(ep_column_composed_name(column), composed);
    if (order == 0 && name) order = strcmp(column->name, name);
    if (order < 0 || (after && order == 0))
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

enum { COMPOSED_BYTES = 3 * EP_LIMIT_NAME_BYTES + 1 }; /* NFC takes at most three times the bytes */

/* EP_TOO_LARGE: longer than any column's; EP_NO_MEMORY. */
static ep_status name_compose(const char *name, char out[COMPOSED_BYTES]) {
  size_t bytes = strlen(name);
  char *owned;
  ep_status status = ep_text_nfc(&name, &bytes, &owned) ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK && bytes >= COMPOSED_BYTES) status = EP_TOO_LARGE;
  if (status == EP_OK) memcpy(out, name, bytes);
  if (status == EP_OK) out[bytes] = 0;
  free(owned);
  return status;
}

ep_status ep_encoding_name_find(const ep_encoding *encoding, const char *name, int64_t *at) {
  char composed[COMPOSED_BYTES];
  *at = -1;
  ep_status status = name_compose(name, composed);
  if (status != EP_OK) return status == EP_TOO_LARGE ? EP_OK : status;
  int64_t exact = bound_find(encoding, composed, name, false);
  int64_t first = bound_find(encoding, composed, NULL, false);
  int64_t end = bound_find(encoding, composed, NULL, true);
  if (exact < end && strcmp(encoding->column[encoding->by_name[exact]].name, name) == 0)
    *at = exact;
  else if (first < end && ep_encoding_name_is(encoding, end - 1, first))
    *at = first;
  return EP_OK;
}

bool ep_encoding_name_is(const ep_encoding *encoding, int64_t at, int64_t first) {
  return at < encoding->columns && strcmp(encoding->column[encoding->by_name[at]].name,
                                          encoding->column[encoding->by_name[first]].name) == 0;
}

ep_status ep_encoding_is_target(const ep_encoding *encoding, const char *name, bool *out) {
  char composed[COMPOSED_BYTES], target[COMPOSED_BYTES];
  ep_status status = name_compose(name, composed);
  if (status == EP_OK) status = name_compose(encoding->target, target);
  *out = status == EP_OK && strcmp(composed, target) == 0;
  return status == EP_TOO_LARGE ? EP_OK : status;
}

int64_t ep_encoding_column_find(const ep_encoding *encoding, const char *name) {
  int64_t at;
  bool found = ep_encoding_name_find(encoding, name, &at) == EP_OK && at >= 0;
  return found ? encoding->by_name[at] : -1;
}

void ep_encoding_order_set(ep_encoding *encoding, const char *time, const char *group) {
  encoding->window.time = time[0] ? ep_encoding_column_find(encoding, time) : -1;
  encoding->window.group = group[0] ? ep_encoding_column_find(encoding, group) : -1;
}

void ep_encoding_unknown_refuse(ep_field_reader *reader, const ep_encoding *encoding,
                                const char *name) {
  const char *names[NAMES_COMPARED];
  int count = 0;
  /* of a fault that has no room, nobody reads the nearest name, and a text has 65,536 of them */
  if (reader->problem->errors_count < EP_LIMIT_PROBLEM_ERRORS)
    for (int64_t i = 0; i < encoding->columns && count < NAMES_COMPARED; i++)
      names[count++] = encoding->column[i].name;
  const char *nearest = ep_nearest_name(name, names, count);
  size_t place = ep_field_reader_enter(reader, name);
  ep_field_reader_fail(reader, "the model was trained without a column \"%.100s\"%s%.100s%s", name,
                       nearest ? ": did you mean \"" : "", nearest ? nearest : "",
                       nearest ? "\"?" : "");
  ep_field_reader_leave(reader, place);
}

/* The column that a member means, the first of its name; -1: the target; -2: nothing that the model
 * knows, or another member means the same, by its own name or before. next: the column that may
 * well be meant, as objects have their members in order. */
static ep_status member_find(const ep_encoding *encoding, const json_t *object, const char *name,
                             const json_t *const *values, int64_t next, int64_t *out) {
  const ep_column_encoding *column = encoding->column;
  bool target = false;
  int64_t at;
  *out = next;
  if (next < encoding->columns && !column[next].again && strcmp(column[next].name, name) == 0)
    return EP_OK;
  ep_status status = ep_encoding_name_find(encoding, name, &at);
  if (status == EP_OK && at < 0) status = ep_encoding_is_target(encoding, name, &target);
  *out = at >= 0 ? encoding->by_name[at] : target ? -1 : -2;
  if (status != EP_OK || *out < -1) return status;
  const char *own = target ? encoding->target : column[*out].name;
  bool taken = json_object_get(object, own) || (!target && values[*out]);
  if (strcmp(own, name) != 0 && taken) *out = -2;
  return EP_OK;
}

/* values: [columns], NULL, written: of each name that a column has, at the first one. */
static void members_find(ep_field_reader *reader, const ep_encoding *encoding, const json_t *object,
                         const json_t **values) {
  const char *key;
  json_t *value;
  int64_t next = 0, found;
  json_object_foreach((json_t *)object, key, value) {
    if (member_find(encoding, object, key, values, next, &found) != EP_OK) {
      ep_field_reader_fail_memory(reader);
      return;
    }
    if (found < -1) ep_encoding_unknown_refuse(reader, encoding, key);
    if (reader->problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) return;
    if (found < 0) continue;
    values[found] = value;
    next = found + 1;
  }
}

/* Two features of one name, of which an object has one value: it is not given to both. */
static void alike_refuse(ep_field_reader *reader, const ep_encoding *encoding) {
  for (int64_t i = 0; i < encoding->columns; i++) {
    const char *name = encoding->column[i].name;
    if (!encoding->column[i].again || encoding->column[i].encode == EP_ENCODE_NONE ||
        encoding->column[ep_encoding_column_find(encoding, name)].encode == EP_ENCODE_NONE)
      continue;
    size_t place = ep_field_reader_enter(reader, name);
    ep_field_reader_fail(reader,
                         "two columns of the table are named \"%.100s\", and an object can have "
                         "only one: predict from a CSV, or rename one in the data",
                         name);
    ep_field_reader_leave(reader, place);
    return;
  }
}

/* Whether nothing stands for a gap: the column of a table that is not encoded, or one whose gaps
 * took rows away. */
static bool is_needed(const ep_column_encoding *column) {
  return column->required || (column->encode == EP_ENCODE_NUMBER && isnan(column->fill));
}

/* A word, by its text. */
static ep_cell_outcome word_find(const ep_column_encoding *column, const char *text, size_t bytes,
                                 double *cell) {
  int64_t word;
  if (ep_word_index_find(&column->index, text, bytes, &word) != EP_OK) return EP_CELL_NO_MEMORY;
  *cell = ep_column_word_cell(column, word);
  if (word < 0 && column->unknown_fails) return EP_CELL_REFUSED;
  return word < 0 || !column->trained[word] ? EP_CELL_OTHER_WORD : EP_CELL_TAKEN;
}

/* By the dialect's marks, or, of a model that is older than dialects, by the form of its column;
 * with the sign of the column or without. */
static bool number_read(const ep_column_encoding *column, const ep_dialect *dialect,
                        const char *text, size_t bytes, double *value) {
  ep_cell_marks marks = {dialect->decimal, dialect->thousands};
  if (!ep_dialect_has(dialect, EP_DIALECT_DECIMAL))
    marks =
        ep_cell_kind_marks(ep_cell_kind_is_number(column->form) ? column->form : EP_CELL_NUMBER);
  return ep_unit_number_read(marks, column->unit, text, bytes, value) ||
         (column->form == EP_CELL_DURATION && ep_cell_read(EP_CELL_DURATION, text, bytes, value));
}

static bool is_of_figures(ep_cell_kind form) {
  return form == EP_CELL_DAY_FIRST || form == EP_CELL_MONTH_FIRST;
}

/* Days and months in figures, which mean one date: 31/12/2024. */
static bool clear_date_read(const char *text, size_t bytes, double *value) {
  double day_first, month_first;
  bool day = ep_cell_read(EP_CELL_DAY_FIRST, text, bytes, &day_first),
       month = ep_cell_read(EP_CELL_MONTH_FIRST, text, bytes, &month_first);
  if ((!day && !month) || (day && month && day_first != month_first)) return false;
  *value = day ? day_first : month_first;
  return true;
}

/* In any form that has one meaning: days and months in the order that the request gives, or else
 * that of the column. No date is a time of day. */
static bool date_read(const ep_column_encoding *column, const ep_dialect *dialect, const char *text,
                      size_t bytes, double *value) {
  ep_cell_kind form = column->form;
  bool given = ep_dialect_has(dialect, EP_DIALECT_DATES);
  if (form == EP_CELL_TIME) return ep_cell_read(form, text, bytes, value);
  if (given) form = ep_dialect_date_kind(dialect);
  return ep_cell_read(EP_CELL_ISO_DATE, text, bytes, value) ||
         ep_cell_read(EP_CELL_MONTH_NAME, text, bytes, value) ||
         (is_of_figures(form) ? ep_cell_read(form, text, bytes, value)
                              : clear_date_read(text, bytes, value));
}

static bool value_read(const ep_column_encoding *column, const ep_dialect *dialect,
                       const char *text, size_t bytes, bool number, double *value) {
  bool read = number                           ? ep_cell_number_read('.', 0, text, bytes, value)
              : column->type == EP_COLUMN_DATE ? date_read(column, dialect, text, bytes, value)
                                               : number_read(column, dialect, text, bytes, value);
  return read && isfinite(*value);
}

/* A cell of numbers that are a category: by its value, whatever the form. */
static ep_cell_outcome number_word_find(const ep_column_encoding *column, const ep_dialect *dialect,
                                        const char *text, size_t bytes, bool number, double *cell) {
  char written[EP_NUMBER_BYTES];
  double value;
  if (!value_read(column, dialect, text, bytes, number, &value))
    return word_find(column, text, bytes, cell);
  return word_find(column, written, ep_number_format(value, written), cell);
}

/* Of a cell that stands for nothing. */
static ep_cell_outcome missing_outcome(const ep_column_encoding *column) {
  return is_needed(column) ? EP_CELL_NEEDED : EP_CELL_TAKEN; /* it stays NaN */
}

/* A word of the column may be one that stands for a missing cell elsewhere. A number that is none
 * of the codes was meant as one: its zeros in front may be gone. */
static ep_cell_outcome category_read(const ep_column_encoding *column, const ep_dialect *dialect,
                                     const char *text, size_t bytes, bool number, double *cell) {
  double found = NAN;
  ep_cell_outcome outcome = column->value
                                ? number_word_find(column, dialect, text, bytes, number, &found)
                                : word_find(column, text, bytes, &found);
  bool known = outcome == EP_CELL_TAKEN;
  if (!known && outcome != EP_CELL_NO_MEMORY && ep_dialect_is_missing(dialect, text, bytes))
    return missing_outcome(column);
  *cell = found;
  bool code = column->compare == EP_WORD_CODE && number;
  return outcome == EP_CELL_OTHER_WORD && code ? EP_CELL_REFUSED : outcome;
}

ep_cell_outcome ep_encoding_text_read(const ep_column_encoding *column, const ep_dialect *dialect,
                                      const char *text, size_t bytes, bool number, double *cell) {
  int64_t word;
  double value;
  text = ep_cell_trim(text, &bytes);
  if (ep_column_is_category(column))
    return category_read(column, dialect, text, bytes, number, cell);
  if (ep_dialect_is_missing(dialect, text, bytes)) return missing_outcome(column);
  if (value_read(column, dialect, text, bytes, number, &value)) {
    *cell = value;
    return EP_CELL_TAKEN;
  }
  if (ep_word_index_find(&column->index, text, bytes, &word) != EP_OK) return EP_CELL_NO_MEMORY;
  return word >= 0 ? missing_outcome(column) : EP_CELL_REFUSED;
}

bool ep_encoding_reads(const ep_encoding *encoding, int64_t column) {
  const ep_encoding_window *window = &encoding->window;
  bool orders = window->series && (column == window->time || column == window->group);
  return orders || encoding->column[column].encode != EP_ENCODE_NONE;
}

ep_cell_outcome ep_encoding_cell_read(const ep_encoding *encoding, int64_t column,
                                      const ep_dialect *dialect, const char *text, size_t bytes,
                                      bool number, double *cell) {
  const ep_encoding_window *window = &encoding->window;
  if (!window->series || column != window->group)
    return ep_encoding_text_read(&encoding->column[column], dialect, text, bytes, number, cell);
  text = ep_cell_trim(text, &bytes);
  if (ep_dialect_is_missing(dialect, text, bytes)) return EP_CELL_TAKEN;
  const ep_word_entry *word = ep_word_set_add(window->series, text, bytes, NULL);
  if (word) *cell = word->number;
  return word ? EP_CELL_TAKEN : EP_CELL_NO_MEMORY;
}

/* The text that a table may have for a JSON value; NULL: there is none. */
static const char *value_text(const json_t *value, char number[EP_NUMBER_BYTES]) {
  if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
  if (!json_is_number(value)) return json_string_value(value);
  if (json_is_integer(value))
    ep_integer_format(json_integer_value(value), number);
  else
    ep_number_format(json_real_value(value), number);
  return number;
}

static ep_cell_outcome cell_read(const ep_encoding *encoding, int64_t index, const json_t *value,
                                 double *cell) {
  const ep_column_encoding *column = &encoding->column[index];
  char number[EP_NUMBER_BYTES];
  const char *text = value_text(value, number);
  bool boolean = json_is_boolean(value) && !ep_column_is_category(column);
  *cell = NAN;
  if (json_is_null(value)) return is_needed(column) ? EP_CELL_REFUSED : EP_CELL_TAKEN;
  if (!text || boolean) return EP_CELL_REFUSED;
  return ep_encoding_cell_read(encoding, index, &encoding->dialect, text, strlen(text),
                               json_is_number(value), cell);
}

enum { FORM_BYTES = 128 };

static const char *cell_form(const ep_column_encoding *column, char out[FORM_BYTES]) {
  const char *form = "a number";
  if (ep_column_is_category(column))
    form = column->unknown_fails ? "a word of the data" : "a word";
  else if (column->type == EP_COLUMN_DATE && column->form == EP_CELL_TIME)
    form = "a time of day (\"13:45\", \"13:45:00\") or seconds since midnight";
  else if (column->type == EP_COLUMN_DATE)
    form = "a date (\"2024-02-29\", \"2024-02-29T13:45:00\") or seconds since 1970";
  snprintf(out, FORM_BYTES, "%s%s%s", form, column->unit[0] ? ", with or without " : "",
           column->unit);
  return out;
}

static int64_t words_trained(const ep_column_encoding *column) {
  int64_t count = 0;
  for (int64_t k = 0; k < column->words.count; k++) count += column->trained[k];
  return count;
}

static void other_word_warn(ep_field_reader *reader, const ep_column_encoding *column,
                            const char *text, size_t bytes) {
  char shown[EP_EXCERPT_BYTES];
  ep_excerpt(shown, text, bytes);
  /* of a warning that has no room, nobody reads the count, and there may be millions */
  if (!reader->warnings || reader->warnings->listed == EP_LIMIT_PROBLEM_ERRORS)
    ep_field_reader_warn(reader, "%s", "");
  else
    ep_field_reader_warn(reader,
                         "\"%s\" is not one of the %lld words of \"%.100s\" that the model knows: "
                         "it counts as %s",
                         shown, (long long)words_trained(column), column->name,
                         column->encode == EP_ENCODE_ORDINAL ? "a missing cell" : "another word");
}

static bool code_refuse(ep_field_reader *reader, const ep_column_encoding *column, bool number) {
  if (!number || !ep_column_is_category(column) || column->compare != EP_WORD_CODE) return false;
  ep_field_reader_fail(
      reader,
      "the column has codes, which are compared as text: write it in quotes, such as \"%.100s\"",
      column->words.word[0]);
  return true;
}

/* What a date in figures needs to be read. */
static const char *order_hint(const ep_column_encoding *column, const char *text, size_t bytes) {
  double value;
  bool date = column->type == EP_COLUMN_DATE && column->form != EP_CELL_TIME;
  bool figures = date && (ep_cell_read(EP_CELL_DAY_FIRST, text, bytes, &value) ||
                          ep_cell_read(EP_CELL_MONTH_FIRST, text, bytes, &value));
  return figures ? ": choose ?dates=day_first or ?dates=month_first" : "";
}

void ep_encoding_text_report(ep_field_reader *reader, ep_cell_outcome outcome,
                             const ep_column_encoding *column, const char *text, size_t bytes,
                             bool number) {
  char form[FORM_BYTES];
  if (outcome == EP_CELL_OTHER_WORD) other_word_warn(reader, column, text, bytes);
  if (outcome == EP_CELL_NO_MEMORY) ep_field_reader_fail_memory(reader);
  if (outcome == EP_CELL_NEEDED ||
      (outcome == EP_CELL_REFUSED && !code_refuse(reader, column, number)))
    ep_field_reader_fail(reader, "must be %s%s, not \"%.*s\"%s", cell_form(column, form),
                         is_needed(column) ? "" : " or empty", (int)(bytes < 100 ? bytes : 100),
                         text,
                         outcome == EP_CELL_NEEDED ? ", which stands for a missing cell"
                                                   : order_hint(column, text, bytes));
}

static void value_refuse(ep_field_reader *reader, const ep_column_encoding *column,
                         const json_t *value) {
  const char *text = json_string_value(value);
  char form[FORM_BYTES];
  if (!code_refuse(reader, column, json_is_number(value)))
    ep_field_reader_fail(reader, "must be %s%s, not %s%.100s%s", cell_form(column, form),
                         is_needed(column) ? "" : " or null", text ? "\"" : "",
                         text ? text : ep_json_type_name(value), text ? "\"" : "");
}

static void value_report(ep_field_reader *reader, ep_cell_outcome outcome,
                         const ep_column_encoding *column, const json_t *value) {
  char number[EP_NUMBER_BYTES];
  const char *text = value_text(value, number);
  if (outcome == EP_CELL_REFUSED)
    value_refuse(reader, column, value);
  else
    ep_encoding_text_report(reader, outcome, column, text, text ? strlen(text) : 0, false);
}

/* Reads the cells of all columns that are features. values: as members_find has them. */
static void cells_read(ep_field_reader *reader, const ep_encoding *encoding,
                       const json_t *const *values, double *cells) {
  bool twice = false; /* a member means two columns */
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    const json_t *value =
        values[column->again ? ep_encoding_column_find(encoding, column->name) : i];
    twice = twice || (value && column->again);
    cells[i] = NAN;
    if (!ep_encoding_reads(encoding, i) || (!value && column->encode == EP_ENCODE_NONE)) continue;
    ep_cell_outcome outcome = value ? cell_read(encoding, i, value, &cells[i]) : EP_CELL_REFUSED;
    if (outcome == EP_CELL_TAKEN) continue;
    size_t place = ep_field_reader_enter(reader, column->name);
    if (!value)
      ep_field_reader_fail(reader, "is required by the model; null marks a missing cell");
    else
      value_report(reader, outcome, column, value);
    ep_field_reader_leave(reader, place);
  }
  if (twice) alike_refuse(reader, encoding);
}

ep_status ep_encoding_cells_read(const ep_encoding *encoding, const json_t *object,
                                 const char *pointer, double *cells, ep_warnings *warnings,
                                 ep_problem *problem) {
  ep_field_reader reader = {.problem = problem, .warnings = warnings};
  snprintf(reader.pointer, sizeof reader.pointer, "%s", pointer);
  reader.length = strlen(reader.pointer);
  if (!json_is_object(object))
    ep_field_reader_fail(&reader, "must be an object of cells by their columns, not %s",
                         ep_json_type_name(object));
  if (reader.status != EP_OK) return reader.status;
  const json_t **values = calloc((size_t)encoding->columns + 1, sizeof *values);
  if (!values) return ep_problem_fail_memory(problem);
  members_find(&reader, encoding, object, values);
  cells_read(&reader, encoding, values, cells);
  free(values);
  return reader.status;
}
