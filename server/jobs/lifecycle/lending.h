/* lending.h: what a job says to workers that would train points of its sweep. Supervisor's thread.
 */
#ifndef EP_SERVER_JOBS_LIFECYCLE_LENDING_H
#define EP_SERVER_JOBS_LIFECYCLE_LENDING_H

#include "server/jobs/live/state.h"

/* How many of the helpers that its worker has work for a job may have. */
int ep_lending_wants(ep_jobs *jobs, const char *id, int attempt, int helpers);

/* Whether an idle worker of the device, which no job waits for, may help the job: its spec, the
 * caller's (free). NULL: it may not. has: of a worker of Slurm, what it has; else NULL. */
char *ep_lending_help(ep_jobs *jobs, const char *id, int attempt, const char *device,
                      const ep_slurm_request *has);

/* The job has so many helpers by now. */
void ep_lending_note(ep_jobs *jobs, const char *id, int attempt, int helpers);

/* How many workers are useful for a queued or running job: a new one takes seconds to start. */
int ep_lending_workers(const ep_live_job *job);

#endif
