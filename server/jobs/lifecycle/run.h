/* run.h: what happens to a job while a worker has it. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_RUN_H
#define EP_SERVER_JOBS_LIFECYCLE_RUN_H

#include "server/jobs/live/state.h"

/* The functions that the supervisor calls. */
void ep_run_events(ep_jobs *jobs, ep_supervisor_events *out);

/* The log keeps one of 2^(this) reports. */
int ep_run_thinning(const ep_jobs *jobs, const ep_event_log_tail *tail);

#endif
