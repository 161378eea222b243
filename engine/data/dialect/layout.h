/* layout.h: where the table is in a delimited text, and how the text is written: found by the
 * consistency of many rows, never by the first one.
 *
 * A delimiter and a quote are scored by the share of rows that have as many cells, and by the share
 * of cells that are of some type: the measure of CleverCSV (G. J. J. van den Burg, A. Nazabal, C.
 * Sutton, "Wrangling messy CSV files by detecting row and type patterns", 2019). */
#ifndef EP_ENGINE_DATA_DIALECT_LAYOUT_H
#define EP_ENGINE_DATA_DIALECT_LAYOUT_H

#include "engine/data/dialect/csv_cell.h"
#include "engine/data/dialect/csv_counts.h"
#include "engine/data/dialect/notes.h"

typedef struct {
  ep_dialect_record found; /* delimiter, quote, comment, header, row_names, preamble are set */
  ep_csv_text header;      /* at the line that names the columns, or else at the first row */
  ep_csv_text rows;        /* at the first row; it ends before a footer */
  int64_t columns;
  int64_t trailing;     /* cells behind these that are empty in each row: it ends in delimiters */
  bool comments_given;  /* what begins one, or that there are none */
  int64_t rule;         /* the first line of dashes above the rows; 0: none */
  ep_csv_labels labels; /* of the last column, owned: free(labels.name) */
  ep_notes notes;
} ep_csv_layout;

/* A text whose layout is looked for, lent. */
typedef struct {
  const char *start, *end; /* UTF-8 without a byte order mark */
  bool mapped;             /* it lies in a file: what was read may be dropped from memory */
  bool table;              /* it may begin as scikit-learn's tables do */
} ep_csv_source;

/* given: keys that are set are obeyed; may be NULL. cell: working memory. EP_INVALID where two
 * readings explain the text equally, with the options to choose; on failure there is nothing to
 * free. */
ep_status ep_csv_layout_find(const ep_csv_source *source, const ep_dialect *given,
                             ep_csv_cell *cell, ep_csv_layout *out, ep_error *error);

/* Notes on lines that are left out: so many before the table, from `first` on; and one. */
void ep_preamble_note(ep_notes *notes, const ep_csv_text *first, int64_t lines);
void ep_left_out_note(ep_notes *notes, const ep_csv_text *line, const char *what);

#endif
