/* metrics.h: jobs, datasets and devices as they are now, and what was counted of them. */
#ifndef EP_SERVER_JOBS_METRICS_H
#define EP_SERVER_JOBS_METRICS_H

#include "api/json/writer.h"
#include "server/jobs/jobs.h"

/* Asks the store: not for the HTTP thread. */
ep_status ep_metrics_jobs_format(ep_jobs *jobs, ep_writer *out, ep_error *error);

#endif
