/* named_row.h: a row as a JSON object of cells by the names of their columns. */
#ifndef EP_ENGINE_DATA_COLUMNS_NAMED_ROW_H
#define EP_ENGINE_DATA_COLUMNS_NAMED_ROW_H

#include <jansson.h>

#include "api/json/fields.h"
#include "engine/data/columns/encoding.h"

/* object: {"age":31,"city":"Oslo","since":"2024-02-29","income":null}: null is a missing cell, and
 * so is a text that tables have for one ("", "NA"); numbers may be texts. Words and names of
 * columns are equal where their keys are (word_key.h), and the same bytes come first; a word that
 * is not known is another word, with a warning. Columns that are no features, and the target, may
 * be there. Faults at pointer/<name>, of which it lists all it has room for: a column that the
 * model does not know, one that is not there, a cell of another type. */
/* The raw row: cells: [encoding->columns], written. warnings: NULL: they are not listed. */
ep_status ep_encoding_cells_read(const ep_encoding *encoding, const json_t *object,
                                 const char *pointer, double *cells, ep_warnings *warnings,
                                 ep_problem *problem);
/* What such an object is read by, for rows that are written otherwise. *at: where by_name has the
 * first column of that name, and the others behind it; -1: none has it. Where no column has these
 * bytes, it is the one whose name has the same key, unless names differ that have it. EP_NO_MEMORY.
 */
ep_status ep_encoding_name_find(const ep_encoding *encoding, const char *name, int64_t *at);
/* The first column that has the name, in the same way; -1: none, or memory is short. */
int64_t ep_encoding_column_find(const ep_encoding *encoding, const char *name);
/* Whether by_name has a column at `at` of the same name as the one at `first`. */
bool ep_encoding_name_is(const ep_encoding *encoding, int64_t at, int64_t first);
/* Whether a name, or one with its key, is the target's. EP_NO_MEMORY. */
ep_status ep_encoding_is_target(const ep_encoding *encoding, const char *name, bool *out);

/* What becomes of a cell. */
typedef enum {
  EP_CELL_TAKEN,
  EP_CELL_OTHER_WORD, /* taken, as another word, which a warning says */
  EP_CELL_REFUSED,    /* it cannot be one of the column */
  EP_CELL_NEEDED,     /* it stands for a missing cell, and the model needs it */
  EP_CELL_NO_MEMORY
} ep_cell_outcome;

/* A cell that is text, in that dialect; number: or a number of JSON, which has JSON's marks and is
 * no code. *cell stays where it is missing. */
ep_cell_outcome ep_encoding_text_read(const ep_column_encoding *column, const ep_dialect *dialect,
                                      const char *text, size_t bytes, bool number, double *cell);
/* Whether the cells of a column are looked at: it is a feature, or orders the rows of a series. */
bool ep_encoding_reads(const ep_encoding *encoding, int64_t column);
/* The same of a column that is looked at; of window.group it is the number of the word. */
ep_cell_outcome ep_encoding_cell_read(const ep_encoding *encoding, int64_t column,
                                      const ep_dialect *dialect, const char *text, size_t bytes,
                                      bool number, double *cell);
/* Adds the fault, or the warning, of such a cell at the reader's place. */
void ep_encoding_text_report(ep_field_reader *reader, ep_cell_outcome outcome,
                             const ep_column_encoding *column, const char *text, size_t bytes,
                             bool number);
/* Adds the fault: a column that the model does not know. */
void ep_encoding_unknown_refuse(ep_field_reader *reader, const ep_encoding *encoding,
                                const char *name);

#endif
