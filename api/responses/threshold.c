#include "api/responses/threshold.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

ep_status ep_cost_parse(const char *text, double *fp, double *fn, ep_error *error) {
  char *end = NULL;
  *fp = *fn = NAN;
  if (strncmp(text, "fp:", 3) == 0) {
    *fp = strtod(text + 3, &end);
    if (strncmp(end, ",fn:", 4) == 0) *fn = strtod(end + 4, &end);
  }
  if (end && !*end && isfinite(*fp) && isfinite(*fn) && *fp >= 0 && *fn >= 0) return EP_OK;
  return ep_fail(
      error, EP_MALFORMED,
      "cost \"%.64s\" must be fp:A,fn:B, what a wrong yes and a wrong no cost, from 0 up", text);
}

static ep_status number_take(double value, ep_threshold *out, ep_error *error) {
  *out = (ep_threshold){.kind = EP_THRESHOLD_NUMBER, .probability = value};
  if (value >= 0 && value <= 1) return EP_OK;
  return ep_fail(error, EP_MALFORMED, "a threshold is a probability from 0 to 1, not %g", value);
}

ep_status ep_threshold_parse(const char *text, ep_threshold *out, ep_error *error) {
  char *end;
  *out = (ep_threshold){.kind = EP_THRESHOLD_NONE};
  if (!text) return EP_OK;
  if (strncmp(text, "fp:", 3) == 0) {
    out->kind = EP_THRESHOLD_COST;
    return ep_cost_parse(text, &out->cost_fp, &out->cost_fn, error);
  }
  out->kind = EP_THRESHOLD_F1;
  if (strcmp(text, "f1") == 0) return EP_OK;
  double value = strtod(text, &end);
  if (end != text && !*end) return number_take(value, out, error);
  return ep_fail(
      error, EP_MALFORMED,
      "threshold \"%.64s\" must be a probability, \"f1\", or a cost such as \"fp:1,fn:5\"", text);
}

ep_status ep_threshold_take(const json_t *value, ep_threshold *out, ep_error *error) {
  *out = (ep_threshold){.kind = EP_THRESHOLD_NONE};
  if (!value || json_is_null(value)) return EP_OK;
  if (json_is_number(value)) return number_take(json_number_value(value), out, error);
  if (json_is_string(value)) return ep_threshold_parse(json_string_value(value), out, error);
  return ep_fail(error, EP_MALFORMED,
                 "must be a probability, \"f1\", or a cost such as \"fp:1,fn:5\"");
}
