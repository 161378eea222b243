/* axis.h: what `epochctl sweep --set` tries for a field: a list of values or a range. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_AXIS_H
#define EP_CLIENTS_EPOCHCTL_INPUT_AXIS_H

#include <jansson.h>

#include "api/status.h"

/* The axis of a text: "a,b" is {"values": [a, b]}, each JSON or else a string; "1..2" is
 * {"uniform": [1, 2]}; with log:, int:, int_log: before it log_uniform, int_uniform,
 * int_log_uniform. *out is the caller's (json_decref); NULL for any other text, a single value.
 * EP_INVALID for a prefix without a range. */
ep_status ep_axis_read(const char *text, json_t **out, ep_error *error);

#endif
