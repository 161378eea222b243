#include "engine/data/dialect/layout.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/data/cells/cell.h"
#include "engine/data/dialect/delimiter.h"
#include "engine/data/dialect/printed.h"
#include "engine/data/dialect/row_names.h"
#include "engine/data/dialect/totals.h"
#include "engine/files/excerpt.h"

enum { SAMPLE_ROWS = 5000 };

/* The search for a layout. */
typedef struct {
  const ep_dialect *given;
  ep_csv_layout *out;
  ep_csv_cell *cell; /* working memory */
  ep_sample sample;
  ep_csv_text end; /* of the sample */
  bool counted;    /* a line of counts is above the table */
  int first;       /* row of the sample: of the table, its header or else its first row, */
  int second;      /* its first row behind the header and the units; count of the sample: none */
  int units;       /* a row of units, or with the name of the row names; -1: none */
  bool printed;    /* a data frame, whose row names have no name */
} search;

static void __attribute__((format(printf, 3, 4)))
evidence_say(search *it, ep_dialect_key key, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(it->out->found.evidence[key], EP_DIALECT_EVIDENCE_BYTES, format, arguments);
  va_end(arguments);
}

static bool is_given(const search *it, ep_dialect_key key) {
  return ep_dialect_has(it->given, key);
}

/* --- rows of the sample --------------------------------------------------------------------- */

static bool is_row(const search *it, int row) {
  return ep_sample_is_row(&it->sample, row);
}

/* The first row from `row` on that is neither blank nor a comment; the count where there is none.
 */
static int row_next(const search *it, int row) {
  while (row < it->sample.count && !is_row(it, row)) row++;
  return row;
}

static long long line_of(const search *it, int row) {
  return (long long)it->sample.row[row].start.line;
}

/* "`Report of 2024`" */
static const char *text_excerpt(const ep_csv_text *text, char out[EP_EXCERPT_BYTES]) {
  return ep_excerpt(out, text->at, (size_t)(ep_csv_line_end(text, text->at) - text->at));
}

static const char *line_excerpt(const search *it, int row, char out[EP_EXCERPT_BYTES]) {
  return text_excerpt(&it->sample.row[row].start, out);
}

void ep_preamble_note(ep_notes *notes, const ep_csv_text *first, int64_t lines) {
  char shown[EP_EXCERPT_BYTES];
  if (lines > 0)
    ep_notes_add(notes, "%lld line%s before the table %s left out, the first is: `%s`",
                 (long long)lines, lines == 1 ? "" : "s", lines == 1 ? "is" : "are",
                 text_excerpt(first, shown));
}

void ep_left_out_note(ep_notes *notes, const ep_csv_text *line, const char *what) {
  char shown[EP_EXCERPT_BYTES];
  ep_notes_add(notes, "line %lld is left out: %s (`%s`)", (long long)line->line, what,
               text_excerpt(line, shown));
}

/* What the cells of a row are, beside those of its columns. */
typedef struct {
  int64_t cells, filled;
  int64_t fits, misfits; /* cells of columns of numbers and dates that are such, and words */
  int64_t words;         /* of other columns */
  ep_units_look units;
  bool last_empty;
} row_look;

static row_look row_see(search *it, int row) {
  row_look found = {0};
  ep_csv_text text = it->sample.row[row].start;
  do {
    if (ep_csv_cell_read(&text, 1, it->cell, NULL) != EP_OK) break;
    int64_t column = found.cells++;
    ep_cell_shape shape = ep_cell_shape_of(it->cell->text, it->cell->bytes);
    found.last_empty = it->cell->bytes == 0;
    if (shape == EP_SHAPE_EMPTY) continue;
    found.filled++;
    bool figure = shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE;
    bool numbers = column < it->sample.columns && /* four in five, but for names and units */
                   5 * it->sample.figures[column] >= 4 * (it->sample.filled[column] - 2);
    ep_units_look_add(&found.units, it->cell->text, it->cell->bytes, numbers);
    if (column >= it->sample.columns || !ep_sample_is_typed(&it->sample, column))
      found.words += !figure;
    else if (figure)
      found.fits++;
    else
      found.misfits++;
  } while (it->cell->stop == EP_CSV_DELIMITER);
  return found;
}

