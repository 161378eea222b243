#include "engine/data/inputs/text_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/named_row.h"
#include "engine/data/dialect/delimiter.h"
#include "engine/data/dialect/sample.h"
#include "engine/data/dialect/text_encoding.h"
#include "engine/data/formats/csv_rows.h"
#include "engine/data/inputs/text_layout.h"
#include "engine/data/tables/json_table.h"
#include "engine/files/content.h"

/* What is read, whatever it is written in. */
typedef struct {
  ep_table_rows *rows; /* that of `csv` or of `json` */
  ep_csv_table csv;
  ep_json_table json;
  ep_dialect dialect;   /* by which cells are read */
  ep_csv_layout layout; /* of csv */
  ep_text text;         /* of csv */
  ep_csv_cell *cell;    /* owned */
  ep_column *names;     /* of csv, owned */
  ep_column *column;    /* [rows->columns], names, lent */
  bool named;
} table;

typedef struct {
  const ep_encoding *encoding;
  const ep_dialect *dialect; /* of the text */
  int64_t *source;           /* [columns of the file], owned: the model's column; -1: passed over */
  bool *taken;               /* [encoding->columns], owned: a column of the file is it */
  int64_t *named; /* [encoding->columns], owned: where by_name has the first column of a name, how
                     many of that name are taken */
  double *x;      /* [capacity, encoding->columns], owned */
  int64_t rows, capacity;
  bool ahead, forecast;
  const table *from;
  ep_row_lines *copied; /* NULL: not wanted */
  ep_field_reader faults;
} reader;

/* "the model's table has X, this text shows Y: ?KEY=Y reads it" */
static ep_status other_dialect(const ep_dialect *own, const ep_dialect *shown, ep_dialect_key key,
                               ep_error *error) {
  char one[EP_DIALECT_VALUE_BYTES], other[EP_DIALECT_VALUE_BYTES], query[EP_DIALECT_VALUE_BYTES];
  ep_dialect_value(own, key, one);
  ep_dialect_value(shown, key, other);
  return ep_fail(
      error, EP_INVALID,
      "the model was trained on a table with the %s `%s`, and this text has `%s`: use ?%s=%s",
      ep_dialect_key_name(key), one, other, ep_dialect_key_name(key),
      ep_dialect_query_value(shown, key, query));
}

/* ASCII is the same in UTF-8 and Windows-1252; all else shows its encoding. */
static ep_status encoding_settle(table *out, const ep_text_body *body, ep_error *error) {
  const uint8_t *bytes = (const uint8_t *)body->text;
  char evidence[EP_DIALECT_EVIDENCE_BYTES];
  ep_dialect shown = {0};
  bool given = ep_dialect_has(&body->dialect, EP_DIALECT_ENCODING);
  ep_status status = ep_text_encoding_find(bytes, body->bytes, false, &shown.encoding, evidence,
                                           given ? NULL : error);
  if (status != EP_OK && !given) return status;
  if (!ep_dialect_has(&out->dialect, EP_DIALECT_ENCODING)) out->dialect.encoding = shown.encoding;
  bool marked =
      shown.encoding == EP_TEXT_UTF_8 && ep_text_mark_bytes(EP_TEXT_UTF_8, bytes, body->bytes);
  if (!evidence[0] || marked) /* ASCII, or says so itself */
    out->dialect.encoding = given ? out->dialect.encoding : EP_TEXT_UTF_8;
  else if (!given && shown.encoding != out->dialect.encoding)
    return other_dialect(&out->dialect, &shown, EP_DIALECT_ENCODING, error);
  return EP_OK;
}

/* Where the model's delimiter makes no table of the text, and another one does. */
static ep_status delimiter_check(const table *from, const ep_encoding *encoding,
                                 const ep_text_body *body, const char *start, const char *end,
                                 ep_error *error) {
  ep_dialect found = {0}, named = {0};
  ep_csv_text text = {.at = start, .end = end, .line = 1};
  ep_dialect shown = from->dialect;
  ep_csv_layout layout;
  ep_separator_line_take(&text, &named);
  if (ep_dialect_has(&body->dialect, EP_DIALECT_DELIMITER) || from->layout.columns > 1 ||
      !ep_dialect_has(&from->dialect, EP_DIALECT_DELIMITER) ||
      ep_delimiter_find(&text, &found, from->dialect.comment, from->cell, NULL) != EP_OK ||
      text.delimiter == from->dialect.delimiter)
    return EP_OK;
  shown.delimiter = text.delimiter;
  if (ep_text_layout_find(encoding, &shown, start, end, from->cell, &layout, NULL) != EP_OK ||
      layout.columns < 2) /* "Oslo, NO" */
    return EP_OK;
  return other_dialect(&from->dialect, &shown, EP_DIALECT_DELIMITER, error);
}

