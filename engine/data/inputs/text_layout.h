/* text_layout.h: where the rows are in a delimited text that a model is asked about. Nothing of it
 * is guessed: the model's names say which line is the header, its dialect or the request all else.
 */
#ifndef EP_ENGINE_DATA_INPUTS_TEXT_LAYOUT_H
#define EP_ENGINE_DATA_INPUTS_TEXT_LAYOUT_H

#include "engine/data/columns/encoding.h"
#include "engine/data/dialect/layout.h"

/* text: [end - start], UTF-8 without a byte order mark. dialect: what is known; where the delimiter
 * is not, it is found. cell: working memory. Lines above the header, and one of units below
 * it, are left out, with a note. EP_INVALID, EP_NO_MEMORY. free(out->labels.name). */
ep_status ep_text_layout_find(const ep_encoding *encoding, const ep_dialect *dialect,
                              const char *start, const char *end, ep_csv_cell *cell,
                              ep_csv_layout *out, ep_error *error);

#endif
