/* live.h: the table of live jobs, their versions and those who watch them. "Locked": ep_jobs.mutex
 * is held. */
#ifndef EP_SERVER_JOBS_LIVE_LIVE_H
#define EP_SERVER_JOBS_LIVE_LIVE_H

#include "server/jobs/live/state.h"

ep_live_job *ep_live_create(const ep_job_row *row); /* copies; NULL: memory is short */
void ep_live_destroy(ep_live_job *job);             /* NULL is allowed */

ep_live_job *ep_live_find(ep_jobs *jobs, const char *id); /* locked; NULL = not live */
/* The same, once the job's row is on disk or could not be written. Locked. */
ep_live_job *ep_live_find_stored(ep_jobs *jobs, const char *id);
/* Whether the job is live for those to whom it is shown. Waits as above. Not locked. */
bool ep_live_is(ep_jobs *jobs, const char *id);
/* Locked. Its owner has a share of it already. */
void ep_live_add(ep_jobs *jobs, ep_live_job *job);
void ep_live_remove(ep_jobs *jobs, ep_live_job *job); /* locked; does not free */
/* Notes what placement and reports look at of the spec; of a sweep: of its job. False: memory is
 * short. */
bool ep_live_spec_note(ep_live_job *job, const ep_job_spec *spec);
/* Whether others may see it: its row is stored. Locked. */
bool ep_live_is_shown(const ep_live_job *job);

/* Whether it is one of theirs, or public. Locked. */
bool ep_live_is_seen(const ep_live_job *job, const ep_viewer *viewer);

/* Queues the job, with room for those that run, which may come back. again: it was running before.
 * False: memory is short. Locked. */
bool ep_live_enqueue(ep_jobs *jobs, ep_live_job *job, bool again);

/* Why a job is paused that was running at so many deaths of epochd. */
void ep_live_crashes_text(int crashes, char message[EP_MESSAGE_BYTES]);

uint64_t ep_live_tick(ep_jobs *jobs);                /* a new version */
void ep_live_touch(ep_jobs *jobs, ep_live_job *job); /* gives it to the job; locked */
void ep_live_touch_queue(ep_jobs *jobs);             /* gives it to the queue; locked */
uint64_t ep_live_version(const ep_jobs *jobs, const ep_live_job *job); /* locked */

/* A hash of the id; its lowest bit is 0. */
uint64_t ep_live_key(const char *id);
/* Wakes those who watch the job, or any queued job. Not locked. */
void ep_live_announce(ep_jobs *jobs, const char *id);
void ep_live_announce_queue(ep_jobs *jobs);

/* The work that is left of a running job: by its pace, else by its estimate. Locked. */
double ep_live_work_seconds(const ep_live_job *job);
/* How long it still runs from now: the same, or until its max_seconds are over; infinite where its
 * estimate is over and it has reported nothing. Locked. */
double ep_live_left_seconds(const ep_live_job *job);

/* A job's log keeps one of 2^(this) reports. */
int ep_live_thinning(const ep_jobs *jobs, const ep_event_log_tail *tail);

#endif