static ep_status csv_open(table *out, const ep_encoding *encoding, const ep_text_body *body,
                          ep_error *error) {
  static const uint32_t own = 1u << EP_DIALECT_PREAMBLE;
  out->cell = malloc(sizeof *out->cell);
  if (!out->cell) return ep_fail_memory(error);
  out->dialect = encoding->dialect;
  out->dialect.set &= ~own;
  ep_dialect_override(&out->dialect, &body->dialect);
  ep_status status = encoding_settle(out, body, error);
  if (status != EP_OK) return status;
  int64_t budget_bytes = EP_LIMIT_PREDICT_BYTES;
  status = ep_text_open(out->dialect.encoding, (const uint8_t *)body->text, body->bytes, NULL,
                        &budget_bytes, &out->text, error);
  if (status == EP_OK && out->text.size == 0)
    status = ep_fail(error, EP_INVALID, "no rows of data");
  if (status != EP_OK) return status;
  const char *start = out->text.start, *end = start + out->text.size;
  status = ep_text_layout_find(encoding, &out->dialect, start, end, out->cell, &out->layout, error);
  out->layout.comments_given = ep_dialect_has(&body->dialect, EP_DIALECT_COMMENT);
  ep_status other = delimiter_check(out, encoding, body, start, end, error);
  if (other != EP_OK) status = other;
  if (status != EP_OK) return status;
  out->dialect = out->layout.found.dialect;
  status = ep_csv_columns_read(&out->layout, out->cell, &out->names, error);
  out->csv = ep_csv_table_of(&out->layout, &out->dialect, out->cell, &out->layout.notes);
  out->rows = &out->csv.rows;
  out->column = out->names;
  out->named = out->dialect.header;
  return status;
}

