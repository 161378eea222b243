#include "engine/data/dialect/sample.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/cells/cell.h"
#include "engine/data/cells/unit.h"
#include "engine/data/dialect/printed.h"

static bool is_number(const char *text, size_t bytes) {
  char unit[EP_UNIT_BYTES];
  double value;
  ep_unit_find(text, bytes, unit);
  for (int kind = 0; ep_cell_kind_is_number((ep_cell_kind)kind); kind++)
    if (ep_unit_number_read(ep_cell_kind_marks((ep_cell_kind)kind), unit, text, bytes, &value))
      return true;
  return false;
}

static bool is_date(const char *text, size_t bytes) {
  double value;
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    if (!ep_cell_kind_is_number((ep_cell_kind)kind) &&
        ep_cell_read((ep_cell_kind)kind, text, bytes, &value))
      return true;
  return false;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* A comma within words is followed by a space: "Oslo, NO". Words between two numbers, "5 true 17",
 * are cells that spaces delimit. */
static bool is_odd(const char *text, size_t bytes) {
  if (bytes > 0 && is_digit(text[0]) && is_digit(text[bytes - 1]) && memchr(text, ' ', bytes))
    return true;
  for (size_t i = 0; i < bytes; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c < 0x20 || c == ';' || c == '|' || c == '"') return true;
    if (c == ',' && (i == 0 || i + 1 == bytes || text[i + 1] != ' ')) return true;
  }
  return bytes > 0 && (text[0] == '\'' || text[bytes - 1] == '\'');
}

ep_cell_shape ep_cell_shape_of(const char *text, size_t bytes) {
  enum { FIGURES_BYTES = 48 };
  text = ep_cell_trim(text, &bytes);
  double value;
  bool digits = false;
  if (bytes <= FIGURES_BYTES && ep_cell_number_read('.', 0, text, bytes, &value))
    return EP_SHAPE_NUMBER;
  if (ep_cell_is_missing(text, bytes)) return EP_SHAPE_EMPTY;
  for (size_t i = 0; i < bytes && bytes <= FIGURES_BYTES; i++)
    digits = digits || (text[i] >= '0' && text[i] <= '9');
  if (digits && is_number(text, bytes)) return EP_SHAPE_NUMBER;
  if (digits && is_date(text, bytes)) return EP_SHAPE_DATE;
  return is_odd(text, bytes) ? EP_SHAPE_ODD : EP_SHAPE_WORD;
}

static ep_status row_add(ep_sample *out, int *capacity, ep_sample_row row, ep_error *error) {
  if (out->count == *capacity) {
    *capacity = *capacity ? 2 * *capacity : 64;
    ep_sample_row *more = realloc(out->row, (size_t)*capacity * sizeof *more);
    if (!more) return ep_fail_memory(error);
    out->row = more;
  }
  out->row[out->count++] = row;
  return EP_OK;
}

bool ep_csv_row_take(ep_csv_text *text, ep_csv_cell *cell, int64_t *cells) {
  *cells = 0;
  do {
    if (*cells > EP_LIMIT_COLUMNS || ep_csv_cell_read(text, 1, cell, NULL) != EP_OK) return false;
    ++*cells;
  } while (cell->stop == EP_CSV_DELIMITER);
  return true;
}

static ep_status rows_find(ep_csv_text *from, char comment, int rows, ep_csv_cell *cell,
                           ep_sample *out, ep_error *error) {
  enum { ROWS_LEAST = 20, SAMPLE_BYTES = 1 << 18 };
  int capacity = 0;
  ep_csv_text text = *from;
  const char *first = text.at;
  ep_status status = EP_OK;
  while (
      status == EP_OK && text.at < text.end &&
      (out->rows < ROWS_LEAST || (out->rows < rows && (size_t)(text.at - first) < SAMPLE_BYTES))) {
    ep_sample_row row = {.start = text};
    row.comment = comment && ep_csv_first(&text) == comment;
    row.rule = !row.comment && ep_csv_rule_take(&text);
    row.blank = row.rule || (!row.comment && ep_csv_blank_line_take(&text));
    if (row.comment) {
      ep_csv_line_take(&text);
    } else if (!row.blank) {
      if (!ep_csv_row_take(&text, cell, &row.cells)) {
        out->broken = true;
        break;
      }
      out->rows++;
    }
    *from = text;
    status = row_add(out, &capacity, row, error);
  }
  return status;
}

/* The width that most rows have; of two, the wider one. */
static void columns_find(ep_sample *sample) {
  enum { WIDTHS = 64 }; /* that are told apart: more are no table */
  struct {
    int64_t cells;
    int rows;
  } found[WIDTHS];
  int widths = 0;
  for (int i = 0; i < sample->count; i++) {
    const ep_sample_row *row = &sample->row[i];
    int at = 0;
    if (row->blank || row->comment) continue;
    while (at < widths && found[at].cells != row->cells) at++;
    if (at == widths && widths == WIDTHS) continue;
    if (at == widths) {
      found[widths].cells = row->cells;
      found[widths++].rows = 0;
    }
    found[at].rows++;
  }
  for (int i = 0; i < widths; i++) {
    if (found[i].rows < sample->regular ||
        (found[i].rows == sample->regular && found[i].cells < sample->columns))
      continue;
    sample->columns = found[i].cells;
    sample->regular = found[i].rows;
  }
  for (int i = 0; i < sample->count && sample->row[i].cells != sample->columns; i++)
    sample->lead += ep_sample_is_row(sample, i);
}

