/* column_value.h: what a cell stands for before it is scaled, in fit and in apply. */
#ifndef EP_ENGINE_DATA_COLUMNS_COLUMN_VALUE_H
#define EP_ENGINE_DATA_COLUMNS_COLUMN_VALUE_H

#include "engine/data/columns/encoding.h"

/* The number of the word of a cell, or -1: missing, or not told apart. */
int64_t ep_column_word(const ep_column_encoding *column, double cell);
/* The cell of word `word`; of -1: that of another word, which is none of the column's. */
double ep_column_word_cell(const ep_column_encoding *column, int64_t word);

/* Of a number or an ordinal: the cell, or its logarithm. */
double ep_column_value(const ep_column_encoding *column, double cell);

#endif