static bool is_typed_table(const search *it) {
  for (int64_t i = 0; i < it->sample.columns; i++)
    if (ep_sample_is_typed(&it->sample, i)) return true;
  return false;
}

/* How many last cells are empty in all rows of the sample from `row` on; 0 where there are none. */
static int64_t empty_ends(search *it, int row) {
  int64_t empty = it->sample.columns;
  int rows = 0;
  for (int i = row; i < it->sample.count; i++) {
    if (!is_row(it, i) || it->sample.row[i].cells != it->sample.columns) continue;
    ep_csv_text text = it->sample.row[i].start;
    for (int64_t column = 0; column < it->sample.columns; column++) {
      if (ep_csv_cell_read(&text, 1, it->cell, NULL) != EP_OK) return 0;
      int64_t behind = it->sample.columns - column - 1;
      if (it->cell->bytes > 0 && behind < empty) empty = behind;
    }
    rows++;
  }
  return rows > 0 && empty < it->sample.columns ? empty : 0;
}

/* --- where the table begins ----------------------------------------------------------------- */

/* Rows of names may be a cell shorter or longer than the others: R's row names, a delimiter at the
 * end of one of the two; or shorter by cells that are always empty. */
static bool may_be_names(const search *it, int row) {
  int64_t cells = it->sample.row[row].cells, columns = it->sample.columns, named = columns;
  while (named > 2 && it->sample.filled[named - 1] == 0) named--;
  if (cells > 1 && cells >= named && cells < columns) return true;
  return cells == columns || (columns > 1 && (cells == columns - 1 || cells == columns + 1));
}

/* The first row that is like those below it. Of columns of numbers, names are words; "unknown"
 * alone is no name where names are above it. */
static int first_regular(search *it, int row) {
  bool typed = is_typed_table(it), named = false;
  for (row = row_next(it, row); row < it->sample.count; row = row_next(it, row + 1)) {
    int64_t more = it->sample.row[row].cells - it->sample.columns;
    if (more != 0 && more != 1) continue;
    row_look look = row_see(it, row);
    if (more) named = named || look.last_empty; /* a, b, c, */
    if (more) continue;
    bool sparse = look.fits == 0 && look.filled * 2 < look.cells; /* a title, and empty cells */
    bool odd = look.misfits == 1 && look.fits == 0 && named && look.units.known == 0;
    if (!typed || (look.fits >= look.misfits && !sparse) || odd) return row;
    named = named || !sparse;
  }
  return it->sample.count;
}

/* The row before `row` that is neither blank nor a comment; -1: none. */
static int row_before(const search *it, int row) {
  while (--row >= 0 && !is_row(it, row)) {
  }
  return row;
}

/* A row of units, most of them known and above numbers. */
static bool are_units(search *it, int row) {
  if (row < 0 || row >= it->sample.count || it->sample.row[row].cells != it->sample.columns)
    return false;
  row_look look = row_see(it, row);
  return look.fits == 0 && look.misfits > 0 && ep_cells_are_units(&look.units);
}

/* Whether a row names the columns of the units below it. A title may have as few cells, or words,
 * as names that are units have. */
static bool are_above_units(search *it, int row, int units) {
  row_look look = row_see(it, units);
  bool white = it->out->found.dialect.delimiter == EP_DELIMITER_SPACE;
  bool wide = !white && it->sample.row[row].cells == it->sample.columns;
  return may_be_names(it, row) && row_see(it, row).filled * 2 > it->sample.row[row].cells &&
         (wide || look.units.known == look.filled);
}

/* A first row of different words, one for each column, names the columns, whatever stands between
 * it and the first row that is like those below: rows whose numbers are missing, units. */
static bool are_names(search *it, int row) {
  int64_t cells = it->sample.row[row].cells, columns = it->sample.columns;
  if (cells != columns && (columns < 3 || cells != columns - 1)) return false;
  row_look look = row_see(it, row);
  return look.misfits > 0 && look.fits == 0 && look.filled == look.cells &&
         look.units.known < look.filled && ep_row_cells_differ(&it->sample, row, it->cell);
}

