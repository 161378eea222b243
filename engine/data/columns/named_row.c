#include "engine/data/columns/named_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/fields.h"
#include "api/json/json.h"
#include "api/json/nearest.h"
#include "api/json/number.h"
#include "engine/data/cells/unit.h"
#include "engine/data/columns/word_list.h"

enum { NAMES_COMPARED = 256 }; /* for the nearest one */

int64_t ep_encoding_name_find(const ep_encoding *encoding, const char *name) {
  int64_t first = 0, end = encoding->columns; /* of by_name: where it may be */
  while (first < end) {
    int64_t middle = (first + end) / 2;
    if (strcmp(encoding->column[encoding->by_name[middle]].name, name) < 0)
      first = middle + 1;
    else
      end = middle;
  }
  return ep_encoding_name_is(encoding, first, name) ? first : -1;
}

bool ep_encoding_name_is(const ep_encoding *encoding, int64_t at, const char *name) {
  return at < encoding->columns && strcmp(encoding->column[encoding->by_name[at]].name, name) == 0;
}

int64_t ep_encoding_column_find(const ep_encoding *encoding, const char *name) {
  int64_t at = ep_encoding_name_find(encoding, name);
  return at < 0 ? -1 : encoding->by_name[at];
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

static void unknown_find(ep_field_reader *reader, const ep_encoding *encoding,
                         const json_t *object) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    (void)value;
    if (strcmp(key, encoding->target) != 0 && ep_encoding_column_find(encoding, key) < 0)
      ep_encoding_unknown_refuse(reader, encoding, key);
    if (reader->problem->errors_count >= EP_LIMIT_PROBLEM_ERRORS) return;
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
                         "two columns of the table are called \"%.100s\", and an object has one: "
                         "send the rows as a table (text/csv), or rename one in the data",
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

/* A word, by its text. False where it is not known, and has to be. */
static bool word_find(const ep_column_encoding *column, const char *text, size_t bytes,
                      double *cell) {
  char word[EP_LIMIT_WORD_BYTES + 1];
  int64_t found = -1;
  if (bytes < sizeof word) {
    memcpy(word, text, bytes);
    word[bytes] = 0;
    found = ep_word_list_find(&column->words, word);
  }
  *cell = found < 0 ? column->base - 1 : column->base + (double)found;
  return found >= 0 || !column->unknown_fails;
}

/* By the dialect's marks, or, of a model that is older than dialects, by the form of its column;
 * with the sign of the column or without. */
static bool number_read(const ep_column_encoding *column, const ep_dialect *dialect,
                        const char *text, size_t bytes, double *value) {
  ep_cell_marks marks = {dialect->decimal, dialect->thousands};
  if (!ep_dialect_has(dialect, EP_DIALECT_DECIMAL))
    marks =
        ep_cell_kind_marks(ep_cell_kind_is_number(column->form) ? column->form : EP_CELL_NUMBER);
  return ep_cell_number_read(marks.decimal, marks.thousands, text, bytes, value) ||
         ep_unit_number_read(marks, column->unit, text, bytes, value);
}

/* As the column's were, or as ISO's; days and months in the dialect's order. */
static bool date_read(const ep_column_encoding *column, const ep_dialect *dialect, const char *text,
                      size_t bytes, double *value) {
  ep_cell_kind form = column->form;
  bool figures = form == EP_CELL_DAY_FIRST || form == EP_CELL_MONTH_FIRST;
  if (figures && ep_dialect_has(dialect, EP_DIALECT_DATES))
    form = dialect->dates == EP_DATES_DAY_FIRST ? EP_CELL_DAY_FIRST : EP_CELL_MONTH_FIRST;
  return ep_cell_read(form, text, bytes, value) ||
         ep_cell_read(EP_CELL_ISO_DATE, text, bytes, value) ||
         ep_cell_read(EP_CELL_TIME, text, bytes, value);
}

/* A word of the column may be one that stands for a missing cell elsewhere. */
bool ep_encoding_text_read(const ep_column_encoding *column, const ep_dialect *dialect,
                           const char *text, size_t bytes, double *cell) {
  text = ep_cell_trim(text, &bytes);
  bool category = ep_column_is_category(column);
  double word = NAN, value;
  bool known = category && bytes > 0 && word_find(column, text, bytes, &word);
  if (known && word >= column->base) {
    *cell = word;
    return true;
  }
  if (ep_dialect_is_missing(dialect, text, bytes)) return !is_needed(column); /* it stays NaN */
  if (category) *cell = word;
  if (category) return known;
  bool read = column->type == EP_COLUMN_DATE ? date_read(column, dialect, text, bytes, &value)
                                             : number_read(column, dialect, text, bytes, &value);
  if (read && isfinite(value)) *cell = value;
  return read && isfinite(value);
}

/* Words may be numbers and booleans: their text is what tables write. */
static bool cell_read(const ep_encoding *encoding, const ep_column_encoding *column,
                      const json_t *value, double *cell) {
  char number[EP_NUMBER_BYTES];
  const char *text = json_string_value(value);
  *cell = NAN;
  if (json_is_null(value)) return !is_needed(column);
  if (text) return ep_encoding_text_read(column, &encoding->dialect, text, strlen(text), cell);
  if (!ep_column_is_category(column)) {
    *cell = json_number_value(value);
    return json_is_number(value);
  }
  if (json_is_boolean(value)) text = json_is_true(value) ? "true" : "false";
  if (json_is_number(value)) {
    ep_number_format(json_number_value(value), number);
    text = number;
  }
  return text && word_find(column, text, strlen(text), cell);
}

enum { FORM_BYTES = 128 };

static const char *cell_form(const ep_column_encoding *column, char out[FORM_BYTES]) {
  const char *form = "a number";
  if (ep_column_is_category(column))
    form = column->unknown_fails ? "a word of the data" : "a word";
  else if (column->type == EP_COLUMN_DATE)
    form = "a date (\"2024-02-29\", \"2024-02-29T13:45:00\") or seconds since 1970";
  snprintf(out, FORM_BYTES, "%s%s%s", form, column->unit[0] ? ", with or without " : "",
           column->unit);
  return out;
}

void ep_encoding_text_refuse(ep_field_reader *reader, const ep_column_encoding *column,
                             const char *text, size_t bytes) {
  char form[FORM_BYTES];
  ep_field_reader_fail(reader, "must be %s%s, not \"%.*s\"", cell_form(column, form),
                       is_needed(column) ? "" : " or empty", (int)(bytes < 100 ? bytes : 100),
                       text);
}

static void cell_fail(ep_field_reader *reader, const ep_column_encoding *column,
                      const json_t *value) {
  const char *text = json_string_value(value);
  char form[FORM_BYTES];
  ep_field_reader_fail(reader, "must be %s%s, not %s%.100s%s", cell_form(column, form),
                       is_needed(column) ? "" : " or null", text ? "\"" : "",
                       text ? text : ep_json_type_name(value), text ? "\"" : "");
}

/* Reads the cells of all columns that are features; returns how many members of the object mean a
 * column of the table. twice: one of them means two; written. */
static size_t cells_read(ep_field_reader *reader, const ep_encoding *encoding, const json_t *object,
                         double *cells, bool *twice) {
  size_t known = json_object_get(object, encoding->target) &&
                 ep_encoding_column_find(encoding, encoding->target) < 0;
  *twice = false;
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    const json_t *value = json_object_get(object, column->name);
    known += value && !column->again;
    *twice = *twice || (value && column->again);
    cells[i] = NAN;
    if (column->encode == EP_ENCODE_NONE) continue;
    size_t place = ep_field_reader_enter(reader, column->name);
    if (!value)
      ep_field_reader_fail(reader, "is not there: the model needs it, or null for a missing cell");
    else if (!cell_read(encoding, column, value, &cells[i]))
      cell_fail(reader, column, value);
    ep_field_reader_leave(reader, place);
  }
  return known;
}

ep_status ep_encoding_cells_read(const ep_encoding *encoding, const json_t *object,
                                 const char *pointer, double *cells, ep_problem *problem) {
  ep_field_reader reader = {.problem = problem};
  snprintf(reader.pointer, sizeof reader.pointer, "%s", pointer);
  reader.length = strlen(reader.pointer);
  if (!json_is_object(object))
    ep_field_reader_fail(&reader, "must be an object of cells by their columns, not %s",
                         ep_json_type_name(object));
  if (reader.status != EP_OK) return reader.status;
  bool twice;
  size_t known = cells_read(&reader, encoding, object, cells, &twice);
  if (known < json_object_size(object)) unknown_find(&reader, encoding, object);
  if (twice) alike_refuse(&reader, encoding);
  return reader.status;
}

ep_status ep_encoding_row_read(const ep_encoding *encoding, const json_t *object,
                               const char *pointer, double *out, ep_problem *problem) {
  double *cells = malloc((size_t)encoding->columns * sizeof *cells);
  if (!cells) return ep_problem_fail_memory(problem);
  ep_status status = ep_encoding_cells_read(encoding, object, pointer, cells, problem);
  if (status == EP_OK) ep_encoding_apply(encoding, cells, out);
  free(cells);
  return status;
}
