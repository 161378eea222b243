/* pause.h: a job that is paused is live, without a place in the queue and without a worker. That it
 * is to be paused, or cancelled, is its row's `intent`: stored before the client is told. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_PAUSE_H
#define EP_SERVER_JOBS_LIFECYCLE_PAUSE_H

#include "server/jobs/live/state.h"

/* A job of the calling thread, that no worker has and that is not in the queue, is paused from here
 * on, with its event; one that was cancelled or resumed in the meantime ends, or is queued. */
void ep_job_pause_enter(ep_jobs *jobs, ep_live_job *job);

/* Tries again what `resume_owed` says of jobs; true: of some it still does. */
bool ep_job_resume_retry(ep_jobs *jobs);

#endif
