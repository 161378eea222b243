/* text_rows.h: delimited text or JSON records, read as an upload of them is, as the raw rows that a
 * model encodes: its columns in any order, by their names. */
#ifndef EP_ENGINE_DATA_INPUTS_TEXT_ROWS_H
#define EP_ENGINE_DATA_INPUTS_TEXT_ROWS_H

#include "api/json/warnings.h"
#include "engine/data/columns/encoding.h"

/* bytes: [size]; lines: a JSON object a line, else delimited text, whose delimiter, header and
 * decimal commas are found as those of an upload. Without a header a column is called by its index,
 * or, where there are as many as the model takes, by its place. The target, and columns that are no
 * features, are passed over. Words that are not known go into the warnings. *x: [*rows,
 * encoding->columns], the caller's. EP_INVALID: a column that is missing or not known, a cell of
 * another type (at /rows/<row>/<column>), text that cannot be read; EP_TOO_LARGE: more than
 * EP_LIMIT_PREDICT_ROWS or EP_LIMIT_PREDICT_BYTES. */
ep_status ep_text_rows_read(const ep_encoding *encoding, const void *bytes, size_t size, bool lines,
                            double **x, int64_t *rows, ep_warnings *warnings, ep_problem *problem);

#endif
