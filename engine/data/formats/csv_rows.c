#include "engine/data/formats/csv_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/utf8.h"
#include "engine/data/cells/cell.h"
#include "engine/data/dialect/printed.h"
#include "engine/data/dialect/sample.h"
#include "engine/files/excerpt.h"
#include "engine/files/mapping.h"

enum { DROP_BYTES = 1 << 20 };

/* Of a file of any size, little lies in memory at a time. */
static void behind_drop(const ep_csv_text *text, const char **kept) {
  if (!text->mapped || text->at - *kept < DROP_BYTES) return;
  ep_mapping_drop(*kept, (size_t)(text->at - *kept));
  *kept = text->at;
}

/* A line of the header again, as files have that were put together. */
typedef struct {
  const char *text;
  size_t bytes; /* 0: none */
  int64_t found, first;
} repeated_header;

static repeated_header header_of(const ep_csv_layout *layout) {
  repeated_header header = {.text = layout->header.at};
  if (!layout->found.dialect.header || layout->columns < 2) return header;
  header.bytes = (size_t)(ep_csv_line_end(&layout->header, header.text) - header.text);
  bool open = false; /* a cell goes on in the next line */
  for (size_t i = 0; layout->header.quote && i < header.bytes; i++)
    open ^= header.text[i] == layout->header.quote;
  if (open) header.bytes = 0;
  return header;
}

static bool header_take(ep_csv_text *text, repeated_header *header) {
  size_t left = (size_t)(text->end - text->at);
  if (header->bytes == 0 || left < header->bytes || *text->at != *header->text ||
      memcmp(text->at, header->text, header->bytes) != 0 ||
      ep_csv_line_end(text, text->at) != text->at + header->bytes)
    return false;
  if (header->found++ == 0) header->first = text->line;
  ep_csv_line_take(text);
  return true;
}

/* Lines that are left out. */
typedef struct {
  repeated_header header;
  int64_t rule; /* the first line of dashes; 0: none */
  int64_t comments, first_comment;
  char comment[EP_EXCERPT_BYTES];
} left_out;

/* The cells that a line which is no row may have. */
static int64_t few_cells(const ep_csv_layout *layout) {
  bool words = layout->rows.delimiter == EP_DELIMITER_SPACE;
  return words ? layout->columns + layout->trailing - 1 : 1;
}

/* Takes a comment: a line that begins with the dialect's mark, or with a usual one and has few
 * cells. EP_INVALID: it has the mark, and as many cells as a row. */
static ep_status comment_take(const ep_csv_layout *layout, ep_csv_text *text, ep_csv_cell *cell,
                              left_out *out, bool *taken, ep_error *error) {
  char mark = layout->found.dialect.comment, first = ep_csv_first(text);
  bool marked = mark && first == mark, usual = first == '#' || first == '%';
  *taken = marked && layout->comments_given;
  if ((marked || usual) && !layout->comments_given) {
    ep_csv_text line = *text;
    int64_t columns = layout->columns + layout->trailing, cells;
    bool read = ep_csv_row_take(&line, cell, &cells);
    if (marked && read && cells == columns && columns > 1)
      return ep_fail(error, EP_INVALID,
                     "line %lld begins as comments do, and has %lld cells as a row: ?comment=none "
                     "makes it one, ?comment=%c skips it",
                     (long long)text->line, (long long)columns, mark);
    *taken = marked || (read && columns > 1 && cells <= few_cells(layout));
  }
  if (!*taken) return EP_OK;
  if (out->comments++ == 0) {
    out->first_comment = text->line;
    ep_excerpt(out->comment, text->at, (size_t)(ep_csv_line_end(text, text->at) - text->at));
  }
  ep_csv_line_take(text);
  return EP_OK;
}

/* A number or a date, where the first cell of the first row is one too: a row that was cut. */
static bool is_cut_row(const ep_csv_layout *layout, ep_csv_text text, ep_csv_cell *cell) {
  ep_csv_text first = layout->rows;
  if (ep_csv_cell_read(&first, 1, cell, NULL) != EP_OK) return false;
  ep_cell_shape shape = ep_cell_shape_of(cell->text, cell->bytes);
  return ep_csv_cell_read(&text, 1, cell, NULL) == EP_OK &&
         (shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE) &&
         ep_cell_shape_of(cell->text, cell->bytes) == shape;
}

/* Whether the lines from here to the end are few, and none is like a row: each of one cell, or,
 * below a blank line and where white space delimits words, of fewer than a row. */
