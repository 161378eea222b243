#include "engine/data/formats/csv_typed.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/data/formats/csv_rows.h"
#include "engine/data/tables/typed_table.h"

/* Finds the columns' types. A header whose words are those of the columns is a row. */
static ep_status types_find(ep_csv_layout *layout, ep_csv_table *table, ep_column *column,
                            ep_column_cells *types, ep_draft *draft, bool decided,
                            ep_error *error) {
  int64_t columns = layout->columns;
  ep_dialect *dialect = &layout->found.dialect, before = *dialect;
  ep_notes notes = layout->notes;
  const char *note = NULL;
  ep_status status =
      ep_column_types_find(&table->rows, column, types, draft, &layout->notes, error);
  if (status != EP_OK || decided || !dialect->header || dialect->row_names) return status;
  bool row = ep_column_names_are_cells(column, types, columns, dialect, &note);
  if (note) ep_notes_add(row ? &notes : &layout->notes, "%s", note);
  if (!row) return status;
  ep_column_types_reset(column, types, columns, draft);
  *dialect = before;
  dialect->header = false;
  layout->notes = notes;
  snprintf(layout->found.evidence[EP_DIALECT_HEADER], EP_DIALECT_EVIDENCE_BYTES,
           "its cells are words and numbers of the columns below");
  layout->rows = layout->header;
  table->notes = &layout->notes;
  return ep_column_types_find(&table->rows, column, types, draft, &layout->notes, error);
}

ep_status ep_csv_typed_read(ep_ingest *ingest, ep_csv_layout *layout, ep_csv_cell *cell,
                            ep_error *error) {
  int64_t columns = layout->columns;
  ep_csv_table table = ep_csv_table_of(layout, &layout->found.dialect, cell, &layout->notes);
  ep_column *column = NULL;
  ep_column_cells *types = calloc((size_t)columns, sizeof *types);
  ep_draft draft = {.file = -1};
  ep_status status = types ? EP_OK : ep_fail_memory(error);
  bool decided = ep_dialect_has(&ingest->options.dialect, EP_DIALECT_HEADER);
  if (status == EP_OK) status = ep_csv_columns_read(layout, cell, &column, error);
  if (status == EP_OK)
    status = ep_draft_open(ingest->folder, columns, ingest->budget_bytes, &draft, error);
  if (status == EP_OK) status = types_find(layout, &table, column, types, &draft, decided, error);
  if (status == EP_OK) {
    status = ep_typed_table_write(&table.rows, column, types, &draft, ingest->folder,
                                  &ingest->budget_bytes, ingest->meta, error);
    column = NULL;
  }
  ep_draft_close(&draft);
  ep_typed_table_cells_free(types, columns);
  ep_columns_destroy(column, columns);
  return status;
}
