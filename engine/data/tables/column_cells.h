/* column_cells.h: what the cells of one column are, as far as they have been read. */
#ifndef EP_ENGINE_DATA_TABLES_COLUMN_CELLS_H
#define EP_ENGINE_DATA_TABLES_COLUMN_CELLS_H

#include "engine/data/cells/unit.h"
#include "engine/data/cells/word_set.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/dialect/dialect.h"

/* The pairs of marks that numbers are tried with, the plainest first. */
enum { EP_MARKS = 8 };
extern const ep_cell_marks ep_marks[EP_MARKS];

/* What a word reads as, a bit each: a number with each pair of marks, without its sign of currency
 * where it has one; each kind of date. */
enum {
  EP_READS_SIGNED = EP_MARKS, /* it has the sign of the column, */
  EP_READS_OTHER_SIGN,        /* or another one */
  EP_READS_UNCLEAR,           /* two pairs read different numbers: 1,234 */
  EP_READS_GAP,               /* it is a word for a missing cell in many files */
  EP_READS_DATES              /* from here on: date kind k is bit EP_READS_DATES + k */
};

/* How often words read as such: sums over the cells. */
typedef struct {
  int64_t marks[EP_MARKS]; /* numbers without a sign, */
  int64_t unit[EP_MARKS];  /* and with the first sign of the column */
  int64_t numbers;         /* numbers with any pair, with or without a sign */
  int64_t signed_cells, other_signs, unclear, gaps;
  int64_t spaced; /* numbers with spaces between their digits */
  int64_t dates[EP_CELL_KINDS];
} ep_reading_counts;

typedef struct {
  bool listed;              /* the dialect lists the words for missing cells: no others are */
  int64_t missing, present; /* cells: empty, or a word for it that the dialect names; all others */
  int64_t plain;            /* plain numbers: 1234.5 */
  int64_t points, threes;   /* of these: with a point; as 1.234, which may be a thousand */
  double least, most;       /* of plain numbers */
  bool small, large;        /* whole ones below 1000, and from there on */
  bool fractions;           /* one is not whole */
  int64_t zeros, exponents, longs; /* 007, 12E5, more than 15 digits; in JSON only strings are so */
  bool floats;                     /* numbers of JSON with a point or an exponent */
  size_t naught_most;              /* digits of the longest 00 */
  bool padded;                     /* one is as 007, and not as 00 */
  bool negative;
  size_t digits_least, digits_most;   /* of plain whole numbers */
  int64_t iso;                        /* ISO dates */
  size_t spaced_least, spaced_most;   /* bytes of words with spaces in numbers; 0: none */
  bool spaced_marked;                 /* one has a decimal mark */
  char sign[EP_UNIT_BYTES];           /* of the first number that has one; "" */
  char unit_form[EP_UNIT_FORM_BYTES]; /* and how it is written with it */
  ep_word_set words;                  /* all other cells, owned */
  bool many;                          /* there are more words than are kept: `words` is empty */
  ep_reading_counts words_read;       /* of cells that came after that; in the end of all */
  ep_cell_kind kind;                  /* EP_CELL_NUMBER, of dates; EP_CELL_KINDS: words */
  double *value;                      /* [words.count], owned: what is stored for each word */
  bool recounted;                     /* the words are of all cells, numbers too */
  int64_t odd;                        /* cells that are not of the kind, and so are missing */
} ep_column_cells;

/* What one word reads as; the first sign of the column becomes its own. */
uint32_t ep_word_reads(ep_column_cells *cells, const char *text, size_t bytes);

/* Adds a word's cells. */
void ep_reads_count(ep_column_cells *cells, uint32_t reads, int64_t rows, const char *text,
                    size_t bytes);

/* A plain number: whether its point is a decimal mark, whether it may be a code; one of JSON is
 * what it is. */
void ep_plain_look(ep_column_cells *cells, const char *text, size_t bytes, bool json, double value);

/* Whether plain numbers are codes, whose text counts: 02134. One such cell shows it, unless it is a
 * 00 shorter than others, or the column has so many numbers that codes would be text. */
bool ep_cells_are_codes(const ep_column_cells *cells);

/* The same of a word. */
bool ep_word_is_code(const char *text, size_t bytes);

/* Cells that are numbers with a pair of marks, signed or not. */
int64_t ep_numbers_count(const ep_column_cells *cells, int marks);

void ep_column_cells_deinit(ep_column_cells *cells);

/* Reads a cell that is not missing as the column is typed: a number, a date. False where it is
 * neither. */
bool ep_column_cell_read(const ep_column *column, ep_cell_kind kind, const ep_dialect *dialect,
                         const char *text, size_t bytes, double *value);

#endif
