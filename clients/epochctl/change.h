/* change.h: --set /optimizer/lr=0.1, on a job's JSON. */
#ifndef EP_CLIENTS_EPOCHCTL_CHANGE_H
#define EP_CLIENTS_EPOCHCTL_CHANGE_H

#include <jansson.h>

#include "api/status.h"

/* Sets the value at a JSON pointer (RFC 6901) of *root. Objects that are not there are made; of a
 * list an index that is there is replaced, and its count or "-" appends. The value is read as JSON,
 * or else taken as a string. EP_INVALID, with the text, for what is no such change. */
ep_status ep_change_apply(json_t *root, const char *text, ep_error *error);

#endif
