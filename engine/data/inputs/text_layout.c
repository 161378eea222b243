#include "engine/data/inputs/text_layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/data/columns/named_row.h"
#include "engine/data/dialect/delimiter.h"
#include "engine/data/dialect/row_names.h"

/* What a line says of being the header. */
typedef struct {
  int64_t cells, filled;
  int64_t names;   /* of columns of the model */
  int64_t figures; /* numbers and dates */
  bool last_empty;
} line_look;

typedef struct {
  const ep_encoding *encoding;
  ep_csv_cell *cell; /* working memory */
  ep_csv_layout *out;
} search;

static bool is_name(const search *it, const char *name) {
  int64_t first;
  bool target;
  return (ep_encoding_name_find(it->encoding, name, &first) == EP_OK && first >= 0) ||
         (ep_encoding_is_target(it->encoding, name, &target) == EP_OK && target);
}

/* False where a cell of the line cannot be read, or there are too many. Names are looked for in the
 * first cells. */
static bool line_see(const search *it, ep_csv_text text, line_look *out) {
  enum { CELLS = 64 };
  const ep_csv_cell *cell = it->cell;
  *out = (line_look){0};
  do {
    if (out->cells > EP_LIMIT_COLUMNS || ep_csv_cell_read(&text, 1, it->cell, NULL) != EP_OK)
      return false;
    out->last_empty = cell->bytes == 0;
    if (out->cells++ >= CELLS) continue;
    ep_cell_shape shape = ep_cell_shape_of(cell->text, cell->bytes);
    out->filled += cell->bytes > 0;
    out->figures += shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE;
    out->names += cell->bytes > 0 && cell->bytes <= EP_LIMIT_NAME_BYTES && is_name(it, cell->text);
  } while (cell->stop == EP_CSV_DELIMITER);
  return true;
}

/* Takes lines that are no rows. */
static void others_skip(const search *it, ep_csv_text *text) {
  char comment = it->out->found.dialect.comment;
  while (text->at < text->end) {
    if (comment && *text->at == comment)
      ep_csv_line_take(text);
    else if (!ep_csv_blank_line_take(text))
      return;
  }
}

/* Goes on to the first line that is the header, where one is wanted, or else may be a row; where
 * there is none, *text stays. Returns whether it names columns of the model. */
static bool table_seek(const search *it, bool header, ep_csv_text *text) {
  ep_csv_text line = *text;
  line_look look;
  bool white = line.delimiter == EP_DELIMITER_SPACE; /* it delimits the words of a title, too */
  int64_t least = it->encoding->columns < 2 ? 1 : white ? it->encoding->columns : 2;
  for (int i = 0; i <= EP_DIALECT_PREAMBLE_LINES && line.at < line.end; i++) {
    bool read = line_see(it, line, &look);
    bool found = header ? read && look.names > 0 && 2 * look.names >= look.filled
                        : !read || look.cells >= least;
    if (found) {
      *text = line;
      return header;
    }
    ep_csv_line_take(&line);
    others_skip(it, &line);
  }
  return false;
}

static void preamble_warn(const ep_csv_text *first, const ep_csv_text *table,
                          ep_warnings *warnings) {
  char detail[EP_EXCERPT_BYTES + 96], shown[EP_EXCERPT_BYTES];
  long long lines = (long long)(table->line - first->line);
  if (lines == 0) return;
  snprintf(detail, sizeof detail, "%lld line%s before the table %s left out, the first is: `%s`",
           lines, lines == 1 ? "" : "s", lines == 1 ? "is" : "are",
           ep_excerpt(shown, first->at, (size_t)(ep_csv_line_end(first, first->at) - first->at)));
  ep_warnings_add(warnings, "/rows", detail);
}

/* A line of units below the header: each cell is one, most of them in columns of numbers. */
static bool are_units(const search *it, ep_csv_text header, ep_csv_text row) {
  const ep_csv_cell *cell = it->cell;
  int64_t filled = 0, numbers = 0, column;
  ep_csv_stop stop;
  do {
    if (ep_csv_cell_read(&header, 1, it->cell, NULL) != EP_OK || cell->bytes > EP_LIMIT_NAME_BYTES)
      return false;
    stop = cell->stop;
    bool known = ep_encoding_name_find(it->encoding, cell->text, &column) == EP_OK && column >= 0;
    bool number =
        known && !ep_column_is_category(&it->encoding->column[it->encoding->by_name[column]]);
    if (ep_csv_cell_read(&row, 1, it->cell, NULL) != EP_OK) return false;
    if (cell->bytes == 0) continue;
    if (!ep_text_is_unit(cell->text, cell->bytes)) return false;
    filled += known;
    numbers += number;
  } while (stop == EP_CSV_DELIMITER && cell->stop == EP_CSV_DELIMITER);
  return numbers > 0 && 2 * numbers >= filled;
}

