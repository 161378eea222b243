/* table.h: rows of text in aligned columns, fitted to a width. */
#ifndef EP_CLIENTS_EPOCHCTL_TABLE_H
#define EP_CLIENTS_EPOCHCTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/epochctl/terminal.h"

typedef struct {
  const char *title; /* a loan for the table's life */
  bool right;        /* figures are aligned at their end */
  bool cuts;         /* may be cut where the line is too wide */
} ep_column;

enum { EP_TABLE_COLUMNS = 40 };

/* From {0}; end with ep_table_deinit. */
typedef struct {
  ep_column columns[EP_TABLE_COLUMNS];
  int columns_count;
  char **cells; /* rows_count * columns_count, escaped; NULL is an empty one */
  ep_colour *colours;
  size_t cells_count, cells_capacity;
  bool failed; /* memory was short: nothing is printed */
} ep_table;

/* Columns come before the first cell; more than EP_TABLE_COLUMNS are left out. */
void ep_table_column(ep_table *table, const char *title, bool right, bool cuts);
/* The next cell, row by row; the text is copied and escaped. NULL is an empty one. */
void ep_table_cell(ep_table *table, const char *text, ep_colour colour);

/* Prints titles (bold, unless `titles` is false) and rows to standard output. Columns that may be
 * cut are, from the widest, until a line fits the terminal, and where that is not enough the last
 * columns are left out; in a pipe nothing is. False when
 * memory was short. */
bool ep_table_print(const ep_table *table, const ep_terminal *terminal, bool titles);

void ep_table_deinit(ep_table *table);

#endif
