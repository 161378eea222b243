/* trials.h: the results of a sweep, as its worker reports them, and the workers that would help it.
 * Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_TRIALS_H
#define EP_SERVER_JOBS_LIFECYCLE_TRIALS_H

#include "server/jobs/live/state.h"

/* What the queue has to know of a sweep. */
void ep_trials_note(ep_live_job *job, const ep_sweep_spec *sweep);

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

/* How many of the helpers that its worker has work for a job may have. */
int ep_trials_wants(ep_jobs *jobs, const char *id, int attempt, int helpers);

/* The job while that attempt runs and is to go on; NULL: it does not. The mutex is held. */
ep_live_job *ep_trials_running(ep_jobs *jobs, const char *id, int attempt);

/* The job has so many helpers by now. */
void ep_trials_helped(ep_jobs *jobs, const char *id, int attempt, int helpers);

/* How many workers are useful for a queued or running job: a new one takes seconds to start. */
int ep_trials_workers(const ep_live_job *job);

#endif
