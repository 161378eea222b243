/* totals.h: the line of totals at the end of a table. */
#ifndef EP_ENGINE_DATA_DIALECT_TOTALS_H
#define EP_ENGINE_DATA_DIALECT_TOTALS_H

#include "engine/data/dialect/sample.h"

/* The start of the last line that is not blank, and its end, where its first word is one for a
 * total and no other row of the sample, from `first` on, has one in that column; else NULL. cell:
 * working memory. */
const char *ep_total_line_find(const ep_csv_text *rows, const ep_sample *sample, int first,
                               ep_csv_cell *cell, const char **end);

#endif
