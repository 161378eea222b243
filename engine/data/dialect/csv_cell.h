/* csv_cell.h: cells of delimited text (RFC 4180 quoting; LF, CRLF or CR), one after the other. */
#ifndef EP_ENGINE_DATA_DIALECT_CSV_CELL_H
#define EP_ENGINE_DATA_DIALECT_CSV_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "engine/data/dialect/dialect.h"

/* What is left of a text; `at` is at the start of a cell. */
typedef struct {
  const char *at, *end;
  char delimiter;
  char quote; /* 0: none */
  bool
      escapes; /* a backslash makes a quote or a backslash behind it a character of a quoted cell */
  bool cr;     /* a CR alone ends a line, too */
  bool mapped; /* as of an ep_ingest */
  int64_t line; /* of `at`, from 1, as an editor counts */
  /* of a printed table (printed.h): */
  bool framed; /* a delimiter at both ends of each line ends no cell; `at` is behind the first */
  const char *rule; /* a line that draws `drawn` columns; NULL: none */
  int drawn, gap;   /* gap: so many spaces at least delimit cells, where spaces do */
} ep_csv_text;

typedef enum { EP_CSV_DELIMITER, EP_CSV_LINE, EP_CSV_END } ep_csv_stop; /* what ended a cell */

/* A cell without its quotes and the spaces around it. */
typedef struct {
  const char *text; /* [bytes], of the text that is read or, where that has more, of `copy` */
  size_t bytes;
  ep_csv_stop stop;
  bool plain; /* not in quotes, a finite number as EP_NUMBER_CSV has it: */
  double value;
  char copy[EP_LIMIT_CSV_FIELD_BYTES + 1];
} ep_csv_cell;

/* Reads any cell. `column` counts from 1 and is for messages: an unclosed quote, text after a
 * closing quote (EP_INVALID), a cell over the limit (EP_TOO_LARGE). */
ep_status ep_csv_cell_read(ep_csv_text *text, int64_t column, ep_csv_cell *cell, ep_error *error);

/* The cell's text with a zero byte behind it, in its copy. */
char *ep_csv_cell_string(ep_csv_cell *cell);

/* Whether the next cell begins with a quote. */
bool ep_csv_is_quoted(const ep_csv_text *text);

/* Takes a line of nothing but spaces. False, and nothing read, when there is more. */
bool ep_csv_blank_line_take(ep_csv_text *text);

/* The first character that is no space; 0: there is none. A comment has its mark there. */
char ep_csv_first(const ep_csv_text *text);

/* From the start of a line to that of its first cell. */
void ep_csv_line_begin(ep_csv_text *text);

/* Where the line ends that `at` is in, before its LF or CR; quotes mean nothing. */
const char *ep_csv_line_end(const ep_csv_text *text, const char *at);

/* Takes the rest of the line, whatever it holds. */
void ep_csv_line_take(ep_csv_text *text);

#endif
