#include "engine/data/inputs/text_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/unit.h"
#include "engine/data/columns/named_row.h"
#include "engine/data/formats/csv_header.h"
#include "engine/data/formats/csv_rows.h"
#include "engine/data/tables/json_table.h"

/* What is read, whatever it is written in. */
typedef struct {
  ep_table_rows *rows; /* that of `csv` or of `json` */
  ep_csv_table csv;
  ep_json_table json;
  ep_csv_header header; /* of csv */
  ep_csv_cell *cell;    /* owned */
  ep_column *column;    /* [rows->columns], names, lent */
  bool named;
} table;

/* How a column of the file is read. */
typedef struct {
  int64_t column;       /* of the model; -1: passed over */
  ep_cell_kind form[2]; /* of a number: how it may be written, the model's own way first, */
  bool fits[2];         /* and whether all cells are so */
} source;

typedef struct {
  const ep_encoding *encoding;
  source *source; /* [columns of the file], owned */
  bool *taken;    /* [encoding->columns], owned: a column of the file is it */
  int64_t *named; /* [encoding->columns], owned: where by_name has the first column of a name, how
                     many of that name are taken */
  double *x;      /* [capacity, encoding->columns], owned */
  int64_t rows, capacity;
  ep_field_reader faults;
} reader;

static ep_status csv_open(table *out, const char *start, const char *end, ep_error *error) {
  int64_t counted;
  out->cell = malloc(sizeof *out->cell);
  if (!out->cell) return ep_fail_memory(error);
  ep_csv_labels labels = {0};
  char named = 0;
  const char *rest = ep_csv_separator_take(start, end, &named);
  ep_csv_text text = {rest ? rest : start, end, named ? named : ep_csv_delimiter_find(start, end),
                      rest ? 2 : 1, false};
  ep_csv_counts_take(&text, out->cell, &counted, &labels);
  ep_status status = ep_csv_header_read(&text, 0, out->cell, &out->header, error);
  out->header.labels = labels;
  if (status != EP_OK) return status;
  out->csv = ep_csv_table_of(text, out->header.columns, &out->header.labels, out->cell);
  out->rows = &out->csv.rows;
  out->column = out->header.column;
  out->named = out->header.named;
  return EP_OK;
}

static ep_status json_open(table *out, const char *start, const char *end, ep_error *error) {
  ep_json_text text = {start, {start, end}};
  ep_scanner behind;
  ep_status status =
      ep_json_table_open(EP_JSON_RECORDS, true, text, NULL, &out->json, &behind, error);
  if (status == EP_OK) text.left = behind;
  if (status == EP_OK && ep_scan_peek(&text.left) != 0)
    status = ep_json_unexpected(&text, "an object", error);
  out->rows = &out->json.rows;
  out->column = out->json.column;
  out->named = true;
  return status;
}

static void table_close(table *from) {
  ep_json_table_close(&from->json);
  free(from->header.column);
  free(from->header.labels.name);
  free(from->cell);
}

/* The other way in which the numbers of a column may be written. A sign comes with any delimiter,
 * which says nothing of its commas: $1,234 is no fraction. */
static ep_cell_kind other_form(const ep_column_encoding *column, bool decimal_commas) {
  bool commas = decimal_commas && !column->unit[0];
  switch (column->form) {
  case EP_CELL_NUMBER: return commas ? EP_CELL_DECIMAL_COMMA : EP_CELL_NUMBER;
  case EP_CELL_DECIMAL_COMMA: return EP_CELL_NUMBER;
  case EP_CELL_SPACED: return commas ? EP_CELL_SPACED_COMMA : EP_CELL_SPACED;
  case EP_CELL_SPACED_COMMA: return EP_CELL_SPACED; /* which reads all plain numbers, too */
  default: return column->form;
  }
}

/* The column of that name that no column of the file is yet: where two are called alike, the first
 * of the file is the first of the model. -1: there is none. */
static int64_t column_find(reader *read, const char *name) {
  int64_t first;
  if (ep_encoding_name_find(read->encoding, name, &first) != EP_OK)
    ep_field_reader_fail_memory(&read->faults);
  if (first < 0) return -1;
  int64_t at = first + read->named[first];
  if (!ep_encoding_name_is(read->encoding, at, first)) return -1;
  read->named[first]++;
  return read->encoding->by_name[at];
}

/* One column of the file. */
static void source_find(reader *read, const char *name, bool by_place, int64_t place,
                        bool decimal_commas) {
  const ep_encoding *encoding = read->encoding;
  source *found = &read->source[place];
  found->column = by_place ? place : column_find(read, name);
  if (found->column >= 0) read->taken[found->column] = true;
  if (found->column >= 0) {
    const ep_column_encoding *column = &encoding->column[found->column];
    *found =
        (source){found->column, {column->form, other_form(column, decimal_commas)}, {true, true}};
    return;
  }
  bool target;
  if (ep_encoding_is_target(encoding, name, &target) != EP_OK)
    ep_field_reader_fail_memory(&read->faults);
  else if (!target)
    ep_encoding_unknown_refuse(&read->faults, encoding, name);
}

static void missing_find(reader *read) {
  for (int64_t i = 0; i < read->encoding->columns; i++) {
    const ep_column_encoding *column = &read->encoding->column[i];
    if (read->taken[i] || column->encode == EP_ENCODE_NONE) continue;
    size_t place = ep_field_reader_enter(&read->faults, column->name);
    ep_field_reader_fail(&read->faults, "no column of the text has it: the model needs it");
    ep_field_reader_leave(&read->faults, place);
  }
}