static ep_status json_open(table *out, const ep_encoding *encoding, const ep_text_body *body,
                           ep_error *error) {
  ep_json_text text = {body->text, {body->text, body->text + body->bytes}};
  ep_scanner behind;
  ep_scan_mark(&text.left);
  out->dialect = encoding->dialect;
  ep_dialect_override(&out->dialect, &body->dialect);
  ep_status status = ep_json_table_open(EP_JSON_LINES, text, NULL, &out->json, &behind, error);
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
  free(from->layout.labels.name);
  ep_mapping_close(&from->text.decoded);
  free(from->names);
  free(from->cell);
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

static void unnamed_warn(reader *read, int64_t index) {
  size_t place = ep_field_reader_enter(&read->faults, "rows");
  ep_field_reader_warn(&read->faults, "column %lld has no name and is ignored",
                       (long long)index + 1);
  ep_field_reader_leave(&read->faults, place);
}

/* One column of the file. unnamed: its name is its index, beside others that have one: what pandas
 * and R write for the names of rows. */
static void source_find(reader *read, const char *name, bool unnamed, bool by_place,
                        int64_t place) {
  const ep_encoding *encoding = read->encoding;
  int64_t found = by_place ? place : column_find(read, name);
  bool target;
  read->source[place] = found;
  if (found >= 0)
    read->taken[found] = true;
  else if (ep_encoding_is_target(encoding, name, &target) != EP_OK)
    ep_field_reader_fail_memory(&read->faults);
  else if (unnamed && !target)
    unnamed_warn(read, place);
  else if (!target)
    ep_encoding_unknown_refuse(&read->faults, encoding, name);
}

static void missing_find(reader *read) {
  for (int64_t i = 0; i < read->encoding->columns; i++) {
    const ep_column_encoding *column = &read->encoding->column[i];
    bool unknown = read->ahead && i == read->encoding->window.target;
    if (read->taken[i] || unknown || column->encode == EP_ENCODE_NONE) continue;
    size_t place = ep_field_reader_enter(&read->faults, column->name);
    ep_field_reader_fail(&read->faults, "missing column: the model requires it");
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
    bool nameless = !from->column[i].name[0];
    snprintf(name, sizeof name, "%s", from->column[i].name);
    if (nameless) snprintf(name, sizeof name, "%lld", (long long)i);
    source_find(read, name, nameless && from->named, by_place, i);
  }
  missing_find(read);
  return read->faults.status;
}

/* Says which other marks read the cell; false where none do. */
static bool marks_refuse(reader *read, const ep_column_encoding *column,
                         const ep_table_cell *cell) {
  char form[48];
  double value;
  char own = ep_dialect_has(read->dialect, EP_DIALECT_DECIMAL) ? read->dialect->decimal : '.';
  char other = own == ',' ? '.' : ',';
  if (column->type != EP_COLUMN_NUMBER ||
      ep_cell_number_read(own, 0, cell->text, cell->bytes, &value) || /* inf */
      !(ep_cell_number_read(other, 0, cell->text, cell->bytes, &value) ||
        ep_cell_number_read(other, own, cell->text, cell->bytes, &value))) {
    return false;
  }
  snprintf(form, sizeof form, "%.*s", (int)(cell->bytes < 40 ? cell->bytes : 40), cell->text);
  ep_field_reader_fail(&read->faults,
                       "\"%s\" is not a number with the decimal mark `%c`%s: ?decimal=%c reads it "
                       "as one with `%c`",
                       form, own,
                       ep_dialect_has(&read->encoding->dialect, EP_DIALECT_DECIMAL)
                           ? ", which the model's table has"
                           : "",
                       other, other);
  return true;
}

static ep_status cell_read(void *context, const ep_table_cell *cell, ep_error *error) {
  reader *read = context;
  int64_t from = read->source[cell->column];
  const ep_encoding *encoding = read->encoding;
  (void)error;
  if (from < 0) return EP_OK;
  const ep_column_encoding *column = &encoding->column[from];
  double *value = &read->x[read->rows * encoding->columns + from];
  if (!ep_encoding_reads(encoding, from)) return EP_OK;
  ep_cell_outcome outcome = ep_encoding_cell_read(encoding, from, read->dialect, cell->text,
                                                  cell->bytes, cell->number, value);
  if (outcome == EP_CELL_TAKEN) return EP_OK;
  char row[24];
  snprintf(row, sizeof row, "%lld", (long long)read->rows);
  size_t place = ep_field_reader_enter(&read->faults, "rows");
  ep_field_reader_enter(&read->faults, row);
  ep_field_reader_enter(&read->faults, column->name);
  if (outcome != EP_CELL_REFUSED || !marks_refuse(read, column, cell))
    ep_encoding_text_report(&read->faults, outcome, column, cell->text, cell->bytes, cell->number);
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

/* Whether white space or bars stand around the cells, as programs print them. */
static bool is_printed(const ep_csv_text *text) {
  return text->framed || text->gap > 0;
}

/* Copies the cells of a line with commas between. */
static ep_status cells_copy(reader *read, ep_csv_text line, int64_t cells, bool header,
                            ep_error *error) {
  ep_row_lines *copied = read->copied;
  ep_csv_cell *cell = read->from->cell;
  ep_status status = EP_OK;
  ep_writer writer;
  ep_writer_init(&writer, SIZE_MAX);
  for (int64_t i = 0; status == EP_OK && i < cells; i++) {
    status = ep_csv_cell_read(&line, i + 1, cell, error);
    if (status == EP_OK)
      ep_row_lines_cell(copied, copied->rows, i == 0, ep_csv_cell_string(cell), &writer);
    if (cell->stop != EP_CSV_DELIMITER) break;
  }
  char *text = ep_writer_take(&writer);
  if (status == EP_OK)
    status = text ? ep_row_lines_add(copied, text, NULL, text + strlen(text), header, error)
                  : ep_fail_memory(error);
  free(text);
  return status;
}

/* Copies a line of delimited text that has so many columns, without the delimiters behind them. */
static ep_status line_copy(reader *read, ep_csv_text line, int64_t cells, bool header,
                           ep_error *error) {
  const char *start = line.at, *end = line.end, *behind = NULL;
  ep_csv_cell *cell = read->from->cell;
  if (is_printed(&line)) return cells_copy(read, line, cells, header, error);
  if (read->from->layout.trailing > 0) {
    for (int64_t i = 0; i < cells; i++) {
      ep_status status = ep_csv_cell_read(&line, i + 1, cell, error);
      if (status != EP_OK) return status;
      if (cell->stop != EP_CSV_DELIMITER) break;
    }
    if (cell->stop == EP_CSV_DELIMITER) behind = line.at - 1;
  }
  return ep_row_lines_add(read->copied, start, behind, end, header, error);
}

static ep_status row_copy(reader *read, ep_error *error) {
  const ep_table_rows *rows = read->from->rows;
  ep_csv_text line = read->from->layout.rows;
  if (read->copied->objects)
    return ep_row_lines_add(read->copied, rows->row_start, NULL, rows->row_end, false, error);
  line.at = rows->row_start;
  line.end = rows->row_end;
  return line_copy(read, line, read->from->layout.columns, false, error);
}

/* There is room for a row more at any time. */
static ep_status row_end(void *context, ep_error *error) {
  reader *read = context;
  size_t row_bytes = (size_t)read->encoding->columns * sizeof *read->x;
  if ((read->rows == EP_LIMIT_PREDICT_ROWS && !read->forecast) ||
      (size_t)(read->rows + 1) * row_bytes > EP_LIMIT_PREDICT_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "more than %lld rows: predict %s", (long long)read->rows,
                   read->forecast ? "the last ones alone" : "them in parts");
  read->rows++;
  ep_status status = read->copied ? row_copy(read, error) : EP_OK;
  return status == EP_OK ? row_begin(read, error) : status;
}

/* Lines that were left out. */
static void notes_warn(const ep_notes *notes, ep_warnings *warnings) {
  char detail[EP_NOTES_BYTES];
  size_t bytes;
  for (const char *line = notes->text, *next; line && *line; line = next) {
    next = ep_notes_next(line, &bytes);
    snprintf(detail, sizeof detail, "%.*s", (int)bytes, line);
    ep_warnings_add(warnings, "/rows", detail);
  }
}

/* What is copied, before the rows: the header, and how cells are written. */
static ep_status copy_begin(reader *read, const table *from, const ep_text_body *body,
                            ep_error *error) {
  const ep_csv_layout *layout = &from->layout;
  ep_csv_text header = layout->header, behind = header;
  int64_t cells;
  if (!body->copied) return EP_OK;
  read->copied = body->copied;
  read->from = from;
  *body->copied = (ep_row_lines){.objects = body->lines, .dialect = from->dialect};
  if (body->lines) return EP_OK;
  if (is_printed(&header)) {
    ep_dialect_delimiter_set(&body->copied->dialect, ',');
    body->copied->dialect.quote = '"';
    body->copied->dialect.escapes = false;
  }
  if (!from->dialect.header || !ep_csv_row_take(&behind, from->cell, &cells)) return EP_OK;
  header.end = behind.at;
  return line_copy(read, header, layout->columns - layout->found.dialect.row_names, true, error);
}

static ep_status table_read(reader *read, const table *from, ep_error *error) {
  ep_status status = row_begin(read, error);
  return status == EP_OK ? from->rows->walk(from->rows, cell_read, row_end, read, error) : status;
}

ep_status ep_text_rows_read(const ep_encoding *encoding, const ep_text_body *body, double **x,
                            int64_t *rows, ep_warnings *warnings, ep_problem *problem) {
  reader read = {.encoding = encoding,
                 .ahead = body->ahead,
                 .forecast = body->steps > 0,
                 .faults = {.problem = problem, .warnings = warnings}};
  table from = {0};
  ep_error error = {0};
  *x = NULL;
  ep_status status = ep_content_refuse((const uint8_t *)body->text, body->bytes, &error);
  if (status == EP_OK)
    status = body->lines ? json_open(&from, encoding, body, &error)
                         : csv_open(&from, encoding, body, &error);
  read.dialect = &from.dialect;
  if (status == EP_OK) status = sources_find(&read, &from);
  if (status == EP_OK) status = copy_begin(&read, &from, body, &error);
  if (status == EP_OK) status = table_read(&read, &from, &error);
  if (status == EP_OK && error.status == EP_OK) notes_warn(&from.layout.notes, warnings);
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