static bool is_footer(const ep_csv_layout *layout, ep_csv_text text, ep_csv_cell *cell,
                      bool below_blank, bool printed) {
  enum { LINES = 10 };
  int64_t columns = layout->columns + layout->trailing, cells;
  int64_t most = below_blank ? columns - 1 : few_cells(layout);
  int lines = 0;
  bool counted = (printed || below_blank) && ep_csv_is_row_count(&text);
  bool drawn = text.gap > 0 && !below_blank; /* a row with empty cells */
  bool footer = counted || (columns > 1 && !drawn && !is_cut_row(layout, text, cell));
  if (counted) most = EP_LIMIT_COLUMNS;
  for (; footer && text.at < text.end; lines++) {
    if (ep_csv_rule_take(&text) || ep_csv_blank_line_take(&text)) continue;
    footer = ep_csv_row_take(&text, cell, &cells) && cells <= most && lines < LINES;
  }
  return footer && lines > 0;
}

static void left_out_note(const ep_csv_layout *layout, const left_out *out, ep_notes *notes) {
  const repeated_header *header = &out->header;
  if (out->rule > 0)
    ep_notes_add(notes,
                 "lines of dashes, as of a printed table, are left out, the first is line %lld",
                 (long long)out->rule);
  if (layout->rows.framed) ep_notes_add(notes, "the `|` at both ends of each line are left out");
  if (header->found > 0)
    ep_notes_add(notes, "the header is repeated %lld time%s, first in line %lld: left out",
                 (long long)header->found, header->found == 1 ? "" : "s", (long long)header->first);
  if (out->comments > 0)
    ep_notes_add(notes, "%lld line%s left out as comments, the first is line %lld: `%s`",
                 (long long)out->comments, out->comments == 1 ? " is" : "s are",
                 (long long)out->first_comment, out->comment);
}

static void footer_note(const ep_csv_text *text, ep_notes *notes) {
  char shown[EP_EXCERPT_BYTES];
  ep_notes_add(notes, "the lines after line %lld are left out as a footer: `%s`",
               (long long)text->line - 1,
               ep_excerpt(shown, text->at, (size_t)(ep_csv_line_end(text, text->at) - text->at)));
}

ep_status ep_csv_rows_read(const ep_csv_layout *layout, ep_csv_cell *cell, ep_csv_row_read read,
                           void *context, ep_notes *notes, ep_error *error) {
  enum { FOOTER_BYTES = 2048 }; /* none begins further from the end */
  ep_csv_text text = layout->rows;
  ep_status status = EP_OK;
  left_out out = {.header = header_of(layout), .rule = layout->rule};
  const char *kept = text.at;
  int64_t blank = 0, rows = 0, columns = layout->columns + layout->trailing;
  bool white = text.delimiter == EP_DELIMITER_SPACE;
  if (text.rule && columns != text.drawn)
    return ep_fail(
        error, EP_INVALID,
        "the line of dashes has %d columns, and the rows have %lld: save the table as CSV",
        text.drawn, (long long)columns);
  while (status == EP_OK && text.at < text.end) {
    int64_t line = text.line;
    bool comment = false, near_end = text.end - text.at < FOOTER_BYTES;
    if (ep_csv_blank_line_take(&text)) {
      if (blank == 0) blank = line;
      continue;
    }
    if (ep_csv_rule_take(&text)) {
      if (out.rule == 0) out.rule = line;
      continue;
    }
    status = comment_take(layout, &text, cell, &out, &comment, error);
    if (status != EP_OK || comment || header_take(&text, &out.header)) continue;
    if (near_end && rows > 0 && is_footer(layout, text, cell, blank != 0, out.rule != 0)) {
      footer_note(&text, notes);
      break;
    }
    if (blank != 0) status = ep_fail(error, EP_INVALID, "row %lld is empty", (long long)blank);
    if (status == EP_OK && white) status = ep_printed_row_check(&text, error);
    if (status == EP_OK) status = read(context, &text, error);
    rows++;
    behind_drop(&text, &kept);
  }
  if (status == EP_OK && rows == 0) status = ep_fail(error, EP_INVALID, "no rows of data");
  if (status == EP_OK) left_out_note(layout, &out, notes);
  return status;
}

/* Refuses a row that ended before `column` (from 0), or has more than `columns`. `stop` ended the
 * cell before; line: the row's. */
