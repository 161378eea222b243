/* crashes.h: a job that takes epochd down with it is not started for ever. The deaths of epochd in
 * a row while a job ran, without a new epoch, are counted in the job's folder. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_CRASHES_H
#define EP_SERVER_JOBS_LIFECYCLE_CRASHES_H

#include "server/jobs/live/state.h"

/* At the start, of a job that ran when epochd died: counts that death. True when it was one too
 * many; message: says so. Where the count cannot be kept the job goes on. */
bool ep_crashes_count(ep_jobs *jobs, const char *id, char message[EP_MESSAGE_BYTES]);

#endif
