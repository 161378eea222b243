/* json_edit.h: --set /optimizer/lr=0.1, in a job's JSON. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_JSON_EDIT_H
#define EP_CLIENTS_EPOCHCTL_INPUT_JSON_EDIT_H

#include <jansson.h>
#include <stddef.h>

#include "api/status.h"

/* Sets the value at a JSON pointer (RFC 6901) of `root`: `text` is "/POINTER=VALUE", the value JSON
 * or else a string. Absent objects are created. An index of a list replaces that value; the list's
 * count, or "-", appends. EP_INVALID, with `root` unchanged but for created objects, for a text
 * that is no such edit. */
ep_status ep_json_edit(json_t *root, const char *text, ep_error *error);

/* The value that a text is: JSON, or else a string. The caller's (json_decref); NULL for a text
 * that is no UTF-8, and when memory is short. */
json_t *ep_json_value_read(const char *text, size_t bytes);

#endif