/* Finds header, units, first row. */
static void table_find(search *it, int start) {
  bool preamble_given = is_given(it, EP_DIALECT_PREAMBLE);
  it->units = -1;
  it->first = row_next(it, start);
  it->second = it->first;
  if (it->first == it->sample.count) return;
  int regular = first_regular(it, it->first);
  if (regular == it->sample.count) regular = it->first; /* words alone, or nothing like a table */
  it->second = regular;
  int last = row_before(it, regular);
  bool white = it->out->found.dialect.delimiter == EP_DELIMITER_SPACE;
  bool early = are_names(it, it->first) && !(white && last >= 0 && are_names(it, last));
  int names = preamble_given || early ? it->first : last;
  if (is_given(it, EP_DIALECT_HEADER) && !it->given->header) names = -1;
  int above = row_before(it, names);
  if (names >= it->first && above >= it->first && are_units(it, names) &&
      are_above_units(it, above, names)) {
    it->units = names;
    names = above;
  }
  for (int i = names; white && i >= it->first && !it->printed; i = row_before(it, i)) {
    it->printed = ep_names_are_printed(&it->sample, i);
    if (it->printed) names = i;
  }
  if (!preamble_given)
    it->first = names >= it->first && (it->printed || may_be_names(it, names)) ? names : regular;
  int below = row_next(it, it->first + 1);
  bool lone = it->printed && below < it->sample.count && it->sample.row[below].cells == 1;
  if (it->units < 0 && (lone || are_units(it, below))) it->units = below;
}

/* --- header --------------------------------------------------------------------------------- */

/* 0, 1, 2, … or 2019, 2020, 2021, …: names that are numbers, above columns whose numbers are
 * others. */
static bool is_sequence(search *it, int row) {
  ep_csv_text text = it->sample.row[row].start;
  double first = 0, step = 0, value = 0;
  int64_t numbers = 0, cells = 0;
  do {
    if (ep_csv_cell_read(&text, 1, it->cell, NULL) != EP_OK) return false;
    if (cells++ == 0 && it->cell->bytes == 0) continue; /* pandas' index has no name */
    double before = value;
    if (!ep_cell_read(EP_CELL_NUMBER, it->cell->text, it->cell->bytes, &value) ||
        value != floor(value))
      return false;
    if (numbers == 0) first = value;
    if (numbers == 1) step = value - first;
    if (numbers >= 1 && (value - before != step || step != 1)) return false;
    numbers++;
  } while (it->cell->stop == EP_CSV_DELIMITER);
  return numbers >= 3 || (numbers >= 2 && first == 0);
}

/* Whether the first row names the columns. Words above words are names until the words of all rows
 * are known (typed_table.c). */
static bool header_find(search *it) {
  row_look look = row_see(it, it->first);
  int below = row_next(it, it->first + 1);
  if (look.misfits > 0 || look.words > 0) {
    evidence_say(it, EP_DIALECT_HEADER,
                 look.misfits > 0 ? "words above %lld column%s of numbers or dates"
                                  : "words above words",
                 (long long)look.misfits, look.misfits == 1 ? "" : "s");
    return true;
  }
  bool names = below < it->sample.count && is_sequence(it, it->first) && !is_sequence(it, below);
  evidence_say(it, EP_DIALECT_HEADER,
               names ? "whole numbers that count up by one"
                     : "a row of numbers and dates, as those below");
  if (look.filled > 0 && below < it->sample.count && !it->counted)
    ep_notes_add(&it->out->notes,
                 names ? "line %lld counts up by one, and is read as the names of the columns: "
                         "?header=false makes it a row"
                       : "line %lld is numbers alone, and is read as a row: ?header=true makes it "
                         "the names of the columns",
                 line_of(it, it->first));
  return names;
}

/* The rows have a cell more than the names. R writes row names so; but so do unquoted decimal
 * commas, and programs that end each row with a delimiter. */
