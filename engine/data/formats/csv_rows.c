#include "engine/data/formats/csv_rows.h"

#include <math.h>
#include <string.h>

#include "engine/data/cells/cell.h"
#include "engine/files/mapping.h"

enum { DROP_BYTES = 4 << 20 };

/* Of a file of any size, little lies in memory at a time. */
static void behind_drop(const ep_csv_text *text, const char **kept) {
  if (!text->mapped || text->at - *kept < DROP_BYTES) return;
  ep_mapping_drop(*kept, (size_t)(text->at - *kept));
  *kept = text->at;
}

ep_status ep_csv_rows_read(ep_csv_text *text, ep_csv_row_read read, void *context,
                           ep_error *error) {
  ep_status status = EP_OK;
  const char *kept = text->at;
  int64_t blank = 0, rows = 0;
  while (status == EP_OK && text->at < text->end) {
    int64_t line = text->line;
    if (ep_csv_blank_line_take(text)) {
      if (blank == 0) blank = line;
    } else if (blank != 0) {
      status = ep_fail(error, EP_INVALID, "row %lld is empty", (long long)blank);
    } else {
      status = read(context, text, error);
      rows++;
    }
    behind_drop(text, &kept);
  }
  if (status == EP_OK && rows == 0)
    status = ep_fail(error, EP_INVALID, "there are no rows of data");
  return status;
}

ep_status ep_csv_row_check(int64_t line, int64_t column, int64_t columns, ep_csv_stop stop,
                           ep_error *error) {
  if (column == columns && stop == EP_CSV_DELIMITER)
    return ep_fail(error, EP_INVALID, "row %lld has more cells than row 1, which has %lld",
                   (long long)line, (long long)columns);
  if (column < columns && stop != EP_CSV_DELIMITER)
    return ep_fail(error, EP_INVALID, "row %lld has %lld cell%s, row 1 has %lld", (long long)line,
                   (long long)column, column == 1 ? "" : "s", (long long)columns);
  return EP_OK;
}

/* The number of a label becomes its name. */
static void label_name(const ep_csv_labels *labels, ep_table_cell *cell) {
  double value;
  if (!ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value)) return;
  if (!(value >= 0 && value < (double)labels->count && value == floor(value))) return;
  cell->text = labels->name[(int64_t)value].name;
  cell->bytes = strlen(cell->text);
}

static ep_status row_cells_read(ep_csv_table *table, ep_csv_text *text, ep_table_cell_read read,
                                void *context, ep_error *error) {
  int64_t row = text->line, columns = table->rows.columns;
  ep_csv_stop stop = EP_CSV_DELIMITER;
  for (int64_t column = 0; column < columns; column++) {
    int64_t line = text->line;
    ep_status status = ep_csv_row_check(row, column, columns, stop, error);
    if (status == EP_OK) status = ep_csv_cell_read(text, column + 1, table->cell, error);
    if (status != EP_OK) return status;
    stop = table->cell->stop;
    /* within quotes, too, spaces around a word are no part of it */
    ep_table_cell cell = ep_table_cell_make(table->cell->text, table->cell->bytes, line, column);
    if (table->labels->count > 0 && column == columns - 1) label_name(table->labels, &cell);
    status = read(context, &cell, error);
    if (status != EP_OK) return status;
  }
  return ep_csv_row_check(row, columns, columns, stop, error);
}

/* What reads the cells of a walk. */
typedef struct {
  ep_csv_table *table;
  ep_table_cell_read read;
  ep_table_row_end end;
  void *context;
} walker;

static ep_status row_walk(void *context, ep_csv_text *text, ep_error *error) {
  walker *walk = context;
  ep_status status = row_cells_read(walk->table, text, walk->read, walk->context, error);
  return status == EP_OK && walk->end ? walk->end(walk->context, error) : status;
}

static ep_status table_walk(ep_table_rows *rows, ep_table_cell_read read, ep_table_row_end end,
                            void *context, ep_error *error) {
  ep_csv_table *table = (ep_csv_table *)rows;
  ep_csv_text text = table->text;
  walker walk = {table, read, end, context};
  return ep_csv_rows_read(&text, row_walk, &walk, error);
}

ep_csv_table ep_csv_table_of(ep_csv_text text, int64_t columns, const ep_csv_labels *labels,
                             ep_csv_cell *cell) {
  return (ep_csv_table){.rows = {columns, text.delimiter != ',', table_walk},
                        .text = text,
                        .cell = cell,
                        .labels = labels};
}
