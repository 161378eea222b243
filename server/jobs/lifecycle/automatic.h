/* automatic.h: a submitted spec that leaves its model or its loss to epochd. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H
#define EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H

#include "server/jobs/lifecycle/check.h"

/* What is left open is chosen by the data that there are, and `by` sees, and filled into the
 * request. sweep: the job stands at /job, and so do faults. */
ep_status ep_automatic_spec_fill(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                                 bool sweep, ep_problem *problem);

#endif
