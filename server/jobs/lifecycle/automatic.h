/* automatic.h: why epochd chose what a submitted spec left open: its model or its loss. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H
#define EP_SERVER_JOBS_LIFECYCLE_AUTOMATIC_H

#include "server/jobs/lifecycle/check.h"

/* Fills checked->automatic, once there is a plan, where something was open. meta: NULL: the data
 * have no description. */
ep_status ep_automatic_explain(ep_jobs *jobs, const ep_dataset_meta *meta, ep_checked_spec *checked,
                               ep_problem *problem);

#endif
