/* thresholds.h: what a request's threshold is as a probability. For this folder alone. */
#ifndef EP_SERVER_HANDLERS_THRESHOLDS_H
#define EP_SERVER_HANDLERS_THRESHOLDS_H

#include "api/responses/model.h"
#include "api/wire/plot.h"
#include "server/http/exchange.h"

/* *out: the probability; NaN where none is asked for. positive: the class that it is of; "": the
 * job's positive class. The best F1 and the least cost are those of
 * the plot "pr" of the job, which is there, with the weights that the request's ?checkpoint= names:
 * a worker reads the data for it, so this is no call for an HTTP thread. EP_CONFLICT: the job has
 * not two classes. */
ep_status ep_threshold_find(ep_exchange *exchange, const char *job, const ep_threshold *asked,
                            const char *positive, double *out, ep_error *error);

/* The same of a published model: what is asked, or its own. A search is made of the rows of its
 * job: EP_INVALID for those who do not see that. */
ep_status ep_threshold_model_find(ep_exchange *exchange, const ep_model *model,
                                  const ep_threshold *asked, double *out, ep_error *error);

/* Whether that takes a worker: it is for the threads of server->ingest. */
static inline bool ep_threshold_is_searched(const ep_threshold *asked) {
  return asked->kind == EP_THRESHOLD_F1 || asked->kind == EP_THRESHOLD_COST;
}

/* The error where there are not two classes. */
#define EP_THRESHOLD_NOT_TWO "a threshold requires a target of two classes"

#endif
