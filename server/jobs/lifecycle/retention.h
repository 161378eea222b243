/* retention.h: deletes jobs that ended long ago: those whose ttl_seconds are over, those older than
 * --keep-days, and the oldest while all take more than --keep-bytes. Never a job that is pinned,
 * that a model is published from, or whose weights a queued or running job starts from.
 *
 * A thread of its own, because each delete waits for the disk; it also fills the ballast
 * (server/process/ballast.h). */
#ifndef EP_SERVER_JOBS_LIFECYCLE_RETENTION_H
#define EP_SERVER_JOBS_LIFECYCLE_RETENTION_H

#include "server/jobs/live/state.h"

/* The jobs are recovered. */
ep_status ep_retention_start(ep_jobs *jobs, ep_error *error);
/* Waits for the thread. Safe where it was not started. */
void ep_retention_stop(ep_jobs *jobs);

/* delete.c: deletes an ended job as ep_jobs_delete does, unless it is pinned: EP_CONFLICT. */
ep_status ep_job_expire(ep_jobs *jobs, const char *id, ep_error *error);

/* delete.c: a folder, by its name, that is marked as deleted: by a crash, by a delete that the disk
 * has refused, or by one that is under way, for whose end this waits. It gets its name back if its
 * job is stored, and goes if not. */
ep_status ep_job_marked_settle(ep_jobs *jobs, const char *id, const char *name, ep_error *error);
/* The same of all, if there may be some. */
ep_status ep_job_marked_retry(ep_jobs *jobs, ep_error *error);

#endif
