/* range.h: cells to predict that lie far outside of those that a model learnt from. */
#ifndef EP_ENGINE_DATA_COLUMNS_RANGE_H
#define EP_ENGINE_DATA_COLUMNS_RANGE_H

#include "api/json/warnings.h"
#include "engine/data/columns/encoding.h"

enum { EP_RANGE_WARNINGS = 3 };

/* x: [rows, encoding->columns], raw rows. A warning at /rows/<row>/<column> for the first cell of a
 * column of numbers that is beyond its training cells by more than these are apart; of so many
 * columns at most. */
void ep_encoding_range_warn(const ep_encoding *encoding, const double *x, int64_t rows,
                            ep_warnings *warnings);

#endif
