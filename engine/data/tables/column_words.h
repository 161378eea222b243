/* column_words.h: the words of a column: what they read as, which of them are missing cells, which
 * are one word. */
#ifndef EP_ENGINE_DATA_TABLES_COLUMN_WORDS_H
#define EP_ENGINE_DATA_TABLES_COLUMN_WORDS_H

#include "engine/data/datasets/dataset.h"
#include "engine/data/tables/column_cells.h"

/* Sums up what the words read as, once. */
void ep_column_words_count(ep_column_cells *cells);

/* Words for a missing cell that the table has, a bit each: in columns of numbers or dates, where
 * they can be nothing else; and in columns of words, in few cells or beside empty ones. */
typedef struct {
  uint64_t typed, rare;
} ep_gap_words;

ep_gap_words ep_columns_gaps(const ep_column_cells *cells, int64_t columns);

/* Decides what is stored for each word of the column, in cells->value, and describes a category in
 * column->words. Words of one key are one. NA and the like are missing cells of numbers and dates;
 * of words they are words where nothing in the file shows that they are not. gaps: of the table. */
ep_status ep_column_words_settle(ep_column *column, ep_column_cells *cells,
                                 const ep_gap_words *gaps, const ep_dialect *dialect,
                                 ep_error *error);

#endif