static ep_status sources_find(reader *read, const table *from) {
  int64_t columns = from->rows->columns;
  char name[EP_LIMIT_NAME_BYTES + 1];
  bool by_place = !from->named && columns == read->encoding->columns;
  read->source = calloc((size_t)columns, sizeof *read->source);
  read->taken = calloc((size_t)read->encoding->columns, sizeof *read->taken);
  read->named = calloc((size_t)read->encoding->columns, sizeof *read->named);
  if (!read->source || !read->taken || !read->named)
    return ep_problem_fail_memory(read->faults.problem);
  for (int64_t i = 0; i < columns; i++) {
    snprintf(name, sizeof name, "%s", from->column[i].name);
    if (!name[0]) snprintf(name, sizeof name, "%lld", (long long)i);
    source_find(read, name, by_place, i, from->rows->decimal_commas);
  }
  missing_find(read);
  return read->faults.status;
}

/* The first walk: which forms the numbers of a column have. */
static ep_status form_test(void *context, const ep_table_cell *cell, ep_error *error) {
  reader *read = context;
  source *from = &read->source[cell->column];
  double value;
  (void)error;
  if (from->column < 0 || ep_cell_is_missing(cell->text, cell->bytes)) return EP_OK;
  const char *unit = read->encoding->column[from->column].unit;
  for (int i = 0; i < 2; i++)
    from->fits[i] = from->fits[i] &&
                    (ep_cell_read(from->form[i], cell->text, cell->bytes, &value) ||
                     ep_unit_number_read(from->form[i], unit, cell->text, cell->bytes, &value));
  return EP_OK;
}

/* The second one. */
static ep_status cell_read(void *context, const ep_table_cell *cell, ep_error *error) {
  reader *read = context;
  const source *from = &read->source[cell->column];
  const ep_encoding *encoding = read->encoding;
  (void)error;
  if (from->column < 0) return EP_OK;
  ep_column_encoding column = encoding->column[from->column]; /* read in the file's own way */
  if (!from->fits[0] && from->fits[1]) column.form = from->form[1];
  double *value = &read->x[read->rows * encoding->columns + from->column];
  if (column.encode == EP_ENCODE_NONE) return EP_OK;
  ep_cell_outcome outcome = ep_encoding_text_read(&column, cell->text, cell->bytes, value);
  if (outcome == EP_CELL_TAKEN) return EP_OK;
  char row[24];
  snprintf(row, sizeof row, "%lld", (long long)read->rows);
  size_t place = ep_field_reader_enter(&read->faults, "rows");
  ep_field_reader_enter(&read->faults, row);
  ep_field_reader_enter(&read->faults, column.name);
  ep_encoding_text_report(&read->faults, outcome, &column, cell->text, cell->bytes);
  ep_field_reader_leave(&read->faults, place);
  return EP_OK;
}

static ep_status row_begin(reader *read, ep_error *error) {
  size_t row_bytes = (size_t)read->encoding->columns * sizeof *read->x;
  if (read->rows == read->capacity) {
    read->capacity = read->capacity ? 2 * read->capacity : 64;
    double *x = realloc(read->x, (size_t)read->capacity * row_bytes);
    if (!x) return ep_fail_memory(error);
    read->x = x;
  }
  double *row = read->x + read->rows * read->encoding->columns;
  for (int64_t i = 0; i < read->encoding->columns; i++) row[i] = NAN;
  return EP_OK;
}

/* There is room for a row more at any time. */
static ep_status row_end(void *context, ep_error *error) {
  reader *read = context;
  size_t row_bytes = (size_t)read->encoding->columns * sizeof *read->x;
  if (read->rows == EP_LIMIT_PREDICT_ROWS ||
      (size_t)(read->rows + 1) * row_bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "more than %lld rows: send them in pieces",
                   (long long)read->rows);
  read->rows++;
  return row_begin(read, error);
}

static ep_status table_read(reader *read, const table *from, ep_error *error) {
  ep_status status = from->rows->walk(from->rows, form_test, NULL, read, error);
  if (status == EP_OK) status = row_begin(read, error);
  return status == EP_OK ? from->rows->walk(from->rows, cell_read, row_end, read, error) : status;
}

ep_status ep_text_rows_read(const ep_encoding *encoding, const void *bytes, size_t size, bool lines,
                            double **x, int64_t *rows, ep_warnings *warnings, ep_problem *problem) {
  const char *start = bytes, *end = start + size;
  reader read = {.encoding = encoding, .faults = {.problem = problem, .warnings = warnings}};
  table from = {0};
  ep_error error = {0};
  *x = NULL;
  if (size >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0) start += 3;
  ep_status status =
      lines ? json_open(&from, start, end, &error) : csv_open(&from, start, end, &error);
  if (status == EP_OK) status = sources_find(&read, &from);
  if (status == EP_OK) status = table_read(&read, &from, &error);
  if (error.status != EP_OK) status = ep_problem_from_error(problem, &error);
  if (status == EP_OK) status = read.faults.status;
  table_close(&from);
  free(read.source);
  free(read.taken);
  free(read.named);
  if (status != EP_OK) {
    free(read.x);
    return status;
  }
  *x = read.x;
  *rows = read.rows;
  return EP_OK;
}
