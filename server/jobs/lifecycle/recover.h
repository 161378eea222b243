/* recover.h: at the daemon's start, the data_dir is made to agree with the store, and jobs that
 * have not ended are live and queued again. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_RECOVER_H
#define EP_SERVER_JOBS_LIFECYCLE_RECOVER_H

#include "server/jobs/live/state.h"

ep_status ep_jobs_recover(ep_jobs *jobs, ep_error *error);

/* Begins to remove, beside everything else, the folders without a row: of submissions that were
 * never acknowledged, and of deleted jobs and datasets. After ep_jobs_recover. */
ep_status ep_jobs_sweep_start(ep_jobs *jobs, ep_error *error);
void ep_jobs_sweep_stop(ep_jobs *jobs); /* returns once it has ended */

#endif
