/* crashes.h: a job that takes epochd down with it is not started for ever. The deaths of epochd in
 * a row while a job ran, without a new epoch or checkpoint, are counted in the job's folder. After
 * too many the job is paused: it need not be their cause. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_CRASHES_H
#define EP_SERVER_JOBS_LIFECYCLE_CRASHES_H

#include "server/jobs/live/state.h"

/* At the start, of a job that ran when epochd died: counts that death. Where it was one too many,
 * the row is told to pause, on disk, and the log has a warning. Where that cannot be stored the job
 * goes on. */
void ep_crashes_count(ep_jobs *jobs, ep_job_row *row);
/* The deaths for which a paused job is paused; 0: it is for another reason. */
int ep_crashes_of_paused(ep_jobs *jobs, const char *id);
/* The job is resumed: what was counted is over. */
void ep_crashes_forget(ep_jobs *jobs, const char *id);

#endif
