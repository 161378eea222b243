/* ranks.h: how a job of several ranks is cut, found again from what is stored of it. */
#ifndef EP_SERVER_JOBS_VIEWS_RANKS_H
#define EP_SERVER_JOBS_VIEWS_RANKS_H

#include "api/responses/ranks.h"
#include "server/jobs/live/state.h"

/* False: the job asks for one rank, or its data are gone. */
bool ep_job_ranks_find(const char *data_dir, const ep_job_row *row, ep_parallel_view *out);

#endif
