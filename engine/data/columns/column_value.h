/* column_value.h: what a cell stands for before it is scaled, in fit and in apply. */
#ifndef EP_ENGINE_DATA_COLUMNS_COLUMN_VALUE_H
#define EP_ENGINE_DATA_COLUMNS_COLUMN_VALUE_H

#include "engine/data/columns/encoding.h"

/* The number of the word of a cell, or -1: missing, or not told apart. */
int64_t ep_column_word(const ep_column_encoding *column, double cell);

/* Of a number or an ordinal: the cell, or its logarithm. */
double ep_column_value(const ep_column_encoding *column, double cell);

#endif