static ep_status row_check(const ep_csv_layout *layout, int64_t line, int64_t column,
                           ep_csv_stop stop, ep_error *error) {
  long long first = (long long)layout->header.line, columns = (long long)layout->columns;
  if (column == columns && stop == EP_CSV_DELIMITER)
    return ep_fail(error, EP_INVALID,
                   "row %lld has more cells than row %lld, which has %lld: cells containing the "
                   "delimiter must be quoted",
                   (long long)line, first, columns);
  if (column < columns && stop != EP_CSV_DELIMITER)
    return ep_fail(error, EP_INVALID, "row %lld has %lld cell%s, row %lld has %lld",
                   (long long)line, (long long)column, column == 1 ? "" : "s", first, columns);
  return EP_OK;
}

/* The end of a row behind its last column, with the empty cells that are there where rows end in
 * delimiters. */
static ep_status row_end(const ep_csv_layout *layout, ep_csv_text *text, int64_t line,
                         ep_csv_cell *cell, ep_error *error) {
  char shown[EP_EXCERPT_BYTES];
  for (int64_t i = 1; i <= layout->trailing && cell->stop == EP_CSV_DELIMITER; i++) {
    ep_status status = ep_csv_cell_read(text, layout->columns + i, cell, error);
    if (status != EP_OK) return status;
    if (cell->bytes > 0)
      return ep_fail(
          error, EP_INVALID,
          "row %lld has \"%s\" after its last column, where the previous rows end in a delimiter",
          (long long)line, ep_excerpt(shown, cell->text, cell->bytes));
  }
  return row_check(layout, line, layout->columns, cell->stop, error);
}

/* The number of a label becomes its name. */
static void label_name(const ep_csv_labels *labels, ep_table_cell *cell) {
  double value;
  if (!ep_cell_read(EP_CELL_NUMBER, cell->text, cell->bytes, &value)) return;
  if (!(value >= 0 && value < (double)labels->count && value == floor(value))) return;
  cell->text = labels->name[(int64_t)value].name;
  cell->bytes = strlen(cell->text);
  cell->plain = false;
}

static ep_status row_cells_read(ep_csv_table *table, ep_csv_text *text, ep_table_cell_read read,
                                void *context, ep_error *error) {
  const ep_csv_layout *layout = table->layout;
  int64_t row = text->line, columns = layout->columns;
  ep_csv_cell *own = table->cell;
  ep_status status = EP_OK;
  own->stop = EP_CSV_DELIMITER;
  for (int64_t column = 0; column < columns; column++) {
    int64_t line = text->line;
    if (own->stop != EP_CSV_DELIMITER) return row_check(layout, row, column, own->stop, error);
    status = ep_csv_cell_read(text, column + 1, own, error);
    if (status != EP_OK) return status;
    /* within quotes, too, spaces around a word are no part of it */
    ep_table_cell cell = ep_table_cell_make(own->text, own->bytes, line, column);
    cell.plain = own->plain;
    cell.value = own->value;
    if (layout->labels.count > 0 && column == columns - 1) label_name(&layout->labels, &cell);
    status = read(context, &cell, error);
    if (status != EP_OK) return status;
  }
  return row_end(layout, text, row, own, error);
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
  walk->table->rows.row_start = text->at;
  ep_status status = row_cells_read(walk->table, text, walk->read, walk->context, error);
  walk->table->rows.row_end = text->at;
  return status == EP_OK && walk->end ? walk->end(walk->context, error) : status;
}

static ep_status table_walk(ep_table_rows *rows, ep_table_cell_read read, ep_table_row_end end,
                            void *context, ep_error *error) {
  ep_csv_table *table = (ep_csv_table *)rows;
  walker walk = {table, read, end, context};
  ep_status status =
      ep_csv_rows_read(table->layout, table->cell, row_walk, &walk, table->notes, error);
  table->notes = NULL;
  return status;
}

ep_csv_table ep_csv_table_of(ep_csv_layout *layout, ep_dialect *dialect, ep_csv_cell *cell,
                             ep_notes *notes) {
  return (ep_csv_table){
      .rows = {.columns = layout->columns, .dialect = dialect, .walk = table_walk},
      .layout = layout,
      .cell = cell,
      .notes = notes};
}

static ep_status name_set(ep_column *column, ep_csv_cell *cell, long long line, long long number,
                          ep_error *error) {
  if (cell->bytes > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE,
                   "row %lld, column %lld: a name of %zu bytes: the limit is %d", line, number,
                   cell->bytes, EP_LIMIT_NAME_BYTES);
  if (!ep_utf8_valid(cell->text, cell->bytes))
    return ep_fail(error, EP_INVALID, "row %lld, column %lld: the name is not UTF-8", line, number);
  memcpy(column->name, cell->text, cell->bytes);
  column->name[cell->bytes] = 0;
  for (char *at = column->name; *at; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7F) *at = ' ';
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
