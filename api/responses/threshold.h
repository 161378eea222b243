/* threshold.h: from which probability on a row is of class 1, of two classes: as a request says it.
 */
#ifndef EP_API_RESPONSES_THRESHOLD_H
#define EP_API_RESPONSES_THRESHOLD_H

#include "api/status.h"

struct json_t;

typedef enum {
  EP_THRESHOLD_NONE,   /* the likelier class */
  EP_THRESHOLD_NUMBER, /* a probability */
  EP_THRESHOLD_F1,     /* the greatest F1, on the rows that plots take */
  EP_THRESHOLD_COST    /* what costs least there */
} ep_threshold_kind;

typedef struct {
  ep_threshold_kind kind;
  double probability;      /* of a number */
  double cost_fp, cost_fn; /* of a cost: of a wrong yes and a wrong no */
} ep_threshold;

/* "0.3", "f1" or "fp:1,fn:5"; NULL: none. EP_MALFORMED: something else. */
ep_status ep_threshold_parse(const char *text, ep_threshold *out, ep_error *error);
/* The same of a JSON value, where a number is one; NULL and null: none. */
ep_status ep_threshold_take(const struct json_t *value, ep_threshold *out, ep_error *error);

/* "fp:1,fn:5", two finite numbers from 0 up. EP_MALFORMED: something else. */
ep_status ep_cost_parse(const char *text, double *fp, double *fn, ep_error *error);

#endif
