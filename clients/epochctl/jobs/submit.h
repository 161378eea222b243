/* submit.h: a job or a sweep, submitted and followed. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_SUBMIT_H
#define EP_CLIENTS_EPOCHCTL_JOBS_SUBMIT_H

#include "api/arguments/arguments.h"
#include "clients/epochctl/client/client.h"
#include "clients/epochctl/jobs/job_id.h"

/* POSTs the body to `path`, "/v1/jobs" or "/v1/sweeps", prints the id and what the server chose of
 * it (with --json the response as received), and follows it to its end unless `detach`. A request
 * whose response was lost is sent again and submits nothing twice. id: written. Sets
 * client->outcome. */
ep_status ep_submit(ep_client *client, const char *path, const char *body, size_t bytes,
                    bool detach, char id[EP_JOB_ID_BYTES], ep_error *error);
/* The same of the file of the first word, with the edits of spec_file.h; --detach is an option. */
ep_status ep_submit_file(ep_client *client, const char *path, const ep_arguments *arguments,
                         ep_error *error);

#endif
