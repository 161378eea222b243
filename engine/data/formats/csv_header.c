#include "engine/data/formats/csv_header.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/utf8.h"
#include "engine/data/cells/cell.h"
#include "engine/files/excerpt.h"

bool ep_csv_not_finite(const char *text) {
  if (*text == '+' || *text == '-') text++;
  return strcasecmp(text, "nan") == 0 || strcasecmp(text, "inf") == 0 ||
         strcasecmp(text, "infinity") == 0;
}

/* A cell that shows that its line is a header. */
static bool is_text(const ep_csv_cell *cell) {
  double value;
  return !ep_cell_is_missing(cell->text, cell->bytes) &&
         !ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value);
}

static ep_status name_set(ep_column *column, ep_csv_cell *cell, int64_t number, ep_error *error) {
  if (cell->bytes > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "row 1, column %lld: a name of %zu bytes, at most %d",
                   (long long)number, cell->bytes, EP_LIMIT_NAME_BYTES);
  if (!ep_utf8_valid(cell->text, cell->bytes))
    return ep_fail(error, EP_INVALID, "row 1, column %lld: the name is not UTF-8",
                   (long long)number);
  for (size_t i = 0; i < cell->bytes; i++)
    if ((unsigned char)cell->text[i] < 0x20 || cell->text[i] == 0x7F) cell->text[i] = ' ';
  memcpy(column->name, cell->text, cell->bytes);
  column->name[cell->bytes] = 0;
  return EP_OK;
}

static ep_status column_add(ep_csv_header *header, int64_t *capacity, ep_error *error) {
  if (header->columns == EP_LIMIT_COLUMNS)
    return ep_fail(error, EP_TOO_LARGE, "row 1: more than %d columns", EP_LIMIT_COLUMNS);
  if (header->columns == *capacity) {
    *capacity = *capacity ? 2 * *capacity : 16;
    ep_column *column = realloc(header->column, (size_t)*capacity * sizeof *column);
    if (!column) return ep_fail_memory(error);
    header->column = column;
  }
  memset(&header->column[header->columns++], 0, sizeof *header->column);
  return EP_OK;
}

/* One walk over the line; `names` asks for the names, else only counts and looks for text. */
static ep_status line_read(ep_csv_text *text, bool names, ep_csv_cell *cell, ep_csv_header *out,
                           bool *has_text, ep_error *error) {
  int64_t capacity = 0, column = 0;
  *has_text = false;
  do {
    ep_status status = ep_csv_cell_read(text, ++column, cell, error);
    if (status == EP_OK) status = column_add(out, &capacity, error);
    if (status == EP_OK && names) status = name_set(&out->column[column - 1], cell, column, error);
    if (status != EP_OK) return status;
    *has_text |= is_text(cell);
  } while (cell->stop == EP_CSV_DELIMITER);
  return EP_OK;
}

/* The cells of a line; 0 where one cannot be read. */
static int64_t cells_count(ep_csv_text text, ep_csv_cell *cell) {
  int64_t cells = 0;
  if (text.at == text.end) return 0;
  do {
    if (ep_csv_cell_read(&text, 1, cell, NULL) != EP_OK) return 0;
    cells++;
  } while (cell->stop == EP_CSV_DELIMITER);
  return cells;
}

/* A number that is not in quotes names no row. */
static bool is_row_name(ep_csv_text text, ep_csv_cell *cell) {
  double value;
  ep_csv_stop stop;
  return !ep_csv_number_read(&text, &value, &stop) &&
         ep_csv_cell_read(&text, 1, cell, NULL) == EP_OK && cell->bytes > 0;
}

/* R names all columns but that of the row names, which is the first. */
static ep_status row_names_add(ep_csv_header *out, ep_csv_text text, ep_csv_cell *cell,
                               ep_error *error) {
  int64_t capacity = out->columns;
  if (cells_count(text, cell) != out->columns + 1 || !is_row_name(text, cell)) return EP_OK;
  ep_status status = column_add(out, &capacity, error);
  if (status != EP_OK) return status;
  memmove(out->column + 1, out->column, (size_t)(out->columns - 1) * sizeof *out->column);
  memset(out->column, 0, sizeof *out->column);
  out->row_names = true;
  return EP_OK;
}

ep_status ep_csv_header_read(ep_csv_text *text, int header, ep_csv_cell *cell, ep_csv_header *out,
                             ep_error *error) {
  ep_csv_text start = *text;
  bool has_text;
  *out = (ep_csv_header){0};
  ep_status status = line_read(text, false, cell, out, &has_text, error);
  out->named = header > 0 || (header == 0 && has_text);
  *text = start;
  if (status == EP_OK && out->named) {
    free(out->column);
    *out = (ep_csv_header){.named = true};
    status = line_read(text, true, cell, out, &has_text, error);
    if (status == EP_OK) status = row_names_add(out, *text, cell, error);
  }
  out->start = start;
  if (status != EP_OK) {
    free(out->column);
    *out = (ep_csv_header){0};
  }
  return status;
}
