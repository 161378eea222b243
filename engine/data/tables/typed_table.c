#include "engine/data/tables/typed_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"

typedef struct {
  ep_part_writer writer;
  const ep_column_cells *cells; /* [columns], lent */
  const ep_dialect *dialect;    /* lent */
  ep_dataset_meta *meta;
} reader;

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

static ep_status number_store(reader *read, const ep_table_cell *value, double *out,
                              ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES];
  const ep_column *column = &read->writer.column[value->column];
  const ep_column_cells *cells = &read->cells[value->column];
  if (!cells->listed && ep_cell_is_missing(value->text, value->bytes)) {
    *out = NAN;
    return EP_OK;
  }
  bool plain = value->number && cells->kind == EP_CELL_NUMBER;
  if (value->plain && cells->kind == EP_CELL_NUMBER && read->dialect->decimal == '.') {
    *out = value->value;
    return EP_OK;
  }
  if (plain ? !ep_cell_number_read('.', 0, value->text, value->bytes, out)
            : !ep_column_cell_read(column, cells->kind, read->dialect, value->text, value->bytes,
                                   out)) {
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
  reader *read = context;
  const ep_column_cells *cells = &read->cells[value->column];
  double *out = (double *)ep_part_writer_next(&read->writer) + value->column;
  if (value->bytes == 0 ||
      (cells->listed && ep_dialect_is_missing(read->dialect, value->text, value->bytes))) {
    *out = NAN;
    return EP_OK;
  }
  if (cells->kind != EP_CELL_KINDS) return number_store(read, value, out, error);
  int64_t word = ep_word_set_find(&cells->words, value->text, value->bytes);
  *out = word < 0 ? 0 : cells->value[word]; /* of text no words are kept */
  return EP_OK;
}

static ep_status row_store(void *context, ep_error *error) {
  reader *read = context;
  return ep_part_writer_commit(&read->writer, error);
}

/* A row of the draft: words by their values. */
static void drafted_place(const reader *read, const double *drafted, double *out) {
  for (int64_t i = 0; i < read->writer.columns; i++) {
    const ep_column_cells *cells = &read->cells[i];
    int64_t word = ep_drafted_number(drafted[i]);
    if (word < 0)
      out[i] = drafted[i];
    else
      out[i] = word < cells->words.count ? cells->value[word] : 0; /* of text no words are kept */
  }
}

static ep_status drafted_store(reader *read, ep_draft *draft, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t row = 0; row < draft->rows && status == EP_OK; row++) {
    const double *drafted = ep_draft_next(draft);
    if (!drafted) return ep_fail(error, EP_IO, "the intermediate file of the table cannot be read");
    drafted_place(read, drafted, ep_part_writer_next(&read->writer));
    status = ep_part_writer_commit(&read->writer, error);
  }
  return status;
}

static ep_status rows_store(reader *read, ep_table_rows *rows, ep_draft *draft, ep_error *error) {
  ep_draft_rewind(draft);
  if (draft->kept) return drafted_store(read, draft, error);
  return rows->walk(rows, value_store, row_store, read, error);
}

/* Numbers that are beyond a double are refused by their line, which a draft does not have. */
static bool has_infinite(const ep_column_cells *cells, int64_t columns) {
  for (int64_t i = 0; i < columns; i++)
    for (uint32_t word = 0; cells[i].kind == EP_CELL_NUMBER && word < cells[i].words.count; word++)
      if (isinf(cells[i].value[word])) return true;
  return false;
}

/* What is known of a table on its way. */
typedef struct {
  ep_table_rows *rows;
  ep_column *column;      /* [rows->columns], owned */
  ep_column_cells *cells; /* [rows->columns], owned */
  ep_draft draft;
} typed_table;

/* column: taken, also on failure. */
static ep_status table_write(typed_table *table, const char *folder, int64_t *budget_bytes,
                             ep_dataset_meta *meta, ep_error *error) {
  ep_table_rows *rows = table->rows;
  reader read = {.cells = table->cells, .dialect = rows->dialect, .meta = meta};
  ep_part *part = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_draft *draft = &table->draft;
  draft->kept = draft->kept && !has_infinite(table->cells, rows->columns);
  ep_status status =
      ep_part_writer_open(&read.writer, folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, EP_DTYPE_F64,
                          rows->columns, table->column, budget_bytes, error);
  table->column = NULL;
  if (status == EP_OK) status = ep_part_writer_table(&read.writer, error);
  if (status == EP_OK) status = rows_store(&read, rows, draft, error);
  if (status == EP_OK) status = ep_part_writer_finish(&read.writer, part, error);
  part->one_hot = false; /* numbers of words are none */
  ep_part_writer_abandon(&read.writer);
  return status;
}

/* Forgets what was found, names too. */
static void table_reset(typed_table *table) {
  ep_draft_reset(&table->draft);
  for (int64_t i = 0; i < table->rows->columns; i++) {
    ep_words_deinit(&table->column[i].words);
    ep_words_deinit(&table->column[i].missing_words);
    free(table->column[i].note);
    ep_column_cells_deinit(&table->cells[i]);
    table->column[i] = (ep_column){0};
    table->cells[i] = (ep_column_cells){0};
  }
}

static ep_status types_find(typed_table *table, ep_notes *notes, ep_error *error) {
  ep_table_rows *rows = table->rows;
  ep_dialect before = *rows->dialect;
  ep_notes notes_before = *notes;
  const char *note = NULL;
  ep_status status =
      ep_column_types_find(rows, table->column, table->cells, &table->draft, notes, error);
  if (status != EP_OK || !rows->names_give) return status;
  bool row =
      ep_column_names_are_cells(table->column, table->cells, rows->columns, rows->dialect, &note);
  if (note) ep_notes_add(row ? &notes_before : notes, "%s", note);
  if (!row) return status;
  table_reset(table);
  *rows->dialect = before;
  *notes = notes_before;
  rows->names_give(rows);
  return ep_column_types_find(rows, table->column, table->cells, &table->draft, notes, error);
}

ep_status ep_typed_table_read(ep_table_rows *rows, const ep_column *column, const char *folder,
                              int64_t *budget_bytes, ep_notes *notes, ep_dataset_meta *meta,
                              ep_error *error) {
  size_t columns = (size_t)rows->columns;
  typed_table table = {.rows = rows,
                       .column = malloc(columns * sizeof *table.column),
                       .cells = calloc(columns, sizeof *table.cells)};
  ep_status status = table.column && table.cells ? EP_OK : ep_fail_memory(error);
  if (table.column) memcpy(table.column, column, columns * sizeof *column);
  if (status == EP_OK)
    status = ep_draft_open(folder, rows->columns, *budget_bytes, &table.draft, error);
  if (status == EP_OK) status = types_find(&table, notes, error);
  if (status == EP_OK) status = table_write(&table, folder, budget_bytes, meta, error);
  ep_draft_close(&table.draft);
  for (size_t i = 0; table.cells && i < columns; i++) ep_column_cells_deinit(&table.cells[i]);
  free(table.cells);
  ep_columns_destroy(table.column, rows->columns);
  return status;
}