static ep_status row_names_find(search *it, ep_error *error) {
  ep_dialect *dialect = &it->out->found.dialect;
  ep_row_starts starts;
  if (is_given(it, EP_DIALECT_ROW_NAMES)) return EP_OK;
  ep_status status = ep_row_starts_find(&it->sample, it->second, it->cell, &starts, error);
  if (status != EP_OK) return status;
  bool comma = dialect->delimiter == ',';
  const ep_csv_text *header = &it->sample.row[it->first].start;
  bool quoted = starts.quoted && (!comma || !starts.halves || starts.points ||
                                  *header->at == header->quote); /* R quotes both */
  bool words = starts.counted || !ep_sample_is_typed(&it->sample, 0);
  bool proven =
      it->printed || (starts.distinct && starts.rows >= 2 &&
                      (quoted || (words && (comma ? !starts.halves : it->sample.columns > 2))));
  if (!proven)
    return ep_fail(
        error, EP_INVALID,
        "row %lld has %lld cells, and the header has %lld names: either the first column "
        "has no name (?row_names=true), or numbers contain an unquoted %s: quote them, or "
        "use another delimiter",
        line_of(it, it->second), (long long)it->sample.columns,
        (long long)it->sample.row[it->first].cells, comma ? "comma" : "delimiter");
  dialect->row_names = true;
  ep_notes_add(&it->out->notes,
               "the rows have a cell more than the header: column 1 is read as the names of the "
               "rows, and the header names the columns from column 2 on; ?row_names=false refuses "
               "it");
  evidence_say(it, EP_DIALECT_ROW_NAMES,
               "the rows have a cell more than the header, and the first one is different in each");
  return EP_OK;
}

/* 12,5 in each row may be one number, and so may 12 345 678. */
static ep_status halves_note(search *it, ep_error *error) {
  ep_row_starts starts;
  bool white = it->out->found.dialect.delimiter == EP_DELIMITER_SPACE;
  if (white && !is_given(it, EP_DIALECT_DELIMITER) && ep_sample_is_one_number(&it->sample))
    ep_notes_add(&it->out->notes,
                 "the spaces divide each row into %lld columns; where they divide "
                 "thousands, ?delimiter=semicolon&thousands=space makes one",
                 (long long)it->sample.columns);
  if (it->out->columns != 2 || it->out->found.dialect.delimiter != ',' ||
      it->out->found.dialect.header || is_given(it, EP_DIALECT_HEADER) ||
      is_given(it, EP_DIALECT_DELIMITER))
    return EP_OK;
  ep_status status = ep_row_starts_find(&it->sample, it->first, it->cell, &starts, error);
  if (status == EP_OK && starts.halves)
    ep_notes_add(&it->out->notes, "the comma divides each row into two columns; where it is a "
                                  "decimal one, ?delimiter=semicolon&decimal=, makes one");
  return status;
}

/* A header of another width than the rows: which cell is too many. */
static ep_status widths_settle(search *it, ep_error *error) {
  ep_csv_layout *out = it->out;
  int64_t names = it->sample.row[it->first].cells, columns = it->sample.columns;
  int64_t empty = empty_ends(it, it->second);
  bool named = out->found.dialect.header;
  row_look look = row_see(it, it->first);
  out->columns = columns;
  if (it->printed && names != columns - 1)
    return ep_fail(error, EP_INVALID,
                   "line %lld has no name above the first cells of the rows, and %lld names above "
                   "%lld cells: if names or cells contain spaces, save the table as CSV",
                   line_of(it, it->first), (long long)names, (long long)columns);
  if (it->second >= it->sample.count) {
    out->columns = names;
  } else if (!named || names == columns) {
    out->trailing = empty > 0 && (!named || look.last_empty);
    out->columns -= out->trailing;
  } else if (names < columns && columns - names <= empty && !out->found.dialect.row_names) {
    out->trailing = columns - names;
    out->columns = names;
  } else if (names == columns - 1) {
    ep_status status = row_names_find(it, error);
    if (status != EP_OK) return status;
    if (!out->found.dialect.row_names) out->columns = names; /* the first row is refused */
  } else if (names != columns + 1 || !look.last_empty) {
    out->columns = names;
  }
  if (out->trailing)
    ep_notes_add(&out->notes,
                 out->trailing == 1
                     ? "each row ends in a delimiter: the empty cell after it is left out"
                     : "each row ends in %lld delimiters: the empty cells after them are left out",
                 (long long)out->trailing);
  return EP_OK;
}

/* --- lines that are no rows ----------------------------------------------------------------- */

/* The first character of lines among the first ones that may be comments; 0: none. */
static char comment_guess(ep_csv_text text) {
  enum { LINES = 200 };
  static const char marks[] = {'#', '%'};
  int lines = 0, found[2] = {0};
  for (; lines < LINES && text.at < text.end; lines++) {
    for (int i = 0; i < 2; i++) found[i] += ep_csv_first(&text) == marks[i];
    ep_csv_line_take(&text);
  }
  for (int i = 0; i < 2; i++)
    if (found[i] > 0 && 2 * found[i] < lines) return marks[i];
  return 0;
}

