#include "clients/epochctl/terminal/text_table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/terminal/text.h"

enum { GAP = 2, LEAST_WIDTH = 6 };

void ep_text_table_column(ep_text_table *table, const char *title, bool right, bool cuts) {
  if (table->columns_count == EP_TEXT_TABLE_COLUMNS) return;
  table->columns[table->columns_count++] = (ep_text_column){title, right, cuts};
}

void ep_text_table_columns(ep_text_table *table, const ep_text_column *columns, int count) {
  for (int i = 0; i < count; i++)
    ep_text_table_column(table, columns[i].title, columns[i].right, columns[i].cuts);
}

static bool cells_grow(ep_text_table *table) {
  if (table->cells_count < table->cells_capacity) return true;
  size_t capacity = table->cells_capacity ? table->cells_capacity * 2 : 64;
  if (capacity > SIZE_MAX / sizeof(char *)) return false;
  char **cells = realloc(table->cells, capacity * sizeof *cells);
  if (!cells) return false;
  table->cells = cells;
  ep_colour *colours = realloc(table->colours, capacity * sizeof *colours);
  if (!colours) return false;
  table->colours = colours;
  table->cells_capacity = capacity;
  return true;
}

void ep_text_table_cell(ep_text_table *table, const char *text, ep_colour colour) {
  char *copy = NULL;
  if (table->failed || !cells_grow(table)) {
    table->failed = true;
    return;
  }
  if (text && *text) {
    ep_writer writer;
    ep_writer_init(&writer, strlen(text) * 8 + 1);
    ep_text_escape(&writer, text);
    copy = ep_writer_take(&writer);
    if (!copy) table->failed = true;
  }
  table->colours[table->cells_count] = colour;
  table->cells[table->cells_count++] = copy;
}

static const char *cell_text(const ep_text_table *table, size_t row, int column) {
  size_t index = row * (size_t)table->columns_count + (size_t)column;
  return index < table->cells_count && table->cells[index] ? table->cells[index] : "";
}

static ep_colour cell_colour(const ep_text_table *table, size_t row, int column) {
  size_t index = row * (size_t)table->columns_count + (size_t)column;
  return index < table->cells_count ? table->colours[index] : EP_COLOUR_PLAIN;
}

static int width_least(const ep_text_column *column, int width) {
  return column->cuts && width > LEAST_WIDTH ? LEAST_WIDTH : width;
}

/* The columns that fit when each is as narrow as allowed; the first always does. */
static int columns_fit(const ep_text_table *table, const int widths[EP_TEXT_TABLE_COLUMNS],
                       int room) {
  int total = 0;
  for (int c = 0; c < table->columns_count; c++) {
    total += width_least(&table->columns[c], widths[c]) + (c > 0 ? GAP : 0);
    if (total > room && c > 0) return c;
  }
  return table->columns_count;
}

/* Narrows the widest column with `cuts`, step by step, until the first `count` fit. */
static void columns_narrow(const ep_text_table *table, int widths[EP_TEXT_TABLE_COLUMNS], int count,
                           int room) {
  int total = GAP * (count - 1);
  for (int c = 0; c < count; c++) total += widths[c];
  while (total > room) {
    int widest = -1;
    for (int c = 0; c < count; c++)
      if (table->columns[c].cuts && widths[c] > LEAST_WIDTH &&
          (widest < 0 || widths[c] > widths[widest]))
        widest = c;
    if (widest < 0) return;
    widths[widest]--;
    total--;
  }
}

static void cell_print(const ep_terminal *terminal, const char *text, int width, bool right,
                       bool last, ep_colour colour) {
  const char *ellipsis = "";
  int taken = ep_text_width(text);
  size_t bytes = strlen(text);
  if (taken > width) {
    ellipsis = terminal->unicode ? "\u2026" : "~";
    bytes = ep_text_fit(text, width - 1);
    char start[1024]; /* no wider than a terminal */
    snprintf(start, sizeof start, "%.*s", (int)bytes, text);
    taken = ep_text_width(start) + 1;
  }
  int pad = width - taken;
  if (right) printf("%*s", pad, "");
  if (colour != EP_COLOUR_PLAIN) fputs(ep_terminal_colour(terminal, colour), stdout);
  printf("%.*s%s", (int)bytes, text, ellipsis);
  if (colour != EP_COLOUR_PLAIN) fputs(ep_terminal_colour(terminal, EP_COLOUR_PLAIN), stdout);
  if (!last) printf("%*s", (right ? 0 : pad) + GAP, "");
}

static void widths_find(const ep_text_table *table, size_t rows, bool titles,
                        int widths[EP_TEXT_TABLE_COLUMNS]) {
  for (int c = 0; c < table->columns_count; c++) {
    widths[c] = titles ? ep_text_width(table->columns[c].title) : 0;
    for (size_t row = 0; row < rows; row++) {
      int width = ep_text_width(cell_text(table, row, c));
      if (width > widths[c]) widths[c] = width;
    }
  }
}

bool ep_text_table_print(const ep_text_table *table, const ep_terminal *terminal, bool titles) {
  int widths[EP_TEXT_TABLE_COLUMNS], count = table->columns_count;
  if (table->failed || count == 0) return !table->failed;
  size_t rows = (table->cells_count + (size_t)count - 1) / (size_t)count;
  int room = terminal->live ? ep_terminal_width(terminal) : 0; /* a pipe gets whole lines */
  widths_find(table, rows, titles, widths);
  if (room > 0) {
    count = columns_fit(table, widths, room);
    columns_narrow(table, widths, count, room);
  }
  for (int c = 0; c < count && titles; c++)
    cell_print(terminal, table->columns[c].title, widths[c], table->columns[c].right,
               c == count - 1, EP_COLOUR_BOLD);
  if (titles) putchar('\n');
  for (size_t row = 0; row < rows; row++) {
    for (int c = 0; c < count; c++)
      cell_print(terminal, cell_text(table, row, c), widths[c], table->columns[c].right,
                 c == count - 1, cell_colour(table, row, c));
    putchar('\n');
  }
  return true;
}

void ep_text_table_deinit(ep_text_table *table) {
  for (size_t i = 0; i < table->cells_count; i++) free(table->cells[i]);
  free(table->cells);
  free(table->colours);
  *table = (ep_text_table){0};
}
