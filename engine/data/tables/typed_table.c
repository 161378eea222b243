#include "engine/data/tables/typed_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/part_writer.h"

typedef struct {
  ep_part_writer writer;
  const ep_column_cells *types; /* [columns], lent */
  ep_dataset_meta *meta;
} reader;

ep_status ep_number_infinite_refuse(int64_t line, const char *label, const char *text, size_t bytes,
                                    ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  ep_excerpt(shown, text, bytes);
  return ep_fail(error, EP_INVALID,
                 strpbrk(shown, "nN") ? "row %lld, %s: \"%s\" is not a number to train on"
                                      : "row %lld, %s: \"%s\" is beyond what a double can hold",
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
  ep_cell_kind kind = read->types[value->column].kind;
  const char *unit = read->writer.column[value->column].unit;
  if (unit[0] ? !ep_unit_number_read(kind, unit, value->text, value->bytes, out)
              : !ep_cell_read(kind, value->text, value->bytes, out)) {
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

static ep_status row_store(void *context, ep_error *error) {
  reader *read = context;
  return ep_part_writer_commit(&read->writer, error);
}

/* A row of the draft: words by the places that they have got. */
static void drafted_place(const reader *read, const double *drafted, double *out) {
  for (int64_t i = 0; i < read->writer.columns; i++) {
    out[i] = drafted[i];
    if (isnan(out[i])) continue;
    ep_column_type type = read->writer.column[i].type;
    if (type == EP_COLUMN_CATEGORY)
      out[i] = read->types[i].words.place[(uint32_t)drafted[i]];
    else if (type == EP_COLUMN_TEXT)
      out[i] = 0;
  }
}

static ep_status drafted_store(reader *read, ep_draft *draft, ep_error *error) {
  ep_status status = EP_OK;
  for (int64_t row = 0; row < draft->rows && status == EP_OK; row++) {
    const double *drafted = ep_draft_next(draft);
    if (!drafted) return ep_fail(error, EP_IO, "what was read of the table cannot be read again");
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

ep_status ep_typed_table_write(ep_table_rows *rows, ep_column *column, const ep_column_cells *types,
                               ep_draft *draft, const char *folder, int64_t *budget_bytes,
                               ep_dataset_meta *meta, ep_error *error) {
  reader read = {.types = types, .meta = meta};
  ep_part *part = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  ep_column_types_note(column, types, rows->columns, meta->note, sizeof meta->note);
  ep_status status = ep_part_writer_open(&read.writer, folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE,
                                         EP_DTYPE_F64, rows->columns, column, budget_bytes, error);
  if (status == EP_OK) status = ep_part_writer_table(&read.writer, error);
  if (status == EP_OK) status = rows_store(&read, rows, draft, error);
  if (status == EP_OK) status = ep_part_writer_finish(&read.writer, part, error);
  part->one_hot = false; /* numbers of words are none */
  ep_part_writer_abandon(&read.writer);
  return status;
}

void ep_typed_table_types_free(ep_column_cells *types, int64_t columns) {
  for (int64_t i = 0; types && i < columns; i++) ep_word_set_deinit(&types[i].words);
  free(types);
}
