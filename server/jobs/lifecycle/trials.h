/* trials.h: the results of a sweep, as its worker reports them. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_TRIALS_H
#define EP_SERVER_JOBS_LIFECYCLE_TRIALS_H

#include "server/jobs/live/state.h"

/* Reads the spec, if the job is a sweep. EP_NO_MEMORY. */
ep_status ep_trials_read(ep_live_job *job, const char *spec, ep_error *error);

/* An attempt begins. */
void ep_trials_begin(ep_live_job *job);

/* A worker left the sweep, whose next trial is of this device. Nothing where it is the same. */
void ep_trials_move(ep_jobs *jobs, ep_live_job *job, const char *device);

/* Holds a line for each result that the log does not have. thinning: the log keeps one of 2^(this).
 */
ep_status ep_trials_hold(const ep_live_job *job, const ep_progress *progress, int thinning,
                         ep_error *error);

/* Until all are there, by the pace of this attempt. NaN: unknown. */
double ep_trials_eta(const ep_live_job *job, int64_t number);

#endif