/* Whether a cell ends in the quote that a word of one before it in its row begins with:
 * 'City; Country'. */
static bool quote_is_cut(const char *text, size_t bytes, bool quoted, char *open) {
  if (quoted || bytes == 0) return false;
  size_t at = bytes; /* of the last quote */
  while (at > 0 && text[at - 1] != '"' && text[at - 1] != '\'') at--;
  if (at == 0) return false;
  char quote = text[--at];
  bool begins = at == 0 || !isalnum((unsigned char)text[at - 1]);
  if (*open == quote && at + 1 == bytes && *text != quote) {
    *open = 0;
    return true;
  }
  if (begins && !memchr(text, quote, at)) *open = quote;
  return false;
}

/* Counts the cells of a header that has a cell more or less than the rows. */
static void header_count(ep_csv_text text, ep_csv_cell *cell, int64_t *typed, int64_t *all) {
  do {
    bool quoted = ep_csv_is_quoted(&text);
    if (ep_csv_cell_read(&text, 1, cell, NULL) != EP_OK) return;
    *typed += quoted || ep_cell_shape_of(cell->text, cell->bytes) != EP_SHAPE_ODD;
    ++*all;
  } while (cell->stop == EP_CSV_DELIMITER);
}

static ep_status shapes_count(ep_sample *sample, ep_csv_cell *cell, ep_error *error) {
  enum { CELLS_MOST = 100000 }; /* of the widest table: two rows */
  int64_t all = 0, typed = 0;
  size_t columns = (size_t)sample->columns + 1;
  sample->figures = calloc(columns, sizeof *sample->figures);
  sample->filled = calloc(columns, sizeof *sample->filled);
  sample->triples = calloc(columns, sizeof *sample->triples);
  sample->last = calloc(columns, sizeof *sample->last);
  if (!sample->figures || !sample->filled || !sample->triples || !sample->last)
    return ep_fail_memory(error);
  for (int i = 0; i < sample->count && all < CELLS_MOST; i++) {
    int64_t more = sample->row[i].cells - sample->columns;
    if (!ep_sample_is_row(sample, i)) continue;
    if (more == 1 || more == -1) header_count(sample->row[i].start, cell, &typed, &all);
    if (more != 0) continue;
    ep_csv_text text = sample->row[i].start;
    bool behind = false, halved = sample->columns > 1; /* a digit */
    char open = 0; /* a quote that a cell begins with, and does not end with */
    for (int64_t column = 0; column < sample->columns; column++) {
      const char *begin = text.at;
      bool quoted = ep_csv_is_quoted(&text);
      if (ep_csv_cell_read(&text, 1, cell, NULL) != EP_OK) break;
      ep_cell_shape shape = ep_cell_shape_of(cell->text, cell->bytes);
      bool figure = shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE;
      size_t bytes = cell->bytes;
      sample->cut_quotes += quote_is_cut(cell->text, bytes, quoted, &open);
      sample->triples[column] +=
          behind && bytes == 3 && strspn(ep_csv_cell_string(cell), "0123456789") == 3;
      bool inner = behind && begin < text.end && is_digit(begin[0]) && is_digit(begin[-2]);
      halved = halved && (column == 0 || inner);
      behind = bytes > 0 && cell->text[bytes - 1] >= '0' && cell->text[bytes - 1] <= '9';
      sample->figures[column] += figure;
      sample->last[column] = figure || shape == EP_SHAPE_EMPTY ? sample->last[column] + figure : 0;
      sample->filled[column] += shape != EP_SHAPE_EMPTY;
      typed += shape != EP_SHAPE_ODD || quoted;
      all++;
    }
    sample->halved += halved;
  }
  sample->typed = all ? (double)typed / (double)all : 0;
  return EP_OK;
}

ep_status ep_sample_read(ep_csv_text *text, char comment, int rows, ep_csv_cell *cell,
                         ep_sample *out, ep_error *error) {
  *out = (ep_sample){0};
  ep_status status = rows_find(text, comment, rows, cell, out, error);
  if (status == EP_OK) columns_find(out);
  if (status == EP_OK) status = shapes_count(out, cell, error);
  if (status != EP_OK) ep_sample_deinit(out);
  return status;
}

void ep_sample_deinit(ep_sample *sample) {
  free(sample->row);
  free(sample->figures);
  free(sample->filled);
  free(sample->triples);
  free(sample->last);
  *sample = (ep_sample){0};
}

bool ep_sample_is_typed(const ep_sample *sample, int64_t column) {
  int64_t figures = sample->figures[column], words = sample->filled[column] - figures;
  bool white = sample->count > 0 && sample->row->start.delimiter == EP_DELIMITER_SPACE;
  if (white && words <= 4 && sample->last[column] >= 3) return true; /* a title, and a name */
  /* a name; in few rows also a unit */
  return figures > 0 && (figures * 10 >= (figures + words - 1) * 9 || (figures >= 3 && words <= 2));
}

bool ep_sample_is_one_number(const ep_sample *sample) {
  int64_t i = 1;
  while (i < sample->columns && sample->triples[i] > 1 &&
         sample->triples[i] >= sample->filled[i] - 1)
    i++;
  return sample->columns > 1 && i == sample->columns;
}

bool ep_sample_cuts_numbers(const ep_sample *sample) {
  for (int64_t i = 1; i < sample->columns; i++)
    if (sample->triples[i] > 0 && sample->triples[i] >= sample->filled[i] - 1) return true;
  return false;
}
