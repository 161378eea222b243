/* usage.h: the device-seconds that owners use of a day's quota: the time that their jobs have a
 * worker, times the GPUs that a job has. A day is one of UTC. Nothing is counted without a quota.
 */
#ifndef EP_SERVER_JOBS_LIVE_USAGE_H
#define EP_SERVER_JOBS_LIVE_USAGE_H

#include "server/jobs/live/state.h"

void ep_usage_begin(const ep_jobs *jobs, ep_live_job *job); /* it has a worker; locked */
void ep_usage_end(ep_jobs *jobs, ep_live_job *job);         /* it has none any more; locked */

/* Stores what was used, if some time has passed; not synced, so that a power failure may take the
 * last seconds. now: whatever the time. True while more is to come. */
bool ep_usage_store(ep_jobs *jobs, bool now);

/* EP_BUSY until the day ends: the owner has used up the quota. */
ep_status ep_usage_check(ep_jobs *jobs, const char *owner, ep_problem *problem);

#endif
