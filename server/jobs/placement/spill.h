/* spill.h: jobs with device `auto` that go to a partition of Slurm although this machine has a
 * device for them: they would start there sooner. */
#ifndef EP_SERVER_JOBS_PLACEMENT_SPILL_H
#define EP_SERVER_JOBS_PLACEMENT_SPILL_H

#include "server/jobs/placement/forecast.h"

/* The partition whose worker starts the job before a device of this machine does, by the forecast
 * of what is before it; lent from the forecast's devices; NULL = none. A job that has started stays
 * where it started. */
const char *ep_spill_find(const ep_forecast *forecast, const ep_job_row *row);

#endif
