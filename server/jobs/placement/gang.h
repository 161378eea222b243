/* gang.h: the GPUs that a job of several ranks takes at once. Replicas sit on GPUs of their own,
 * unless the job is elastic; stages share one where there are fewer GPUs than ranks. */
#ifndef EP_SERVER_JOBS_PLACEMENT_GANG_H
#define EP_SERVER_JOBS_PLACEMENT_GANG_H

#include "api/spec/job_spec.h"
#include "server/workers/device_list.h"

typedef struct {
  int least, most;               /* GPUs; 0 for a job of one rank */
  int count;                     /* those that it has; 0 while it does not run on GPUs */
  int16_t gpu[EP_LIMIT_DEVICES]; /* [count], their numbers, that of its worker's first */
} ep_gang;

/* Of a job's "parallel". */
ep_gang ep_gang_make(const ep_parallel_spec *parallel);

/* How many GPUs it takes where so many are `there`: as many for each replica. */
int ep_gang_wanted(const ep_gang *gang, int there);

/* Chooses GPUs beside `leader`, whose worker is idle, of those that are idle and not `held`: held:
 * [devices->count]. As many as the job takes of those that are there, as many for each replica, or
 * none: then false, as they are not free yet. */
bool ep_gang_choose(ep_gang *gang, const char *requested_device, const char *leader,
                    const ep_device_list *devices, const bool *held);

#endif
