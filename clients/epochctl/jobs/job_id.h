/* job_id.h: the id of the job or the sweep that a word names. What was submitted, a job or a sweep,
 * is a submission: its id says which. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H
#define EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H

#include <stdbool.h>

#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/session.h"

enum { EP_JOB_ID_BYTES = 64, EP_JOB_ID_CHARACTERS = 30 };

/* A whole id is copied without a request. "last" is the newest job; any other word must be the
 * start of one id ("job_" may be left out) or its end. EP_NOT_FOUND; EP_INVALID, with some of the
 * ids, when several fit. */
ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error);
/* The same of a sweep, whose id begins with "swp_". */
ep_status ep_sweep_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                           ep_error *error);
/* Of a sweep where the word begins with "swp_", else of a job. */
ep_status ep_submission_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                                ep_error *error);

/* The path of that job: "/v1/jobs/", its id, and `after`. */
ep_status ep_job_path_find(ep_session *session, const char *word, const char *after,
                           char path[EP_REQUEST_PATH_BYTES], ep_error *error);

bool ep_submission_is_sweep(const char *id);
/* "/v1/jobs/" or "/v1/sweeps/", the id, and `after`. */
void ep_submission_path(char path[EP_REQUEST_PATH_BYTES], const char *id, const char *after);

#endif
