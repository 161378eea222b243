/* column_types.h: what the columns of a table of any cells are: numbers, dates, words, text. */
#ifndef EP_ENGINE_DATA_TABLES_COLUMN_TYPES_H
#define EP_ENGINE_DATA_TABLES_COLUMN_TYPES_H

#include "engine/data/cells/cell.h"
#include "engine/data/tables/draft.h"
#include "engine/data/tables/table_rows.h"
#include "engine/data/tables/word_set.h"

/* Why a column of numbers with signs or spaces is words all the same. */
typedef enum {
  EP_NUMBER_FAULT_NONE,
  EP_NUMBER_FAULT_SIGNS,   /* they have several signs */
  EP_NUMBER_FAULT_BARE,    /* some have none */
  EP_NUMBER_FAULT_FORMS,   /* some have decimal points, some decimal commas */
  EP_NUMBER_FAULT_UNCLEAR, /* 1,234 may be a thousand or a fraction, and no cell shows which */
  EP_NUMBER_FAULT_CODES    /* 612 345 678 in each cell: as many digits, in groups of three */
} ep_number_fault;

/* The cells of a column that are numbers with the sign of a unit. */
typedef struct {
  char sign[EP_UNIT_BYTES];        /* of the first of them; "": there is none */
  bool others;                     /* another one has another sign */
  int64_t cells;                   /* with any sign */
  int64_t accepted[EP_CELL_KINDS]; /* with the first sign: those that each kind of numbers reads */
  int64_t unclear;                 /* of these: two kinds read different numbers */
} ep_unit_cells;

/* The cells of a column that are numbers whose thousands spaces divide. */
typedef struct {
  size_t shortest, longest; /* bytes of them; 0: there are none */
  bool marked;              /* one has a decimal mark */
} ep_spaced_cells;

/* How the cells of a column are read. */
typedef struct {
  int64_t missing, present;        /* cells */
  int64_t accepted[EP_CELL_KINDS]; /* cells that each kind reads */
  int64_t thousands;               /* plain numbers that decimal commas make others: 1.234 */
  ep_unit_cells unit;
  ep_spaced_cells spaced;
  ep_number_fault number_fault;
  ep_cell_kind kind;  /* of numbers and dates; EP_CELL_KINDS: these are words */
  ep_word_set words;  /* of a category, in the order of its numbers, owned */
  bool text;          /* it has more words than were kept */
  int64_t distinct;   /* then: as many at least; 0 = not counted */
  int64_t drafted[3]; /* cells that are numbers, ISO dates, words in the draft */
} ep_column_cells;

/* Walks over the rows, and once more for the words of a column that has others than the draft took
 * it to have, and decides: a column of
 * which 99 % of the cells are numbers, or dates, of one kind is that, and so is one of numbers with
 * one sign, if a cell shows what its commas and points mean; another one is a category, or
 * text: more than EP_LIMIT_CATEGORIES words, one of more than EP_LIMIT_WORD_BYTES, or none that
 * occurs twice. Type, words and, of text, the distinct ones go into column[rows->columns]; types:
 * as many, zeroed, whose words are the caller's also on failure. draft: empty, open; its `kept`
 * says afterwards whether the rows are those of the columns, words by their numbers as they came.
 * Refuses cells that are not UTF-8. */
ep_status ep_column_types_find(ep_table_rows *rows, ep_column *column, ep_column_cells *types,
                               ep_draft *draft, ep_error *error);

/* Adds to the note why the first column with a number_fault is words, and how many others have one;
 * and which column has fractions that may be thousands, as others have decimal commas. */
void ep_column_types_note(const ep_column *column, const ep_column_cells *types, int64_t columns,
                          char *note, size_t bytes);

/* Whether a first line that was taken for names is none, but a row like those below it: its numbers
 * and dates are such as its columns have, and most of its words are words of its columns. Numbers
 * like 1,5 and 10 % decide where it has nothing else, and then the note says so. Names: those of
 * column[columns]. */
bool ep_column_names_are_cells(const ep_column *column, const ep_column_cells *types,
                               int64_t columns, char *note, size_t bytes);

/* Forgets what was found, names too. */
void ep_column_types_reset(ep_column *column, ep_column_cells *types, int64_t columns,
                           ep_draft *draft);

#endif
