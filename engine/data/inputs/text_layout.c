#include "engine/data/inputs/text_layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/data/columns/named_row.h"
#include "engine/data/dialect/delimiter.h"
#include "engine/data/dialect/printed.h"
#include "engine/data/dialect/row_names.h"

/* What a line says of being the header. */
typedef struct {
  int64_t cells, filled;
  int64_t names;      /* of columns of the model */
  int64_t figures;    /* numbers and dates */
  int64_t empty_ends; /* cells at its end that are empty */
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
    out->empty_ends = cell->bytes == 0 ? out->empty_ends + 1 : 0;
    if (out->cells++ >= CELLS) continue;
    ep_cell_shape shape = ep_cell_shape_of(cell->text, cell->bytes);
    out->filled += cell->bytes > 0;
    out->figures += shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE;
    out->names += cell->bytes > 0 && cell->bytes <= EP_LIMIT_NAME_BYTES &&
                  is_name(it, ep_csv_cell_string(it->cell));
  } while (cell->stop == EP_CSV_DELIMITER);
  return true;
}

/* Takes lines that are no rows. */
static void others_skip(const search *it, ep_csv_text *text) {
  char comment = it->out->found.dialect.comment;
  while (text->at < text->end) {
    int64_t line = text->line;
    if (comment && ep_csv_first(text) == comment)
      ep_csv_line_take(text);
    else if (ep_csv_rule_take(text))
      it->out->rule = it->out->rule ? it->out->rule : line;
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

/* A line of units below the header. */
static bool are_units(const search *it, ep_csv_text header, ep_csv_text row) {
  const ep_csv_cell *cell = it->cell;
  ep_units_look look = {0};
  int64_t column, names, cells;
  ep_csv_text all = header, below = row;
  ep_csv_stop stop;
  bool row_name = ep_csv_row_take(&all, it->cell, &names) &&
                  ep_csv_row_take(&below, it->cell, &cells) && cells == names + 1;
  if (row_name && (ep_csv_cell_read(&row, 1, it->cell, NULL) != EP_OK || cell->bytes > 0))
    return false;
  do {
    if (ep_csv_cell_read(&header, 1, it->cell, NULL) != EP_OK || cell->bytes > EP_LIMIT_NAME_BYTES)
      return false;
    stop = cell->stop;
    bool known =
        ep_encoding_name_find(it->encoding, ep_csv_cell_string(it->cell), &column) == EP_OK &&
        column >= 0;
    bool number =
        known && !ep_column_is_category(&it->encoding->column[it->encoding->by_name[column]]);
    if (ep_csv_cell_read(&row, 1, it->cell, NULL) != EP_OK) return false;
    if (known && !ep_cell_is_missing(cell->text, cell->bytes))
      ep_units_look_add(&look, cell->text, cell->bytes, number);
  } while (stop == EP_CSV_DELIMITER && cell->stop == EP_CSV_DELIMITER);
  return ep_cells_are_units(&look);
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
    out->trailing = row.empty_ends > 0 && row.cells > 1 && row.cells != it->encoding->columns &&
                    !is_name(it, index);
  } else if (names.empty_ends > 0 && names.cells > 1) {
    out->trailing = row.cells == names.cells && row.empty_ends > 0;
    out->columns -= out->trailing || row.cells == names.cells - 1;
    return EP_OK;
  } else if (row.cells == names.cells + 1 && names_of_rows) {
    out->found.dialect.row_names = true;
    out->columns++;
    return EP_OK;
  } else if (row.cells > names.cells && row.empty_ends >= row.cells - names.cells) {
    out->trailing = row.cells - names.cells;
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

ep_status ep_text_layout_find(const ep_encoding *encoding, const ep_dialect *dialect,
                              const char *start, const char *end, ep_csv_cell *cell,
                              ep_csv_layout *out, ep_error *error) {
  const search it = {.encoding = encoding, .cell = cell, .out = out};
  ep_csv_text text = {.at = start, .end = end, .line = 1};
  int64_t counted;
  *out = (ep_csv_layout){.found.dialect = *dialect};
  ep_dialect *found = &out->found.dialect;
  if (!ep_dialect_has(dialect, EP_DIALECT_COMMENT)) found->comment = 0;
  bool names_of_rows = ep_dialect_has(dialect, EP_DIALECT_ROW_NAMES) && dialect->row_names;
  found->row_names = false;
  ep_separator_line_take(&text, found);
  ep_status status = ep_delimiter_find(&text, found, found->comment, cell, error);
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
  else if (header && !named && encoding->window.length > 0) /* the last rows of a series alone */
    header = !line_see(&it, text, &look) || look.figures < encoding->columns;
  found->header = header;
  ep_preamble_note(&out->notes, &first, text.line - first.line);
  out->header = out->rows = text;
  int64_t cells;
  if (header && !ep_csv_row_take(&out->rows, cell, &cells)) out->rows = text;
  others_skip(&it, &out->rows);
  if (header && named && are_units(&it, out->header, out->rows)) {
    ep_left_out_note(&out->notes, &out->rows, "units");
    ep_csv_line_take(&out->rows);
    others_skip(&it, &out->rows);
  }
  return widths_settle(&it, names_of_rows, error);
}
