/* job_id.h: the id of the job that a word names. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H
#define EP_CLIENTS_EPOCHCTL_JOBS_JOB_ID_H

#include "clients/epochctl/http/session.h"

enum { EP_JOB_ID_BYTES = 64, EP_JOB_ID_CHARACTERS = 30 };

/* A whole id is copied without a request. "last" is the newest job; any other word must be the
 * start of one id ("job_" may be left out) or its end. EP_NOT_FOUND; EP_INVALID, with some of the
 * ids, when several fit. */
ep_status ep_job_id_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                         ep_error *error);

#endif
