/* forecast.h: the rows that a forecast begins with, as the body of a request. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_FORECAST_H
#define EP_CLIENTS_EPOCHCTL_INPUT_FORECAST_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* Loans for the call. */
typedef struct {
  const char *text;   /* rows, the oldest first */
  const char *future; /* what is known of the rows after them; NULL: a {"rows": …} may have it */
  int64_t steps;
  size_t needed;         /* rows that a forecast begins with: earlier ones are left out */
  const json_t *columns; /* texts: the names of rows that come without; NULL: not known */
} ep_forecast_rows;

/* {"rows": [{…}], "future": [{…}], "steps": N}. Each text is CSV, NDJSON, [{…}, …], [[…], …] or
 * {"rows": [{…}, …]}. *out is the caller's (free). EP_INVALID names the line at fault. */
ep_status ep_forecast_rows_format(const ep_forecast_rows *forecast, char **out, size_t *out_bytes,
                                  ep_error *error);

#endif
