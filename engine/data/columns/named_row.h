/* named_row.h: a row as a JSON object of cells by the names of their columns. */
#ifndef EP_ENGINE_DATA_COLUMNS_NAMED_ROW_H
#define EP_ENGINE_DATA_COLUMNS_NAMED_ROW_H

#include <jansson.h>

#include "api/json/fields.h"
#include "engine/data/columns/encoding.h"

/* object: {"age":31,"city":"Oslo","since":"2024-02-29","income":null}: null is a missing cell, and
 * so is a text that tables have for one ("", "NA"); numbers may be texts; a word that is not known
 * is another word. Columns that are no features, and the target, may be there. Faults at
 * pointer/<name>, of which it lists all it has room for: a column that the model does not know, one
 * that is not there, a cell of another type. */
/* The raw row: cells: [encoding->columns], written. */
ep_status ep_encoding_cells_read(const ep_encoding *encoding, const json_t *object,
                                 const char *pointer, double *cells, ep_problem *problem);
/* The same, encoded: out: [encoding->features], written. */
ep_status ep_encoding_row_read(const ep_encoding *encoding, const json_t *object,
                               const char *pointer, double *out, ep_problem *problem);

/* What such an object is read by, for rows that are written otherwise. The index of a column, the
 * first of several alike; -1: none has the name. */
int64_t ep_encoding_column_find(const ep_encoding *encoding, const char *name);
/* Where by_name has the first column of that name, and the others behind it; -1: none has it. */
int64_t ep_encoding_name_find(const ep_encoding *encoding, const char *name);
/* Whether by_name has a column of that name there; at: from 0 on. */
bool ep_encoding_name_is(const ep_encoding *encoding, int64_t at, const char *name);
/* A cell that is text, in that dialect; false where it cannot be one of the column. */
bool ep_encoding_text_read(const ep_column_encoding *column, const ep_dialect *dialect,
                           const char *text, size_t bytes, double *cell);
/* Add the fault: a column that the model does not know; such a cell. */
void ep_encoding_unknown_refuse(ep_field_reader *reader, const ep_encoding *encoding,
                                const char *name);
void ep_encoding_text_refuse(ep_field_reader *reader, const ep_column_encoding *column,
                             const char *text, size_t bytes);

#endif
