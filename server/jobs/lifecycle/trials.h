/* trials.h: the results of a sweep, as its worker reports them. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_TRIALS_H
#define EP_SERVER_JOBS_LIFECYCLE_TRIALS_H

#include "server/jobs/live/state.h"

/* What the queue has to know of a sweep. EP_NO_MEMORY. */
ep_status ep_trials_note(ep_live_job *job, const char *spec, ep_error *error);

/* An attempt begins: if the job is a sweep, its spec is kept until ep_trials_leave. EP_NO_MEMORY.
 */
ep_status ep_trials_begin(ep_live_job *job, const char *spec, ep_error *error);
/* The job goes back to the queue, or is paused. */
void ep_trials_leave(ep_live_job *job);

/* A worker left the sweep, whose next trial is of this device. Nothing where it is the same. */
void ep_trials_move(ep_jobs *jobs, ep_live_job *job, const char *device);

/* Holds a line for each result that the log does not have. thinning: the log keeps one of 2^(this).
 */
ep_status ep_trials_hold(const ep_live_job *job, const ep_progress *progress, int thinning,
                         ep_error *error);

/* Until all are there, by the pace of this attempt. NaN: unknown. */
double ep_trials_eta(const ep_live_job *job, int64_t number);

#endif
