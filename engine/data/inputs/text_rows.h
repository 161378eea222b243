/* text_rows.h: delimited text or JSON records as the raw rows that a model encodes: its columns in
 * any order, by their names; read in the dialect of the table that it learnt from. */
#ifndef EP_ENGINE_DATA_INPUTS_TEXT_ROWS_H
#define EP_ENGINE_DATA_INPUTS_TEXT_ROWS_H

#include "api/json/warnings.h"
#include "engine/data/columns/encoding.h"
#include "engine/data/inputs/row_lines.h"

/* Rows as text. */
typedef struct ep_text_body {
  const char *text; /* [bytes], lent */
  size_t bytes;
  bool lines;           /* a JSON object a line; else delimited text */
  bool ahead;           /* rows to come, of which the target may not be there */
  int64_t steps;        /* rows to forecast behind them; 0: none, they are predicted themselves */
  ep_dialect dialect;   /* what the request says of it; other keys are the model's, and where that
                           learnt from no text, found */
  ep_row_lines *copied; /* written: the rows as they stand in the text; NULL: not wanted */
} ep_text_body;

/* Where the rows are, text_layout.h finds. Without a header a column is called by its
 * index, or, where there are as many as the model takes, by its place. The target, columns that are
 * no features, and one without a name that the model does not know are passed over. Words that are
 * not known go into the warnings. Each cell is read by the dialect alone. *x: [*rows,
 * encoding->columns], the caller's. EP_INVALID: a column that is missing or not known, a cell of
 * another type (at /rows/<row>/<column>), text that cannot be read or is plainly of another
 * dialect; EP_TOO_LARGE: more than EP_LIMIT_PREDICT_ROWS, which those before a forecast may be, or
 * EP_LIMIT_PREDICT_BYTES. */
ep_status ep_text_rows_read(const ep_encoding *encoding, const ep_text_body *body, double **x,
                            int64_t *rows, ep_warnings *warnings, ep_problem *problem);

#endif
