/* job_name.h: the job that a user's word means. */
#ifndef EP_CLIENTS_EPOCHCTL_JOB_NAME_H
#define EP_CLIENTS_EPOCHCTL_JOB_NAME_H

#include "clients/epochctl/session.h"

enum { EP_JOB_ID_BYTES = 64, EP_JOB_ID_CHARACTERS = 30 };

/* A whole id is taken as it is, without a request. "last" is the newest job; else the word must be
 * the start of one id ("job_" may be left out) or its end. EP_NOT_FOUND; EP_INVALID, with some of
 * the ids, when there are several. id: [EP_JOB_ID_BYTES]. */
ep_status ep_job_find(ep_session *session, const char *word, char id[EP_JOB_ID_BYTES],
                      ep_error *error);

#endif