static void line_warn(const ep_csv_text *text, const char *what, ep_warnings *warnings) {
  char detail[EP_EXCERPT_BYTES + 96], shown[EP_EXCERPT_BYTES];
  snprintf(detail, sizeof detail, "line %lld is left out: %s (`%s`)", (long long)text->line, what,
           ep_excerpt(shown, text->at, (size_t)(ep_csv_line_end(text, text->at) - text->at)));
  ep_warnings_add(warnings, "/rows", detail);
}

/* How many columns there are, and what the cells beyond the names are. */
static ep_status widths_settle(const search *it, bool names_of_rows, ep_error *error) {
  ep_csv_layout *out = it->out;
  char index[24];
  line_look names, row;
  bool header = out->found.dialect.header;
  out->columns = 1; /* where it cannot be read, the walk says why */
  if (!line_see(it, out->header, &names)) return EP_OK;
  out->columns = names.cells;
  if (!line_see(it, out->rows, &row)) return EP_OK;
  snprintf(index, sizeof index, "%lld", (long long)names.cells - 1);
  if (!header) {
    out->trailing = row.last_empty && row.cells > 1 && row.cells != it->encoding->columns &&
                    !is_name(it, index);
  } else if (names.last_empty && names.cells > 1) {
    out->trailing = row.cells == names.cells && row.last_empty;
    out->columns -= out->trailing || row.cells == names.cells - 1;
    return EP_OK;
  } else if (row.cells == names.cells + 1 && names_of_rows) {
    out->found.dialect.row_names = true;
    out->columns++;
    return EP_OK;
  } else if (row.cells == names.cells + 1 && row.last_empty) {
    out->trailing = true;
    return EP_OK;
  } else if (row.cells == names.cells + 1) {
    return ep_fail(error, EP_INVALID,
                   "line %lld has %lld cells, and the header has %lld names: ?row_names=true takes "
                   "the first cells as names of the rows",
                   (long long)out->rows.line, (long long)row.cells, (long long)names.cells);
  }
  out->columns -= out->trailing;
  return EP_OK;
}

/* Delimiter and quote. */
static ep_status marks_find(const search *it, ep_csv_text *text, ep_error *error) {
  ep_dialect *dialect = &it->out->found.dialect, given = *dialect;
  char named = 0;
  if (ep_separator_line_take(text, &named) && !ep_dialect_has(dialect, EP_DIALECT_DELIMITER))
    ep_dialect_delimiter_set(&given, named);
  ep_status status = ep_delimiter_find(text, &given, dialect->comment, it->cell, error);
  dialect->delimiter = text->delimiter;
  dialect->quote = text->quote;
  dialect->escapes = text->escapes;
  return status;
}

ep_status ep_text_layout_find(const ep_encoding *encoding, const ep_dialect *dialect,
                              const char *start, const char *end, ep_csv_cell *cell,
                              ep_csv_layout *out, ep_warnings *warnings, ep_error *error) {
  const search it = {.encoding = encoding, .cell = cell, .out = out};
  ep_csv_text text = {.at = start, .end = end, .line = 1};
  int64_t counted;
  *out = (ep_csv_layout){.found.dialect = *dialect};
  ep_dialect *found = &out->found.dialect;
  if (!ep_dialect_has(dialect, EP_DIALECT_COMMENT)) found->comment = 0;
  bool names_of_rows = ep_dialect_has(dialect, EP_DIALECT_ROW_NAMES) && dialect->row_names;
  found->row_names = false;
  ep_status status = marks_find(&it, &text, error);
  if (status != EP_OK) return status;
  bool header = !ep_dialect_has(dialect, EP_DIALECT_HEADER) || dialect->header;
  if (!header) ep_csv_counts_take(&text, cell, &counted, &out->labels);
  for (int i = 0; ep_dialect_has(dialect, EP_DIALECT_PREAMBLE) && i < dialect->preamble; i++)
    ep_csv_line_take(&text);
  others_skip(&it, &text);
  const ep_csv_text first = text;
  line_look look = {0};
  bool named = !ep_dialect_has(dialect, EP_DIALECT_PREAMBLE) && table_seek(&it, header, &text);
  if (header && !named && !ep_dialect_has(dialect, EP_DIALECT_HEADER)) /* figures are no names */
    header = line_see(&it, text, &look) && look.figures == 0;
  found->header = header;
  preamble_warn(&first, &text, warnings);
  out->header = out->rows = text;
  int64_t cells;
  if (header && !ep_csv_row_take(&out->rows, cell, &cells)) out->rows = text;
  others_skip(&it, &out->rows);
  if (header && named && are_units(&it, out->header, out->rows)) {
    line_warn(&out->rows, "units", warnings);
    ep_csv_line_take(&out->rows);
    others_skip(&it, &out->rows);
  }
  return widths_settle(&it, names_of_rows, error);
}
