#include "engine/data/formats/csv_typed.h"

#include <stdlib.h>

#include "engine/data/formats/csv_rows.h"
#include "engine/data/tables/typed_table.h"

/* Finds the columns' types; the text goes back to the first line where that is no header. */
static ep_status types_find(const ep_ingest *ingest, ep_csv_table *table,
                            const ep_csv_header *header, ep_column_cells *types, ep_draft *draft,
                            ep_error *error) {
  int64_t columns = header->columns;
  ep_column *column = header->column;
  ep_status status = ep_column_types_find(&table->rows, column, types, draft, error);
  if (status != EP_OK || !header->named || header->row_names || ingest->options.header != 0 ||
      !ep_column_names_are_cells(column, types, columns, ingest->meta->note,
                                 sizeof ingest->meta->note))
    return status;
  ep_column_types_reset(column, types, columns, draft);
  table->text = header->start;
  return ep_column_types_find(&table->rows, column, types, draft, error);
}

ep_status ep_csv_typed_read(ep_ingest *ingest, ep_csv_text text, ep_csv_header *header,
                            ep_csv_cell *cell, ep_error *error) {
  int64_t columns = header->columns;
  ep_csv_table table = ep_csv_table_of(text, columns, &header->labels, cell);
  ep_column_cells *types = calloc((size_t)columns, sizeof *types);
  ep_draft draft = {.file = -1};
  ep_status status = types ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK)
    status = ep_draft_open(ingest->folder, columns, ingest->budget_bytes, &draft, error);
  if (status == EP_OK) status = types_find(ingest, &table, header, types, &draft, error);
  if (status == EP_OK) {
    status = ep_typed_table_write(&table.rows, header->column, types, &draft, ingest->folder,
                                  &ingest->budget_bytes, ingest->meta, error);
    header->column = NULL;
  }
  ep_draft_close(&draft);
  ep_typed_table_types_free(types, columns);
  ep_columns_destroy(header->column, columns);
  header->column = NULL;
  return status;
}
