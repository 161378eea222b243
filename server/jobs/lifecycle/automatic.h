/* automatic.h: a submitted spec that leaves its model or its loss to epochd. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H
#define EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H

#include "server/jobs/lifecycle/check.h"

/* What is left open is chosen by the data that there are, and `by` sees. *text: the spec, filled
 * in, the caller's (free); NULL where nothing is open. sweep: the job stands at /job, and so do
 * faults. */
ep_status ep_automatic_spec_make(ep_jobs *jobs, const ep_viewer *by, const char *json, size_t bytes,
                                 bool sweep, char **text, ep_problem *problem);

#endif
