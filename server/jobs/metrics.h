/* metrics.h: jobs, datasets and devices as they are, in Prometheus's text. */
#ifndef EP_SERVER_JOBS_METRICS_H
#define EP_SERVER_JOBS_METRICS_H

#include "api/json/writer.h"
#include "server/jobs/jobs.h"

/* Reads the store: not for an HTTP thread. */
ep_status ep_jobs_metrics_format(ep_jobs *jobs, ep_writer *out, ep_error *error);

/* Memory of others than the requests: workers on this machine, resident; and the store. */
void ep_jobs_memory_find(ep_jobs *jobs, int64_t *workers_bytes, int64_t *store_bytes);
/* Frees what the store has cached. */
void ep_jobs_memory_release(ep_jobs *jobs);

#endif