/* Whether the lines that begin so are comments: none is a row like the others. */
static bool are_comments(const search *it, char comment) {
  bool any = false;
  for (int i = 0; i < it->sample.count; i++) {
    if (!it->sample.row[i].comment) continue;
    ep_csv_text text = it->sample.row[i].start;
    int64_t cells;
    bool first = row_next(it, 0) > i;
    const char *line = text.at;
    bool read = ep_csv_row_take(&text, it->cell, &cells);
    bool spaced = text.end - line > 1 && (line[1] == ' ' || line[1] == comment);
    if (read && cells == it->sample.columns && (!spaced || (first && cells > 1))) return false;
    any = true;
  }
  return any;
}

static ep_status sample_read(search *it, ep_csv_text text, char comment, ep_error *error) {
  ep_sample_deinit(&it->sample);
  it->end = text;
  return ep_sample_read(&it->end, comment, SAMPLE_ROWS, it->cell, &it->sample, error);
}

/* Finds delimiter, quote and comment, and reads the sample. */
static ep_status lines_find(search *it, ep_csv_text *text, ep_error *error) {
  ep_dialect *dialect = &it->out->found.dialect;
  if (ep_separator_line_take(text, dialect))
    evidence_say(it, EP_DIALECT_DELIMITER, "the line sep=%c", dialect->delimiter);
  const ep_csv_text start = *text; /* it is known how its lines end */
  char comment = is_given(it, EP_DIALECT_COMMENT) ? it->given->comment : comment_guess(start);
  ep_status status = ep_delimiter_find(text, dialect, comment, it->cell, error);
  if (status == EP_OK) status = sample_read(it, *text, comment, error);
  if (status == EP_OK && comment && !is_given(it, EP_DIALECT_COMMENT) &&
      !are_comments(it, comment)) {
    comment = 0;
    *text = start;
    status = ep_delimiter_find(text, dialect, comment, it->cell, error);
    if (status == EP_OK) status = sample_read(it, *text, comment, error);
  }
  dialect->comment = comment;
  return status;
}

static void comments_note(search *it) {
  char shown[EP_EXCERPT_BYTES];
  int count = 0, first = -1;
  for (int i = it->sample.count; i-- > 0;) {
    if (it->sample.row[i].rule && i < it->second) it->out->rule = line_of(it, i);
    if (!it->sample.row[i].comment) continue;
    first = i;
    count += i < it->second;
  }
  if (first < 0) return;
  evidence_say(it, EP_DIALECT_COMMENT, "line %lld: `%s`", line_of(it, first),
               line_excerpt(it, first, shown));
  if (count > 0) /* others are told of with the rows */
    ep_notes_add(&it->out->notes, "comments before the rows are left out, line %lld: `%s`",
                 line_of(it, first), line_excerpt(it, first, shown));
}

static void preamble_note(search *it) {
  char shown[EP_EXCERPT_BYTES];
  int first = row_next(it, 0);
  if (first >= it->first) return;
  evidence_say(it, EP_DIALECT_PREAMBLE, "line %lld does not look like the other rows: `%s`",
               line_of(it, first), line_excerpt(it, first, shown));
  ep_preamble_note(&it->out->notes, &it->sample.row[first].start, it->out->found.dialect.preamble);
}

