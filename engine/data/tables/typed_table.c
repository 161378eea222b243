#include "engine/data/tables/typed_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"

/* What is known of a table on its way. */
typedef struct {
  ep_table_rows *rows;    /* lent */
  ep_part_writer writer;  /* it has the columns */
  ep_column_cells *cells; /* [rows->columns], owned */
  bool *worded;           /* [rows->columns], owned: the column has words, numbered as they came */
  ep_dataset_meta *meta;  /* lent */
} typed_table;

ep_status ep_number_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                    ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  ep_excerpt(shown, text, bytes);
  return ep_fail(error, EP_INVALID,
                 strpbrk(shown, "nN") ? "row %lld, %s: \"%s\" is not a number to train on"
                                      : "row %lld, %s: \"%s\" is out of the range of a double",
                 (long long)line, label, shown);
}

static void fault_add(ep_dataset_meta *meta, const ep_table_cell *value) {
  if (meta->faults < EP_LIMIT_PROBLEM_ERRORS) {
    ep_cell_fault *fault = &meta->fault[meta->faults];
    fault->row = value->line;
    fault->column = value->column + 1;
    ep_excerpt(fault->text, value->text, value->bytes);
  }
  meta->faults++;
}

static ep_status number_store(typed_table *read, const ep_table_cell *value, double *out,
                              ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES];
  const ep_column *column = &read->writer.column[value->column];
  const ep_column_cells *cells = &read->cells[value->column];
  if (!cells->listed && ep_cell_is_missing(value->text, value->bytes)) {
    *out = NAN;
    return EP_OK;
  }
  bool plain = value->number && cells->kind == EP_CELL_NUMBER;
  if (value->plain && cells->kind == EP_CELL_NUMBER && read->rows->dialect->decimal == '.') {
    *out = value->value;
    return EP_OK;
  }
  if (plain ? !ep_cell_number_read('.', 0, value->text, value->bytes, out)
            : !ep_column_cell_read(column, cells->kind, read->rows->dialect, value->text,
                                   value->bytes, out)) {
    fault_add(read->meta, value);
    *out = NAN;
    return EP_OK;
  }
  if (isfinite(*out)) return EP_OK;
  return ep_number_infinite_refuse(value->line,
                                   ep_column_label(read->writer.column, value->column, label),
                                   value->text, value->bytes, error);
}

static ep_status value_store(void *context, const ep_table_cell *value, ep_error *error) {
  typed_table *read = context;
  const ep_column_cells *cells = &read->cells[value->column];
  double *out = (double *)ep_part_writer_next(&read->writer) + value->column;
  if (value->bytes == 0 ||
      (cells->listed && ep_dialect_is_missing(read->rows->dialect, value->text, value->bytes))) {
    *out = NAN;
    return EP_OK;
  }
  if (cells->kind != EP_CELL_KINDS) return number_store(read, value, out, error);
  int64_t word = ep_word_set_find(&cells->words, value->text, value->bytes);
  *out = word < 0 ? 0 : cells->value[word]; /* of text no words are kept */
  return EP_OK;
}

static ep_status row_store(void *context, ep_error *error) {
  typed_table *read = context;
  return ep_part_writer_commit(&read->writer, error);
}

/* A row of the draft: words by their values. */
static void drafted_place(void *context, double *row) {
  const typed_table *table = context;
  for (int64_t i = 0; i < table->rows->columns; i++) {
    const ep_column_cells *cells = &table->cells[i];
    int64_t word = table->worded[i] ? ep_drafted_number(row[i]) : -1;
    if (word >= 0) row[i] = word < cells->words.count ? cells->value[word] : 0; /* of text */
  }
}

/* Numbers that are beyond a double are refused by their line, which a draft does not have. */
static bool has_infinite(const ep_column_cells *cells, int64_t columns) {
  for (int64_t i = 0; i < columns; i++)
    for (uint32_t word = 0; cells[i].kind == EP_CELL_NUMBER && word < cells[i].words.count; word++)
      if (isinf(cells[i].value[word])) return true;
  return false;
}

