#include "engine/data/formats/csv_typed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/csv_types.h"

typedef struct {
  ep_part_writer writer;
  ep_csv_type *types; /* [columns], owned, and their words */
  ep_csv_cell *cell;  /* lent */
  ep_dataset_meta *meta;
} reader;

ep_status ep_csv_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                 ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  ep_excerpt(shown, text, bytes);
  return ep_fail(error, EP_INVALID,
                 strpbrk(shown, "nN") ? "row %lld, %s: \"%s\" is not a number to train on"
                                      : "row %lld, %s: \"%s\" is beyond what a double can hold",
                 (long long)line, label, shown);
}

static void fault_add(ep_dataset_meta *meta, const ep_csv_value *value) {
  if (meta->faults < EP_LIMIT_PROBLEM_ERRORS) {
    ep_cell_fault *fault = &meta->fault[meta->faults];
    fault->row = value->line;
    fault->column = value->column + 1;
    ep_excerpt(fault->text, value->text, value->bytes);
  }
  meta->faults++;
}

static ep_status number_store(reader *read, const ep_csv_value *value, double *out,
                              ep_error *error) {
  char label[EP_CSV_LABEL_BYTES];
  ep_cell_kind kind = read->types[value->column].kind;
  if (!ep_cell_read(kind, value->text, value->bytes, out)) {
    fault_add(read->meta, value);
    *out = NAN;
    return EP_OK;
  }
  if (isfinite(*out)) return EP_OK;
  return ep_csv_infinite_refuse(value->line,
                                ep_csv_label(read->writer.column, value->column, label),
                                value->text, value->bytes, error);
}

static ep_status value_store(void *context, const ep_csv_value *value, ep_error *error) {
  reader *read = context;
  double *out = (double *)ep_part_writer_next(&read->writer) + value->column;
  if (ep_cell_is_missing(value->text, value->bytes)) {
    *out = NAN;
    return EP_OK;
  }
  switch (read->writer.column[value->column].type) {
  case EP_COLUMN_CATEGORY:
    *out = (double)ep_word_set_find(&read->types[value->column].words, value->text, value->bytes);
    return EP_OK;
  case EP_COLUMN_TEXT: *out = 0; return EP_OK;
  default: return number_store(read, value, out, error);
  }
}

static ep_status row_store(void *context, ep_csv_text *text, ep_error *error) {
  reader *read = context;
  ep_status status =
      ep_csv_values_read(text, read->writer.columns, read->cell, value_store, read, error);
  return status == EP_OK ? ep_part_writer_commit(&read->writer, error) : status;
}

static ep_status part_write(reader *read, ep_ingest *ingest, ep_csv_text text,
                            ep_csv_header *header, ep_error *error) {
  ep_column *column = header->column;
  ep_part *part = &ingest->meta->part[ingest->split][ingest->role];
  header->column = NULL;
  ep_status status =
      ep_part_writer_open(&read->writer, ingest->folder, ingest->split, ingest->role, EP_DTYPE_F64,
                          header->columns, column, &ingest->budget_bytes, error);
  if (status == EP_OK) status = ep_part_writer_table(&read->writer, error);
  if (status == EP_OK) status = ep_csv_rows_read(&text, row_store, read, error);
  if (status == EP_OK) status = ep_part_writer_finish(&read->writer, part, error);
  part->one_hot = false; /* numbers of words are none */
  ep_part_writer_abandon(&read->writer);
  return status;
}

/* Finds the columns' types; *text goes back to the first line where that is no header. */
static ep_status types_find(const ep_ingest *ingest, ep_csv_text *text, const ep_csv_header *header,
                            ep_csv_cell *cell, ep_csv_type *types, ep_error *error) {
  int64_t columns = header->columns;
  ep_column *column = header->column;
  ep_status status = ep_csv_types_find(*text, columns, cell, column, types, error);
  if (status != EP_OK || !header->named || ingest->options.header != 0 ||
      !ep_csv_names_are_cells(column, types, columns))
    return status;
  ep_csv_types_reset(column, types, columns);
  *text = header->start;
  return ep_csv_types_find(*text, columns, cell, column, types, error);
}

ep_status ep_csv_typed_read(ep_ingest *ingest, ep_csv_text text, ep_csv_header *header,
                            ep_csv_cell *cell, ep_error *error) {
  reader read = {.cell = cell, .meta = ingest->meta};
  read.types = calloc((size_t)header->columns, sizeof *read.types);
  ep_status status = read.types ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) status = types_find(ingest, &text, header, cell, read.types, error);
  if (status == EP_OK) status = part_write(&read, ingest, text, header, error);
  for (int64_t i = 0; read.types && i < header->columns; i++)
    ep_word_set_deinit(&read.types[i].words);
  free(read.types);
  ep_columns_destroy(header->column, header->columns);
  header->column = NULL;
  return status;
}
