/* rows.h: rows to predict, as the body of a request. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H
#define EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* {"rows": [{…}]}, and "steps" where they are not 0, of CSV whose first line has names, each cell a
 * text, an empty one null; quotes as in RFC 4180; or of JSON: [{…}, …]. *out NULL: the text has no
 * names. The caller's (free). EP_INVALID names the line at fault. */
ep_status ep_named_rows_format(const char *text, size_t bytes, int64_t steps, char **out,
                               size_t *out_bytes, ep_error *error);

/* Whether the first line of a CSV is one of names: not all of it are numbers. */
bool ep_rows_have_names(const char *text);

/* {"x": [[…], …]} of a text: JSON in that form or [[…], …], which the server checks; or CSV with
 * commas, semicolons, tabs or blanks between numbers, whose first line may be names. *out is the
 * caller's (free). EP_INVALID names the line of a cell that is no number. */
ep_status ep_rows_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                         ep_error *error);

#endif
