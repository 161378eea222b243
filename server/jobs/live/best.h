/* best.h: the best validation figure of a training so far, for jobs whose webhooks are to be told.
 * The supervisor's thread alone. */
#ifndef EP_SERVER_JOBS_LIVE_BEST_H
#define EP_SERVER_JOBS_LIVE_BEST_H

#include "api/wire/frame.h"
#include "server/jobs/live/state.h"

/* A worker is about to train the job. After a restart of epochd the best is the one that was stored
 * last. */
void ep_best_begin(ep_jobs *jobs, ep_live_job *job);

/* Looks at reported epochs. A new best becomes a message at once, or, where the last one is younger
 * than EP_LIMIT_BEST_SECONDS, with a later report. */
void ep_best_note(ep_jobs *jobs, ep_live_job *job, const ep_progress *progress);

#endif
