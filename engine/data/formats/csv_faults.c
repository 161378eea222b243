#include "engine/data/formats/csv_faults.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/cells/cell.h"
#include "engine/data/formats/csv_rows.h"

/* The kinds of faults of a cell. */
typedef enum { NOT_UTF8, INFINITE, NO_NUMBER, MISSING, KINDS } fault_kind;
static const char *const kind_names[KINDS] = {"no UTF-8", "infinite", "no number", "missing"};

enum { ROWS_TOLD = 3 };

/* How often, and where first. */
typedef struct {
  int64_t count;
  int64_t row[ROWS_TOLD];
} tally;

typedef struct {
  const ep_csv_layout *layout;
  const ep_column *column; /* [layout->columns] */
  bool numbers;
  tally lengths;     /* rows of another number of cells, or of none */
  tally *cells;      /* [columns][KINDS], owned */
  int64_t *finite;   /* [columns], owned: cells that are numbers */
  ep_csv_cell *cell; /* working memory, lent */
  ep_csv_text next;  /* behind the last row */
} survey;

static void tally_add(tally *it, int64_t row) {
  if (it->count < ROWS_TOLD) it->row[it->count] = row;
  it->count++;
}

static void cell_look(survey *found, const ep_table_cell *cell) {
  tally *kinds = found->cells + cell->column * KINDS;
  double value;
  if (!ep_utf8_valid(cell->text, cell->bytes) || memchr(cell->text, 0, cell->bytes))
    tally_add(&kinds[NOT_UTF8], cell->line);
  else if (ep_cell_is_missing(cell->text, cell->bytes))
    tally_add(&kinds[MISSING], cell->line);
  else if (!ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value))
    tally_add(&kinds[NO_NUMBER], cell->line);
  else if (!isfinite(value))
    tally_add(&kinds[INFINITE], cell->line);
  else
    found->finite[cell->column]++;
}

/* One row; a fault of its quotes ends it at the end of its line. */
static ep_status row_look(void *context, ep_csv_text *text, ep_error *error) {
  survey *found = context;
  ep_csv_cell *cell = found->cell;
  int64_t row = text->line, column = 0;
  ep_csv_text start = *text;
  (void)error;
  do {
    int64_t line = text->line;
    if (ep_csv_cell_read(text, 1, cell, NULL) != EP_OK) {
      *text = start;
      ep_csv_line_take(text);
      found->next = *text;
      return EP_OK;
    }
    ep_table_cell it = ep_table_cell_make(cell->text, cell->bytes, line, column);
    if (column++ < found->layout->columns) cell_look(found, &it);
  } while (cell->stop == EP_CSV_DELIMITER);
  if (column != found->layout->columns + found->layout->trailing) tally_add(&found->lengths, row);
  found->next = *text;
  return EP_OK;
}

/* All rows, also behind those that end the walk: empty ones. */
static void rows_look(survey *found) {
  ep_csv_layout rest = *found->layout;
  while (rest.rows.at < rest.rows.end &&
         ep_csv_rows_read(&rest, found->cell, row_look, found, NULL, NULL) != EP_OK) {
    rest.rows = found->next;
    int64_t line = rest.rows.line;
    bool blank = ep_csv_blank_line_take(&rest.rows);
    if (!blank) ep_csv_line_take(&rest.rows);
    while (blank && ep_csv_blank_line_take(&rest.rows)) continue;
    if (blank && rest.rows.at < rest.rows.end) tally_add(&found->lengths, line);
    found->next = rest.rows;
  }
}

/* Appends to the message; what does not fit is left out. */
static void __attribute__((format(printf, 2, 3))) tell(ep_error *error, const char *format, ...) {
  size_t used = strlen(error->message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
  va_end(arguments);
}

static void rows_tell(const tally *it, ep_error *error) {
  for (int64_t i = 0; i < it->count && i < ROWS_TOLD; i++)
    tell(error, "%s%lld", i ? ", " : it->count == 1 ? " (row " : " (rows ", (long long)it->row[i]);
  tell(error, it->count > ROWS_TOLD ? ", …)" : ")");
}

/* Whether that of a column is a fault. */
static bool is_fault(const survey *found, int64_t column, fault_kind kind) {
  const tally *kinds = found->cells + column * KINDS;
  if (kinds[kind].count == 0) return false;
  if (kind == INFINITE) return found->numbers || found->finite[column] > kinds[NO_NUMBER].count;
  return kind == NOT_UTF8 || found->numbers;
}

static void survey_tell(const survey *found, ep_error *error) {
  enum { END_BYTES = 224 }; /* of one kind in one column, and of the end */
  int64_t all = found->lengths.count, columns = found->layout->columns;
  for (int64_t i = 0; i < columns * KINDS; i++)
    if (is_fault(found, i / KINDS, (fault_kind)(i % KINDS))) all += found->cells[i].count;
  if (all < 2) return;
  tell(error, "; %lld errors in all", (long long)all);
  if (found->lengths.count > 0) {
    tell(error, ": %lld row%s with a different number of cells", (long long)found->lengths.count,
         found->lengths.count == 1 ? "" : "s");
    rows_tell(&found->lengths, error);
  }
  for (int64_t i = 0; i < columns * KINDS; i++) {
    char label[EP_COLUMN_LABEL_BYTES];
    if (!is_fault(found, i / KINDS, (fault_kind)(i % KINDS))) continue;
    if (strlen(error->message) + END_BYTES > sizeof error->message) {
      tell(error, "; …");
      return;
    }
    tell(error, "; %s: %lld %s", ep_column_label(found->column, i / KINDS, label),
         (long long)found->cells[i].count, kind_names[i % KINDS]);
    rows_tell(&found->cells[i], error);
  }
}

void ep_csv_faults_tell(const ep_csv_layout *layout, bool numbers, ep_csv_cell *cell,
                        ep_error *error) {
  ep_column *column;
  if (!error || ep_csv_columns_read(layout, cell, &column, NULL) != EP_OK) return;
  survey found = {
      .layout = layout, .column = column, .numbers = numbers, .cell = cell, .next = layout->rows};
  found.cells = calloc((size_t)layout->columns * KINDS, sizeof *found.cells);
  found.finite = calloc((size_t)layout->columns, sizeof *found.finite);
  if (found.cells && found.finite) rows_look(&found);
  if (found.cells && found.finite) survey_tell(&found, error);
  free(found.cells);
  free(found.finite);
  free(column);
}
