/* sample.h: the first rows of a delimited text, by which its layout is found. */
#ifndef EP_ENGINE_DATA_DIALECT_SAMPLE_H
#define EP_ENGINE_DATA_DIALECT_SAMPLE_H

#include "engine/data/dialect/csv_cell.h"

/* What a cell may be, by itself. */
typedef enum {
  EP_SHAPE_EMPTY,  /* or a word for a missing cell */
  EP_SHAPE_NUMBER, /* in any notation */
  EP_SHAPE_DATE,
  EP_SHAPE_WORD,
  EP_SHAPE_ODD /* a word that holds what delimits cells elsewhere, or a quote */
} ep_cell_shape;

ep_cell_shape ep_cell_shape_of(const char *text, size_t bytes);

typedef struct {
  ep_csv_text start; /* where it begins */
  int64_t cells;
  bool blank, comment, rule; /* a line that is no row; a rule is blank, too */
} ep_sample_row;

typedef struct {
  ep_sample_row *row; /* [count], owned */
  int count;
  int64_t columns;  /* that most rows have */
  int regular;      /* rows that have as many */
  int rows;         /* that are neither blank nor comments, */
  int lead;         /* of which so many stand before the first regular one */
  int halved;       /* regular rows in which a delimiter between two digits ends each cell */
  int64_t *figures; /* [columns], owned: cells of regular rows that are numbers or dates, */
  int64_t *filled;  /* [columns], owned: and that are not empty */
  int64_t *last;    /* [columns], owned: figures behind the last word */
  int64_t
      *triples;   /* [columns], owned: and that are three digits behind a digit and the delimiter */
  int cut_quotes; /* cells in quotes that are cut into several */
  double typed;   /* share of the cells of regular rows that have a shape */
  bool broken;    /* a quote is not closed, or text follows it; or a row has too many cells */
} ep_sample;

/* Takes a row and counts its cells; false where one cannot be read, or there are more than
 * EP_LIMIT_COLUMNS. */
bool ep_csv_row_take(ep_csv_text *text, ep_csv_cell *cell, int64_t *cells);

/* Whether it is a row of cells, and not blank or a comment. */
static inline bool ep_sample_is_row(const ep_sample *sample, int row) {
  return row < sample->count && !sample->row[row].blank && !sample->row[row].comment;
}

/* Reads at most so many rows; *text is behind the last one then. Of long ones it reads fewer.
 * comment: lines that begin so are no rows; 0: none. Free with ep_sample_deinit. EP_NO_MEMORY. */
ep_status ep_sample_read(ep_csv_text *text, char comment, int rows, ep_csv_cell *cell,
                         ep_sample *out, ep_error *error);
void ep_sample_deinit(ep_sample *sample);

/* Whether a column is three digits in all rows, as a number is that the delimiter cuts: 25,300,730;
 * and whether all columns but the first are. */
bool ep_sample_cuts_numbers(const ep_sample *sample);
bool ep_sample_is_one_number(const ep_sample *sample);

/* Whether nine in ten cells of the column are numbers or dates. */
bool ep_sample_is_typed(const ep_sample *sample, int64_t column);

#endif
