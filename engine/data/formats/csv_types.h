/* csv_types.h: what the columns of a table of any cells are: numbers, dates, words, text. */
#ifndef EP_ENGINE_DATA_FORMATS_CSV_TYPES_H
#define EP_ENGINE_DATA_FORMATS_CSV_TYPES_H

#include "engine/data/cells/cell.h"
#include "engine/data/formats/csv_rows.h"
#include "engine/data/formats/word_set.h"

/* How the cells of a column are read. */
typedef struct {
  int64_t missing, present;        /* cells */
  int64_t accepted[EP_CELL_KINDS]; /* cells that each kind reads */
  ep_cell_kind kind;               /* of numbers and dates; EP_CELL_KINDS: these are words */
  ep_word_set words;               /* of a category, in the order of its numbers, owned */
} ep_csv_type;

/* Walks over the text, once for the kinds of cells and once for the words, and decides: a column of
 * which 99 % of the cells are numbers, or dates, of one kind is that; another one is a category, or
 * text: more than EP_LIMIT_CATEGORIES words, one of more than EP_LIMIT_WORD_BYTES, or none that
 * occurs twice. Type, words and, of text, the distinct ones go into column[columns]; types:
 * [columns], zeroed, whose words are the caller's also on failure. */
ep_status ep_csv_types_find(ep_csv_text text, int64_t columns, ep_csv_cell *cell, ep_column *column,
                            ep_csv_type *types, ep_error *error);

/* Whether a first line that was taken for names is none, but a row like those below it: its numbers
 * and dates are such as its columns have, and most of its words are words of its columns. Names:
 * those of column[columns]. */
bool ep_csv_names_are_cells(const ep_column *column, const ep_csv_type *types, int64_t columns);

/* Forgets what was found, names too. */
void ep_csv_types_reset(ep_column *column, ep_csv_type *types, int64_t columns);

#endif
