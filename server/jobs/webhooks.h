/* webhooks.h: the messages about a job that are sent to its webhooks, for the HTTP routes.
 * Thread-safe. */
#ifndef EP_SERVER_JOBS_WEBHOOKS_H
#define EP_SERVER_JOBS_WEBHOOKS_H

#include "server/jobs/jobs.h"

/* The text of GET /v1/jobs/{id}/webhooks, the caller's: what came of each message so far. Reads the
 * store: not for an HTTP thread. */
ep_status ep_jobs_webhooks(ep_jobs *jobs, const char *id, char **text, ep_error *error);

#endif
