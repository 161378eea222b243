#include "engine/data/formats/csv_rows.h"

#include <stdio.h>
#include <string.h>

ep_status ep_csv_rows_read(ep_csv_text *text, ep_csv_row_read read, void *context,
                           ep_error *error) {
  ep_status status = EP_OK;
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

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Within quotes, too, spaces around a word are no part of it. */
static ep_csv_value value_of(const ep_csv_cell *cell, int64_t line, int64_t column) {
  const char *text = cell->text;
  size_t bytes = cell->bytes;
  for (; bytes > 0 && is_blank(*text); bytes--) text++;
  while (bytes > 0 && is_blank(text[bytes - 1])) bytes--;
  return (ep_csv_value){text, bytes, line, column};
}

ep_status ep_csv_values_read(ep_csv_text *text, int64_t columns, ep_csv_cell *cell,
                             ep_csv_value_read read, void *context, ep_error *error) {
  int64_t row = text->line;
  ep_csv_stop stop = EP_CSV_DELIMITER;
  for (int64_t column = 0; column < columns; column++) {
    int64_t line = text->line;
    ep_status status = ep_csv_row_check(row, column, columns, stop, error);
    if (status == EP_OK) status = ep_csv_cell_read(text, column + 1, cell, error);
    if (status != EP_OK) return status;
    stop = cell->stop;
    ep_csv_value value = value_of(cell, line, column);
    status = read(context, &value, error);
    if (status != EP_OK) return status;
  }
  return ep_csv_row_check(row, columns, columns, stop, error);
}

const char *ep_csv_label(const ep_column *column, int64_t index, char out[EP_CSV_LABEL_BYTES]) {
  const char *name = column[index].name;
  char shown[EP_EXCERPT_BYTES];
  if (name[0])
    snprintf(out, EP_CSV_LABEL_BYTES, "column %lld (\"%s\")", (long long)index + 1,
             ep_excerpt(shown, name, strlen(name)));
  else
    snprintf(out, EP_CSV_LABEL_BYTES, "column %lld", (long long)index + 1);
  return out;
}
