/* recover.h: at the daemon's start, the data_dir is made to agree with the store, and jobs that
 * have not ended are live and queued again. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_RECOVER_H
#define EP_SERVER_JOBS_LIFECYCLE_RECOVER_H

#include "server/jobs/live/state.h"

/* Before the store, at the path `store`, is opened. EP_CONFLICT: it is not there, or empty, and
 * there are folders of jobs or of datasets. */
ep_status ep_jobs_refuse_lost_store(ep_jobs *jobs, const char *store, ep_error *error);

ep_status ep_jobs_recover(ep_jobs *jobs, ep_error *error);

/* Begins to remove, beside everything else, the folders without a row: of submissions that were
 * never acknowledged, and of deleted jobs and datasets. After ep_jobs_recover. */
ep_status ep_jobs_sweep_start(ep_jobs *jobs, ep_error *error);
void ep_jobs_sweep_stop(ep_jobs *jobs); /* returns once it has ended */

#endif
