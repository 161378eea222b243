/* assign.h: jobs leave the queue for a worker, and come back to it. Supervisor's thread. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_ASSIGN_H
#define EP_SERVER_JOBS_LIFECYCLE_ASSIGN_H

#include "server/jobs/live/state.h"

/* Takes the first queued job that fits the device out of the queue and fills in the command for its
 * worker: ep_supervisor_events.next. */
bool ep_assign_next(ep_jobs *jobs, const char *device, int cores, const ep_slurm_request *has,
                    ep_assignment *out);

/* Puts a running job back into the queue. One that was cancelled in the meantime ends; one that was
 * dropped is freed. again: it goes first. */
void ep_assign_return(ep_jobs *jobs, ep_live_job *job, bool again);

/* Takes back an attempt that had not begun. A device of an earlier start stays. */
void ep_assign_undo(ep_jobs *jobs, ep_live_job *job);

/* Whether an idle worker of the device, which no job waits for, may help the job: its spec, the
 * caller's (free). NULL: it may not. has: of a worker of Slurm, what it has; else NULL. */
char *ep_assign_help(ep_jobs *jobs, const char *id, int attempt, const char *device,
                     const ep_slurm_request *has);

/* Frees a dropped job that ran: its row could not be stored. */
void ep_assign_drop(ep_jobs *jobs, ep_live_job *job);

/* How many workers of the partition queued jobs and running sweeps wait for, up to the most that
 * there can be, beside those that have a job; and what a worker needs for them: for the first, and
 * others that need no more. */
int ep_assign_waiting(ep_jobs *jobs, const char *device, ep_slurm_request *needed);

#endif
