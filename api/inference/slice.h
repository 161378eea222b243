/* slice.h: a request's JSON in pieces, cut by a scanner: the data may be millions of numbers, and
 * the small pieces alone become trees. */
#ifndef EP_API_INFERENCE_SLICE_H
#define EP_API_INFERENCE_SLICE_H

#include <jansson.h>

#include "api/json/scanner.h"
#include "api/limits.h"
#include "api/status.h"

/* A value within the text; at NULL = it is not there. */
typedef struct {
  const char *at;
  size_t bytes;
} ep_slice;

/* In all of them `what` is the text's name in an EP_MALFORMED. */

/* The next value. */
ep_status ep_slice_take(ep_scanner *scanner, const char *what, ep_slice *out, ep_error *error);
/* Cuts an object: values[i] is what keys[i] has; null stands for "not given". Other keys are passed
 * over. */
ep_status ep_slice_cut(ep_slice text, const char *what, const char *const *keys, int count,
                       ep_slice *values, ep_error *error);
/* A slice as a tree, the caller's; one that is too large for a header is refused. */
ep_status ep_slice_load(ep_slice value, const char *what, json_t **out, ep_error *error);

#endif
