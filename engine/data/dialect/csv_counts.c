#include "engine/data/dialect/csv_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/cells/cell.h"
#include "engine/data/dialect/sample.h"

/* A whole number of at least 1, and at most `most`; else 0. */
static int64_t count_of(const ep_csv_cell *cell, int64_t most) {
  double value;
  if (!ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value)) return 0;
  return value >= 1 && value <= (double)most && value == floor(value) ? (int64_t)value : 0;
}

static bool is_name(const ep_csv_cell *cell) {
  double value;
  return cell->bytes > 0 && cell->bytes <= EP_LIMIT_NAME_BYTES &&
         ep_utf8_valid(cell->text, cell->bytes) && !memchr(cell->text, 0, cell->bytes) &&
         !ep_cell_is_missing(cell->text, cell->bytes) &&
         !ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value);
}

static bool label_add(ep_csv_labels *labels, ep_csv_cell *cell) {
  if (labels->count == EP_LIMIT_CLASSES) return false;
  if (!labels->name) labels->name = calloc(EP_LIMIT_CLASSES, sizeof *labels->name);
  if (!labels->name) return false;
  memcpy(labels->name[labels->count++].name, ep_csv_cell_string(cell), cell->bytes + 1);
  return true;
}

/* The cells behind the two counts: names alone, or nothing alone. */
static bool names_take(ep_csv_text *text, ep_csv_cell *cell, ep_csv_labels *labels) {
  int64_t cells = 0;
  while (cell->stop == EP_CSV_DELIMITER) {
    if (ep_csv_cell_read(text, 1, cell, NULL) != EP_OK) return false;
    if (cell->bytes > 0 && (!is_name(cell) || !label_add(labels, cell))) return false;
    cells++;
  }
  return cell->stop == EP_CSV_LINE && cells > 0 &&
         (labels->count == 0 || (labels->count == cells && cells >= 2));
}

/* Whether the line has so many cells, and, unless it is a header, ends in the number of a class. */
static bool row_fits(ep_csv_text text, ep_csv_cell *cell, int64_t cells, int64_t classes) {
  int64_t found;
  double value;
  if (!ep_csv_row_take(&text, cell, &found) || found != cells) return false;
  return classes == 0 || (ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value) &&
                          value >= 0 && value < (double)classes && value == floor(value));
}

/* Lines that have more than their end, up to `most` and one more. */
static int64_t lines_count(ep_csv_text text, int64_t most) {
  int64_t lines = 0;
  while (text.at < text.end && lines <= most) {
    const char *end = memchr(text.at, '\n', (size_t)(text.end - text.at));
    if (!end) end = text.end;
    lines += end > text.at && *text.at != '\r';
    text.at = end < text.end ? end + 1 : end;
  }
  return lines;
}

static bool line_take(ep_csv_text *text, ep_csv_cell *cell, int64_t *rows, ep_csv_labels *labels) {
  if (ep_csv_cell_read(text, 1, cell, NULL) != EP_OK || cell->stop != EP_CSV_DELIMITER)
    return false;
  *rows = count_of(cell, EP_LIMIT_ROWS);
  if (*rows == 0 || ep_csv_cell_read(text, 1, cell, NULL) != EP_OK) return false;
  int64_t features = count_of(cell, EP_LIMIT_COLUMNS - 1);
  if (features == 0 || !names_take(text, cell, labels) ||
      !row_fits(*text, cell, features + 1, labels->count))
    return false;
  int64_t lines = lines_count(*text, *rows + 1);
  return lines == *rows || (labels->count == 0 && lines == *rows + 1);
}

bool ep_csv_counts_take(ep_csv_text *text, ep_csv_cell *cell, int64_t *rows,
                        ep_csv_labels *labels) {
  ep_csv_text start = *text;
  *labels = (ep_csv_labels){0};
  if (line_take(text, cell, rows, labels)) return true;
  *text = start;
  free(labels->name);
  *labels = (ep_csv_labels){0};
  return false;
}
