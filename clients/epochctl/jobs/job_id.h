/* job_id.h: paths of jobs and of sweeps by a user's word, an id, a part of one or a name, which the
 * server knows the meaning of. What was submitted, a job or a sweep, is a submission: a word for a
 * sweep begins with "swp_" or "sweep:". */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H
#define EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H

#include <stdbool.h>

#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/session.h"

enum { EP_JOB_ID_BYTES = 64, EP_JOB_ID_CHARACTERS = 30 };

/* The id that the server answers with, for several requests about one job, or where it is printed.
 * A whole id is copied without a request. */
ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error);
ep_status ep_sweep_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                           ep_error *error);
ep_status ep_submission_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                                ep_error *error);

bool ep_submission_is_sweep(const char *word);
/* "/v1/jobs/" or "/v1/sweeps/", the word, and `after`. */
void ep_submission_path(char path[EP_REQUEST_PATH_BYTES], const char *word, const char *after);

#endif
