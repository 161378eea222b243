#include "engine/data/formats/csv_header.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"

bool ep_csv_not_finite(const char *text) {
  if (*text == '+' || *text == '-') text++;
  return strcasecmp(text, "nan") == 0 || strcasecmp(text, "inf") == 0 ||
         strcasecmp(text, "infinity") == 0;
}

static ep_status name_set(ep_column *column, ep_csv_cell *cell, long long line, long long number,
                          ep_error *error) {
  if (cell->bytes > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "row %lld, column %lld: a name of %zu bytes, at most %d",
                   line, number, cell->bytes, EP_LIMIT_NAME_BYTES);
  if (!ep_utf8_valid(cell->text, cell->bytes))
    return ep_fail(error, EP_INVALID, "row %lld, column %lld: the name is not UTF-8", line, number);
  for (size_t i = 0; i < cell->bytes; i++)
    if ((unsigned char)cell->text[i] < 0x20 || cell->text[i] == 0x7F) cell->text[i] = ' ';
  memcpy(column->name, cell->text, cell->bytes);
  column->name[cell->bytes] = 0;
  return EP_OK;
}

ep_status ep_csv_columns_read(const ep_csv_layout *layout, ep_csv_cell *cell, ep_column **out,
                              ep_error *error) {
  ep_csv_text text = layout->header;
  long long line = (long long)text.line;
  ep_status status = EP_OK;
  *out = NULL;
  if (layout->columns > EP_LIMIT_COLUMNS)
    return ep_fail(error, EP_TOO_LARGE, "row %lld: more than %d columns", line, EP_LIMIT_COLUMNS);
  ep_column *column = calloc((size_t)layout->columns, sizeof *column);
  if (!column) return ep_fail_memory(error);
  bool more = layout->found.dialect.header;
  for (int64_t i = layout->found.dialect.row_names; more && status == EP_OK && i < layout->columns;
       i++) {
    status = ep_csv_cell_read(&text, i + 1, cell, error);
    if (status == EP_OK) status = name_set(&column[i], cell, line, (long long)i + 1, error);
    more = cell->stop == EP_CSV_DELIMITER;
  }
  if (status == EP_OK)
    *out = column;
  else
    free(column);
  return status;
}
