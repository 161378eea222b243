/* summary.h: a job in some lines. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_SUMMARY_H
#define EP_CLIENTS_EPOCHCTL_JOBS_SUMMARY_H

#include <jansson.h>

#include "clients/epochctl/client/client.h"

/* Prints status, times, metrics and the URL of the weights. `whole`: also tags, model, a small
 * confusion matrix, and the spec. */
void ep_job_summary_print(const ep_client *client, const json_t *job, bool whole);

/* The colour of a job's status. */
ep_colour ep_job_status_colour(const char *status);

#endif
