/* rows.h: rows to predict, as the body of a request. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H
#define EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/status.h"

/* {"rows": [{…}]} of CSV whose first line has names, each cell a text, an empty one null; quotes as
 * in RFC 4180; or of JSON: [{…}, …]. columns: names, of a CSV whose first line has none; else NULL.
 * *out NULL: the text has no names. The caller's (free). EP_INVALID names the line at fault. */
ep_status ep_named_rows_format(const char *text, size_t bytes, const json_t *columns, char **out,
                               size_t *out_bytes, ep_error *error);

/* Whether the first line of a CSV is one of names: not all of it are numbers. */
bool ep_rows_have_names(const char *text);
/* The same where the names are known, as texts: a time is no number either, and a cell of a row may
 * be a column's name, or the number of one without. Of as many cells as there are columns, a line
 * of names has names alone, or at least one and no number. */
bool ep_rows_begin_with_names(const char *text, const json_t *columns);

/* {"x": [[…], …]} of a text: JSON in that form or [[…], …], which the server checks; or CSV with
 * commas, semicolons, tabs or blanks between numbers, whose first line may be names. *out is the
 * caller's (free). EP_INVALID names the line of a cell that is no number. */
ep_status ep_rows_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                         ep_error *error);

#endif
