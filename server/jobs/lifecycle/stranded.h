/* stranded.h: queued jobs that no device fits any more, because one was lost. They stay queued, and
 * have a warning: in their JSON, and once in their log. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_STRANDED_H
#define EP_SERVER_JOBS_LIFECYCLE_STRANDED_H

#include "server/jobs/live/state.h"

/* Marks the jobs when devices were lost or came back. Supervisor's thread. */
void ep_stranded_check(ep_jobs *jobs, const ep_device_list *devices);

#endif
