/* trials.h: the results of a sweep, as its worker reports them. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_TRIALS_H
#define EP_SERVER_JOBS_LIFECYCLE_TRIALS_H

#include "server/jobs/live/state.h"

/* An attempt begins: reads the spec, if the job is a sweep. */
ep_status ep_trials_begin(ep_live_job *job, const char *spec, ep_error *error);

/* Holds a line for each result that the log does not have. thinning: the log keeps one of 2^(this).
 */
ep_status ep_trials_hold(const ep_live_job *job, const ep_progress *progress, int thinning,
                         ep_error *error);

/* Until all are there, by the pace of this attempt. NaN: unknown. */
double ep_trials_eta(const ep_live_job *job, int64_t number);

#endif
