/* action.h: the same request for several jobs and sweeps. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_ACTION_H
#define EP_CLIENTS_EPOCHCTL_JOBS_ACTION_H

#include "api/arguments/arguments.h"
#include "clients/epochctl/client/client.h"

/* What is printed behind an id, for the status of the response; "" where it has none. */
typedef const char *(*ep_action_words)(const char *status);

/* Finds the ids of all words (ep_submission_id_find), then sends METHOD to the path of each, with
 * `after` behind the id, up to the first failure, and prints "ID WORDS"; `words` may be NULL: "ID
 * is STATUS". A word that names no job changes none. */
ep_status ep_job_action(ep_client *client, const ep_arguments *arguments, const char *method,
                        const char *after, ep_action_words words, ep_error *error);

#endif
