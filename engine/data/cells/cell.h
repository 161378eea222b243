/* cell.h: one cell of a table as text: whether it is missing, and its value as each kind of number
 * or date that there is. A cell comes without the spaces around it. */
#ifndef EP_ENGINE_DATA_CELLS_CELL_H
#define EP_ENGINE_DATA_CELLS_CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/data/cells/unicode.h"

/* How the cells of a column may be written. Where two kinds read all cells, the first counts; days
 * and months that could be either are no dates. */
typedef enum {
  EP_CELL_NUMBER,           /* 1234.5 */
  EP_CELL_DECIMAL_COMMA,    /* 1234,5 and 1.234,5 */
  EP_CELL_GROUPED,          /* 1234.5 and 1,234.5 */
  EP_CELL_SPACED,           /* 1234.5 and 1 234.5 */
  EP_CELL_SPACED_COMMA,     /* 1234,5 and 1 234,5 */
  EP_CELL_APOSTROPHE,       /* 1234.5 and 1'234.5 */
  EP_CELL_APOSTROPHE_COMMA, /* 1234,5 and 1'234,5 */
  EP_CELL_ISO_DATE,
  EP_CELL_DAY_FIRST,
  EP_CELL_MONTH_FIRST,
  EP_CELL_MONTH_NAME, /* Jan 1 2000, 1 January 2000 */
  EP_CELL_TIME,
  EP_CELL_DURATION, /* 1 days 10:11:12: a number of seconds */
  EP_CELL_KINDS
} ep_cell_kind;

/* "number", "decimal_comma", "grouped", "spaced", "spaced_comma", "apostrophe",
 * "apostrophe_comma", "iso", "day_first", "month_first", "month_name", "time", "duration". */
const char *ep_cell_kind_name(ep_cell_kind kind);
int ep_cell_kind_from_name(const char *name); /* -1 when there is none */

/* The words for a cell that is missing: "", NA, ?, … */
bool ep_cell_is_missing(const char *text, size_t bytes);

/* These words but "", from 0, at most 64; NULL behind the last. */
const char *ep_cell_missing_word(size_t number);
/* The number of such a word; -1: it is none. */
int ep_cell_missing_number(const char *text, size_t bytes);

/* Where the text begins without the white space of Unicode around it; *bytes: of what is left. */
static inline const char *ep_cell_trim(const char *text, size_t *bytes) {
  bool plain = *bytes > 0 && *text > ' ' && *text < 0x7F && text[*bytes - 1] > ' ' &&
               text[*bytes - 1] < 0x7F;
  if (!plain) ep_text_trim(&text, bytes); /* of few cells */
  return text;
}

/* Whether it is one of numbers. */
static inline bool ep_cell_kind_is_number(ep_cell_kind kind) {
  return kind <= EP_CELL_APOSTROPHE_COMMA;
}

/* The marks of a number. */
typedef struct {
  char decimal; /* '.' or ',' */
  char
      thousands; /* 0: none; ',', '.', ' ' (any that ep_text_space_bytes knows), '\'' (or U+2019) */
} ep_cell_marks;

/* Of a kind of numbers. */
ep_cell_marks ep_cell_kind_marks(ep_cell_kind kind);

/* Reads all of the text as a number: a sign (-, +, U+2212), digits, the decimal mark, an exponent;
 * or with the mark of thousands between all groups of three digits, without an exponent. No groups
 * behind a leading 0, and none of spaces behind a plus: +34 612 345 678 is a phone number. (1.5) is
 * -1.5. "inf" and 1e400 are infinite. False, and nothing written, when it is not a number with
 * these marks. */
bool ep_cell_number_read(char decimal, char thousands, const char *text, size_t bytes,
                         double *value);

/* False where it is not a number with this mark of thousands, unless it is one without. */
bool ep_cell_may_be_grouped(const char *text, size_t bytes, char thousands);

/* Reads all of the text. False, and nothing written, when it is not of that kind. */
bool ep_cell_read(ep_cell_kind kind, const char *text, size_t bytes, double *value);

#endif
