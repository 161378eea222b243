/* run.h: what happens to a job while a worker has it. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_RUN_H
#define EP_SERVER_JOBS_LIFECYCLE_RUN_H

#include "server/jobs/live/state.h"

/* The functions that the supervisor calls. */
void ep_run_events(ep_jobs *jobs, ep_supervisor_events *out);

#endif