/* The last line of all, "Total;;57". */
static void total_cut(search *it) {
  char shown[EP_EXCERPT_BYTES];
  const char *end,
      *start = ep_total_line_find(&it->out->rows, &it->sample, it->second, it->cell, &end);
  if (!start) return;
  it->out->rows.end = start;
  ep_notes_add(&it->out->notes, "the last line is left out as a footer: `%s`",
               ep_excerpt(shown, start, (size_t)(end - start)));
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Nothing but blank lines and comments, or a first row that cannot be read. */
static ep_status no_rows(search *it, ep_error *error) {
  ep_csv_text text = it->end;
  ep_status status = EP_OK;
  int64_t column = 1;
  for (; it->sample.broken && status == EP_OK && column <= EP_LIMIT_COLUMNS + 1; column++)
    status = ep_csv_cell_read(&text, column, it->cell, error);
  if (status == EP_OK && column > EP_LIMIT_COLUMNS + 1)
    return ep_fail(error, EP_TOO_LARGE, "line %lld: more than %d columns", (long long)text.line,
                   EP_LIMIT_COLUMNS);
  return status == EP_OK ? ep_fail(error, EP_INVALID, "no rows of data") : status;
}

static ep_status table_settle(search *it, ep_error *error) {
  ep_csv_layout *out = it->out;
  ep_dialect *dialect = &out->found.dialect;
  int start = 0;
  if (is_given(it, EP_DIALECT_PREAMBLE))
    while (start < it->sample.count && line_of(it, start) <= dialect->preamble) start++;
  table_find(it, start);
  if (it->first >= it->sample.count) return no_rows(it, error);
  if (!is_given(it, EP_DIALECT_PREAMBLE)) dialect->preamble = (int32_t)(line_of(it, it->first) - 1);
  if (!is_given(it, EP_DIALECT_HEADER)) dialect->header = header_find(it);
  if (!dialect->header) it->units = -1;
  it->second =
      dialect->header ? row_next(it, (it->units >= 0 ? it->units : it->first) + 1) : it->first;
  out->header = it->sample.row[it->first].start;
  out->rows = it->second < it->sample.count ? it->sample.row[it->second].start : out->header;
  if (it->second >= it->sample.count) out->rows = it->end;
  ep_status status = widths_settle(it, error);
  if (status != EP_OK) return status;
  status = halves_note(it, error);
  if (status != EP_OK) return status;
  preamble_note(it);
  comments_note(it);
  if (!dialect->quote && !is_given(it, EP_DIALECT_QUOTE) &&
      memchr(out->header.at, '"', (size_t)(it->end.at - out->header.at)))
    ep_notes_add(&out->notes,
                 "`\"` is read as a character like others, since cells that begin with "
                 "it do not end with it: ?quote=\" makes it a quote");
  if (dialect->escapes && !is_given(it, EP_DIALECT_QUOTE))
    ep_notes_add(&out->notes, "`\\\"` in quotes is read as `\"`, and `\\\\` as `\\`");
  if (it->units >= 0)
    ep_left_out_note(&out->notes, &it->sample.row[it->units].start,
                     it->printed ? "the name of the row names" : "units");
  total_cut(it);
  char mark[16];
  if (!out->found.evidence[EP_DIALECT_DELIMITER][0])
    evidence_say(it, EP_DIALECT_DELIMITER, "%s: %lld cells in %d of the first %d rows",
                 ep_delimiter_shown(dialect->delimiter, mark), (long long)it->sample.columns,
                 it->sample.regular, it->sample.rows);
  return EP_OK;
}

ep_status ep_csv_layout_find(const ep_csv_source *source, const ep_dialect *given,
                             ep_csv_cell *cell, ep_csv_layout *out, ep_error *error) {
  static const ep_dialect nothing;
  search it = {.given = given ? given : &nothing, .out = out, .cell = cell};
  ep_csv_text text = {.at = source->start, .end = source->end, .mapped = source->mapped, .line = 1};
  int64_t rows;
  *out = (ep_csv_layout){.found.dialect = *it.given,
                         .comments_given = is_given(&it, EP_DIALECT_COMMENT)};
  ep_status status = lines_find(&it, &text, error);
  if (status == EP_OK && source->table && !is_given(&it, EP_DIALECT_HEADER) &&
      ep_csv_counts_take(&text, cell, &rows, &out->labels)) {
    ep_notes_add(
        &out->notes, "the first line is not a header but scikit-learn's: there are %lld rows%s",
        (long long)rows, out->labels.count ? ", and it names the classes of the last column" : "");
    it.counted = true;
    status = sample_read(&it, text, out->found.dialect.comment, error);
  }
  if (status == EP_OK) status = table_settle(&it, error);
  ep_sample_deinit(&it.sample);
  if (status != EP_OK) {
    free(out->labels.name);
    out->labels = (ep_csv_labels){0};
    return status;
  }
  for (ep_dialect_key key = EP_DIALECT_DELIMITER; key <= EP_DIALECT_COMMENT; key++)
    out->found.dialect.set |= UINT32_C(1) << key;
  return EP_OK;
}
