/* Predictions as text, behind the rows that they are of; and which of a series are meant. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "engine/data/inputs/row_lines.h"
#include "engine/data/inputs/series_rows.h"
#include "server/jobs/jobs.h"

enum {
  CELL_BYTES = EP_PLAIN_BYTES + 16,
  TITLE_BYTES = 2 * EP_LIMIT_NAME_BYTES + EP_LIMIT_WORD_BYTES
};
enum { TEXT_LIMIT = 1 << 30 };

typedef struct {
  const ep_prediction_rows *rows;
  const ep_output_meaning *meaning;
  const ep_row_lines *lines;
  const double *output; /* [count, columns] */
  int64_t count, columns;
  int64_t classes, probabilities; /* 0: none */
  double *probability;            /* [classes], owned */
  ep_writer writer;
} table;

/* A number with the table's decimal mark, and the target's sign where the form ("0 €", or "") has
 * it. */
static void number_write(const table *out, double value, const char *form, char text[CELL_BYTES]) {
  char number[EP_PLAIN_BYTES];
  ep_plain_format(value, number);
  char *point = strchr(number, '.');
  int before = (int)strcspn(form, "0");
  if (point && out->lines->dialect.decimal == ',') *point = ',';
  snprintf(text, CELL_BYTES, "%s%.*s%s%s", value < 0 ? "-" : "", before, form, number + (value < 0),
           form[before] ? form + before + 1 : "");
}

/* A member of an object, or a cell. text: JSON already where `raw`. */
static void cell_add(table *out, int64_t row, bool first, const char *title, const char *text,
                     bool raw) {
  ep_writer member;
  if (!out->lines->objects) {
    ep_row_lines_cell(out->lines, row, first, row < 0 ? title : text, &out->writer);
    return;
  }
  ep_writer_init(&member, TEXT_LIMIT);
  ep_writer_string(&member, title);
  ep_writer_bytes(&member, ":", 1);
  if (raw)
    ep_writer_bytes(&member, text, strlen(text));
  else
    ep_writer_string(&member, text);
  char *whole = ep_writer_take(&member);
  if (whole)
    ep_row_lines_cell(out->lines, row, first, whole, &out->writer);
  else
    out->writer.failed = true;
  free(whole);
}

/* row -1: the title alone. */
static void number_add(table *out, int64_t row, bool first, const char *title, double value,
                       const char *form) {
  char text[CELL_BYTES] = "";
  bool finite = isfinite(value);
  if (out->lines->objects)
    finite ? (void)ep_plain_format(value, text) : (void)snprintf(text, sizeof text, "null");
  else if (finite)
    number_write(out, value, form, text);
  cell_add(out, row, first, title, text, true);
}

/* The cells of prediction `at`, behind those of a row; at -1: no prediction is of that row. */
static void prediction_add(table *out, int64_t row, bool first, int64_t at) {
  const ep_output_meaning *meaning = out->meaning;
  const char *column = out->rows->column[0] ? out->rows->column : "prediction";
  const double *output = at >= 0 ? out->output + at * out->columns : NULL;
  char title[TITLE_BYTES], number[24];
  if (out->classes > 0) {
    int64_t class = output ? ep_output_class(meaning, output, out->columns) : 0;
    const char *none = out->lines->objects ? "null" : "";
    const char *word = output ? ep_output_class_word(meaning, class, number) : none;
    cell_add(out, row, first, column, word, !output || class >= meaning->classes);
    if (output) ep_output_probabilities(meaning, output, out->columns, out->probability);
  }
  for (int64_t i = 0; i < out->probabilities; i++) {
    snprintf(title, sizeof title, "%s%sprobability_%s", out->rows->target,
             out->rows->target[0] ? "_" : "", ep_output_class_word(meaning, i, number));
    number_add(out, row, false, title, output ? out->probability[i] : NAN, "");
  }
  for (int64_t i = 0; out->classes == 0 && i < out->columns; i++) {
    snprintf(title, sizeof title, "%s", column);
    if (out->columns > 1) snprintf(title, sizeof title, "%s_%lld", column, (long long)i);
    number_add(out, row, first && i == 0, title, output ? output[i] : NAN, out->rows->unit_form);
  }
}

/* A cell of a time that is JSON. */
static void time_write(const char *json, char text[CELL_BYTES]) {
  const bool quoted = *json == '"', known = strcmp(json, "null") != 0;
  snprintf(text, CELL_BYTES, "%s", known ? json + quoted : "");
  text[strcspn(text, "\"")] = 0;
}

/* Cells before the predictions, of rows that were no text: the names of pictures; of a forecast the
 * series, and the time or the number of each row behind the last one. Returns whether there are
 * any. */
static bool place_add(table *out, int64_t row) {
  const ep_prediction_rows *rows = out->rows;
  const ep_series_rows *series = rows->copied ? NULL : rows->series;
  char **name = series ? series->name : rows->name;
  char text[CELL_BYTES] = "";
  if (name)
    cell_add(out, row, true, series ? rows->group : "name", row < 0 ? "" : name[row], false);
  if (!series || !series->step) return name != NULL;
  if (row >= 0 && series->time)
    time_write(series->time[row], text);
  else if (row >= 0)
    snprintf(text, sizeof text, "%lld", (long long)series->step[row]);
  cell_add(out, row, !name, series->time ? rows->time : "step", text, false);
  return true;
}

static void row_add(table *out, int64_t row, int64_t at) {
  ep_row_lines_begin(out->lines, row, &out->writer);
  prediction_add(out, row, !place_add(out, row), at);
  ep_row_lines_end(out->lines, &out->writer);
}

static void table_write(table *out) {
  const ep_row_lines *copied = out->rows->copied;
  const int64_t *last = out->rows->series ? out->rows->series->last : NULL;
  int64_t rows = copied ? copied->rows : out->count, next = 0;
  if (!copied || copied->header > 0) row_add(out, -1, -1);
  for (int64_t i = 0; i < rows; i++) {
    bool has = next < out->count && (!copied || !last || last[next] == i);
    row_add(out, i, has ? next++ : -1);
  }
}

ep_status ep_prediction_rows_pick(const ep_prediction_rows *rows, const double *output,
                                  int64_t columns, double **picked, int64_t *count,
                                  ep_error *error) {
  *picked = NULL;
  if (!rows->series) return EP_OK;
  const int64_t *example = rows->series->example;
  *count = rows->series->count;
  *picked = malloc((size_t)(*count * columns) * sizeof **picked + 1);
  if (!*picked) return ep_fail_memory(error);
  for (int64_t i = 0; i < *count; i++)
    memcpy(*picked + i * columns, output + example[i] * columns, (size_t)columns * sizeof **picked);
  return EP_OK;
}

char *ep_prediction_rows_format(const ep_prediction_rows *rows, const ep_output_meaning *meaning,
                                bool probabilities, const double *output, int64_t count,
                                int64_t columns) {
  static const ep_row_lines none = {0};
  table out = {.rows = rows,
               .meaning = meaning,
               .lines = rows->copied ? rows->copied : &none,
               .output = output,
               .count = count,
               .columns = columns,
               .classes = ep_output_classes(meaning, columns)};
  if (probabilities) out.probabilities = out.classes;
  out.probability = calloc((size_t)out.classes + 1, sizeof *out.probability);
  if (!out.probability) return NULL;
  ep_writer_init(&out.writer, TEXT_LIMIT);
  table_write(&out);
  free(out.probability);
  return ep_writer_take(&out.writer);
}
