/* follow.h: a job or a sweep, followed to its end. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_FOLLOW_H
#define EP_CLIENTS_EPOCHCTL_JOBS_FOLLOW_H

#include "clients/epochctl/client/client.h"

/* Draws the progress of a job or a sweep, then prints its summary, a sweep's with its best trials;
 * with --json prints its events. Sets client->outcome to the job's, or to EP_EXIT_DETACHED after
 * SIGINT, which leaves the job running. `name`: of the job, as the server sent it. */
ep_status ep_job_follow(ep_client *client, const char *id, const char *name, ep_error *error);

#endif
