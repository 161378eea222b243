/* delimiter.h: what delimits and quotes the cells of a text. */
#ifndef EP_ENGINE_DATA_DIALECT_DELIMITER_H
#define EP_ENGINE_DATA_DIALECT_DELIMITER_H

#include "engine/data/dialect/csv_cell.h"

/* Scores delimiters and quotes over the first rows, and writes delimiter, quote and escapes of text
 * and dialect; keys of the dialect that are set are obeyed. How lines end is known from
 * ep_separator_line_take.
 * Of a printed table it also writes what printed.h says, and text->at goes to the first cell.
 * EP_INVALID where two delimiters explain the rows equally. */
ep_status ep_delimiter_find(ep_csv_text *text, ep_dialect *dialect, char comment, ep_csv_cell *cell,
                            ep_error *error);

/* "`;`", "a tab": as messages have it. */
const char *ep_delimiter_shown(char delimiter, char out[16]);

/* Finds how lines end, and writes text->cr. Then takes Excel's first line, "sep=;". True: it sets
 * the dialect's delimiter, which was not set. */
bool ep_separator_line_take(ep_csv_text *text, ep_dialect *dialect);

#endif
