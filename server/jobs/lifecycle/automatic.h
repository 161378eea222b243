/* automatic.h: a submitted spec that leaves its model or its loss to epochd. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H
#define EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H

#include "server/jobs/lifecycle/check.h"

/* What is left open is chosen by the data that there are, and checked->by sees, and filled into the
 * request; checked->facts: by what, NULL where nothing is open. sweep: the job stands at /job, and
 * so do faults. */
ep_status ep_automatic_spec_fill(ep_jobs *jobs, struct json_t *request, bool sweep,
                                 ep_checked_spec *checked, ep_problem *problem);

/* Fills checked->automatic, once there is a plan, where something was open. meta: NULL: the data
 * have no description. */
ep_status ep_automatic_explain(ep_jobs *jobs, const ep_dataset_meta *meta, ep_checked_spec *checked,
                               ep_problem *problem);

#endif
