/* rows.h: rows to predict, as the body of a request. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H
#define EP_CLIENTS_EPOCHCTL_INPUT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/status.h"

/* Whether the first line of a CSV is one of names: not all of it are numbers. */
bool ep_rows_have_names(const char *text);

/* {"x": [[…], …]} of a text: JSON in that form or [[…], …], or {"rows": [{…}, …]} of [{…}, …],
 * which the server checks; or CSV with commas, semicolons, tabs or blanks between numbers, whose
 * first line may be names. *out is the caller's (free). EP_INVALID names the line of a cell that is
 * no number. */
ep_status ep_rows_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                         ep_error *error);

#endif