/* Stores the rows, of which a draft may be all. */
static ep_status rows_store(typed_table *table, bool drafted, ep_error *error) {
  ep_table_rows *rows = table->rows;
  bool words = false;
  if (!drafted || has_infinite(table->cells, rows->columns)) {
    ep_status status = ep_part_writer_restart(&table->writer, error);
    return status == EP_OK ? rows->walk(rows, value_store, row_store, table, error) : status;
  }
  for (int64_t i = 0; i < rows->columns; i++) {
    const ep_column_cells *cells = &table->cells[i];
    table->worded[i] = cells->present > cells->plain + cells->iso;
    words = words || table->worded[i];
  }
  return words ? ep_part_writer_map(&table->writer, table->worded, drafted_place, table, error)
               : EP_OK;
}

/* Forgets what was found, names too. */
static ep_status table_reset(typed_table *table, ep_error *error) {
  ep_column *column = table->writer.column;
  for (int64_t i = 0; i < table->rows->columns; i++) {
    ep_words_deinit(&column[i].words);
    ep_words_deinit(&column[i].missing_words);
    free(column[i].note);
    ep_column_cells_deinit(&table->cells[i]);
    column[i] = (ep_column){0};
    table->cells[i] = (ep_column_cells){0};
  }
  return ep_part_writer_restart(&table->writer, error);
}

/* Whether all cells are numbers without a doubt: names above these are judged by the first lines
 * alone, since a name that is a number is like any of them. */
static bool has_plain_numbers(const typed_table *table) {
  for (int64_t i = 0; i < table->rows->columns; i++) {
    const ep_column_cells *cells = &table->cells[i];
    bool doubtful = cells->points > 0 && cells->points == cells->threes; /* 1.234 */
    if (table->writer.column[i].type != EP_COLUMN_NUMBER || cells->missing > 0 ||
        cells->plain != cells->present || doubtful)
      return false;
  }
  return true;
}

static ep_status types_find(typed_table *table, bool *drafted, ep_notes *notes, ep_error *error) {
  ep_table_rows *rows = table->rows;
  ep_dialect before = *rows->dialect;
  ep_notes notes_before = *notes;
  const char *note = NULL;
  ep_status status =
      ep_column_types_find(rows, table->cells, &table->writer, drafted, notes, error);
  if (status != EP_OK || !rows->names_give || has_plain_numbers(table)) return status;
  bool row = ep_column_names_are_cells(table->writer.column, table->cells, rows->columns,
                                       rows->dialect, &note);
  if (note) ep_notes_add(row ? &notes_before : notes, "%s", note);
  if (!row) return status;
  status = table_reset(table, error);
  if (status != EP_OK) return status;
  *rows->dialect = before;
  *notes = notes_before;
  rows->names_give(rows);
  return ep_column_types_find(rows, table->cells, &table->writer, drafted, notes, error);
}

/* column: [columns], taken, also on failure. */
static ep_status table_read(typed_table *table, ep_column *column, const char *folder,
                            int64_t *budget_bytes, ep_notes *notes, ep_error *error) {
  ep_part *part = &table->meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  bool drafted;
  ep_status status =
      ep_part_writer_open(&table->writer, folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, EP_DTYPE_F64,
                          table->rows->columns, column, budget_bytes, error);
  if (status == EP_OK) status = ep_part_writer_table(&table->writer, error);
  if (status == EP_OK) status = types_find(table, &drafted, notes, error);
  if (status == EP_OK) status = rows_store(table, drafted, error);
  if (status == EP_OK) status = ep_part_writer_finish(&table->writer, part, error);
  part->one_hot = false; /* numbers of words are none */
  ep_part_writer_abandon(&table->writer);
  return status;
}

ep_status ep_typed_table_read(ep_table_rows *rows, const ep_column *column, const char *folder,
                              int64_t *budget_bytes, ep_notes *notes, ep_dataset_meta *meta,
                              ep_error *error) {
  size_t columns = (size_t)rows->columns;
  ep_column *own = malloc(columns * sizeof *own);
  typed_table table = {.rows = rows,
                       .cells = calloc(columns, sizeof *table.cells),
                       .worded = calloc(columns, sizeof *table.worded),
                       .meta = meta};
  ep_status status = own && table.cells && table.worded ? EP_OK : ep_fail_memory(error);
  if (own) memcpy(own, column, columns * sizeof *column);
  if (status == EP_OK)
    status = table_read(&table, own, folder, budget_bytes, notes, error);
  else
    free(own);
  for (size_t i = 0; table.cells && i < columns; i++) ep_column_cells_deinit(&table.cells[i]);
  free(table.cells);
  free(table.worded);
  return status;
}
