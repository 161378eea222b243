/* printed.h: tables as programs print them for people: rules of dashes, and `|` at both ends of
 * each line (Markdown, MySQL, psql, sqlite3 -column, reStructuredText). */
#ifndef EP_ENGINE_DATA_DIALECT_PRINTED_H
#define EP_ENGINE_DATA_DIALECT_PRINTED_H

#include "engine/data/dialect/sample.h"

/* Writes text->framed, ->rule, ->drawn and ->gap. Returns the delimiter that these show; 0: none.
 */
char ep_printed_find(ep_csv_text *text);

/* Takes a line of dashes or equals signs. False, and nothing read, for any other line. */
bool ep_csv_rule_take(ep_csv_text *text);

/* Whether the line says how many rows a query found: "(3 rows)", "3 rows in set (0.00 sec)". */
bool ep_csv_is_row_count(const ep_csv_text *text);

/* EP_INVALID where the row at text->at does not keep to the columns of text->rule: a cell is empty,
 * or goes beyond its column; or where it stands for rows that were cut ("..."). */
ep_status ep_printed_row_check(const ep_csv_text *text, ep_error *error);

/* Whether the names begin behind the first cell of each regular row, and end where the rows end: a
 * data frame as pandas and R print it, to the right, with names of rows that have none. */
bool ep_names_are_printed(const ep_sample *sample, int names);

#endif
