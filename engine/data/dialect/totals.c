#include "engine/data/dialect/totals.h"

#include <string.h>
#include <strings.h>

static bool is_total(const ep_csv_cell *cell) {
  static const char *const words[] = {
      "total", "totals", "grand total", "sum",   "gesamt", "insgesamt", "summe",     "somme",
      "suma",  "totale", "totaal",      "count", "mean",   "average",   "mittelwert"};
  size_t bytes = cell->bytes;
  if (bytes > 0 && cell->text[bytes - 1] == ':') bytes--;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == bytes && strncasecmp(words[i], cell->text, bytes) == 0) return true;
  return false;
}

/* Whether a row of the sample but the last line has such a word in the column, too. */
static bool has_total(const ep_sample *sample, int first, ep_csv_cell *cell, int64_t column,
                      const char *last) {
  for (int i = first; i < sample->count; i++) {
    ep_csv_text row = sample->row[i].start;
    if (!ep_sample_is_row(sample, i) || sample->row[i].cells != sample->columns || row.at == last)
      continue;
    for (int64_t k = 0; k <= column; k++)
      if (ep_csv_cell_read(&row, 1, cell, NULL) != EP_OK) return true;
    if (is_total(cell)) return true;
  }
  return false;
}

/* The start of the last line that is not blank; NULL: it is too long, or a part of a quoted cell.
 */
static const char *last_line(const ep_csv_text *text, const char **end) {
  enum { TOTAL_BYTES = 4096 };
  const char *start = text->end;
  int quotes = 0;
  while (start > text->at && strchr(" \r\n", start[-1])) start--;
  for (*end = start; start > text->at && start[-1] != '\n' && start[-1] != '\r'; start--) {
    quotes += text->quote && start[-1] == text->quote;
    if (*end - start == TOTAL_BYTES) return NULL;
  }
  return start == text->at || quotes % 2 ? NULL : start;
}

const char *ep_total_line_find(const ep_csv_text *rows, const ep_sample *sample, int first,
                               ep_csv_cell *cell, const char **end) {
  ep_csv_text line = *rows;
  const char *start = last_line(&line, end);
  int64_t cells = 0, column = -1;
  if (!start || sample->columns < 2) return NULL;
  line.at = start;
  do {
    if (ep_csv_cell_read(&line, 1, cell, NULL) != EP_OK) return NULL;
    if (column < 0 && cell->bytes > 0) column = is_total(cell) ? cells : INT64_MAX;
    cells++;
  } while (cell->stop == EP_CSV_DELIMITER);
  bool total = column >= 0 && column < cells && cells == sample->columns;
  return total && !has_total(sample, first, cell, column, start) ? start : NULL;
}
