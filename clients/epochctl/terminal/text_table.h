/* text_table.h: rows of text in aligned columns, fitted to the terminal. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_TEXT_TABLE_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/epochctl/terminal/terminal.h"

typedef struct {
  const char *title; /* a loan for the table's life */
  bool right;        /* aligned at its right edge: numbers */
  bool cuts;         /* narrowed where the line is too wide */
} ep_text_column;

enum { EP_TEXT_TABLE_COLUMNS = 40 };

/* From {0}; end with ep_text_table_deinit. */
typedef struct {
  ep_text_column columns[EP_TEXT_TABLE_COLUMNS];
  int columns_count;
  char **cells; /* [rows, columns_count], escaped; NULL for an empty one */
  ep_colour *colours;
  size_t cells_count, cells_capacity;
  bool failed; /* memory was short: nothing is printed */
} ep_text_table;

/* Adds a column, before the first cell; those beyond EP_TEXT_TABLE_COLUMNS are left out. */
void ep_text_table_column(ep_text_table *table, const char *title, bool right, bool cuts);
/* The same of columns[count]. */
void ep_text_table_columns(ep_text_table *table, const ep_text_column *columns, int count);

/* Adds the next cell, row by row. The text is copied and escaped; NULL is an empty cell. */
void ep_text_table_cell(ep_text_table *table, const char *text, ep_colour colour);

/* Prints titles (bold, unless `titles` is false) and rows to standard output. Where a line
 * is wider than a terminal (ep_terminal_width; a pipe has no width), the columns with `cuts` are
 * narrowed, the widest first; where that is not enough, the last columns are left out. False when
 * memory was short. */
bool ep_text_table_print(const ep_text_table *table, const ep_terminal *terminal, bool titles);

void ep_text_table_deinit(ep_text_table *table);

#endif
