/* sweeps.h: what sweeps have beyond jobs, for the HTTP routes. A sweep is a job with an id of its
 * own kind: it is submitted, copied, watched, cancelled, paused and deleted by jobs.h. Every text
 * is the caller's. Thread-safe. */
#ifndef EP_SERVER_JOBS_SWEEPS_H
#define EP_SERVER_JOBS_SWEEPS_H

#include "server/jobs/jobs.h"

/* As ep_jobs_validate. */
ep_status ep_sweeps_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                             bool warn_replaced, char **text, ep_problem *problem);

/* A sweep as it was copied. Reads its results. */
ep_status ep_sweeps_format(ep_jobs *jobs, const ep_job_copy *copy, char **text, ep_error *error);
/* A page of sweeps, without their specs. */
ep_status ep_sweeps_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error);

/* A part of the leaderboard. */
typedef struct {
  bool by_trial; /* by number, else by metric */
  bool csv;
  int64_t offset, limit;
} ep_trials_page;

ep_status ep_sweeps_trials(ep_jobs *jobs, const char *id, const ep_trials_page *page, char **text,
                           ep_error *error);
/* EP_NOT_FOUND: no trial of that number has ended. */
ep_status ep_sweeps_trial(ep_jobs *jobs, const char *id, int64_t trial, char **text,
                          ep_error *error);

/* What the whole grid says. EP_CONFLICT: a field of it is a range. */
ep_status ep_sweeps_study(ep_jobs *jobs, const char *id, char **text, ep_error *error);

/* Submits a trial as a job, trained to the end on all rows, once: *repeated: there is that job
 * already, and `by` sees it. The job of a private sweep is private too, and its owner's. part: -1 =
 * no fold and no repeat, else its fold and seed. */
ep_status ep_sweeps_promote(ep_jobs *jobs, const char *id, int64_t trial, int part,
                            const ep_viewer *by, char job[EP_ID_BYTES], bool *repeated,
                            ep_problem *problem);

#endif
