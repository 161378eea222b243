/* end.h: how a job ends, on disk: its row first, with the result, then the line `end`, made from
 * the row.
 *
 * After a crash between the two, the next start of the daemon, or whoever opens the log, finds a
 * row that has ended and no such line, and appends the same line. After a crash before the first,
 * the job is still running by its row and is trained again: its epochs repeat, and those that the
 * log has are not appended again. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_END_H
#define EP_SERVER_JOBS_LIFECYCLE_END_H

#include "server/jobs/live/state.h"

/* Ends a job that belongs to the calling thread, and frees it. result_text: owned by the job
 * afterwards; NULL for one that never ran. When the disk refuses, ep_job_end_retry tries again. */
void ep_job_end(ep_jobs *jobs, ep_live_job *job, ep_state state, char *result_text);

/* Tries again what could not be written; true when something is left. Supervisor's thread. */
bool ep_job_end_retry(ep_jobs *jobs);

/* The moment at which a job ends: never before it started, even where the clock was set back. */
int64_t ep_job_finish_us(const ep_job_row *row);

/* A result that has a cause alone, as text: the caller's; NULL: memory is short. */
char *ep_job_failure(const ep_job_row *row, int64_t epochs_done, ep_status status,
                     const char *message);
/* The result of a job that was cancelled while it ran. */
char *ep_job_cancellation(const ep_live_job *job);

#endif
