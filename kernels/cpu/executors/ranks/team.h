/* team.h: a thread for each rank. Unlike a crew's, all of them run at once, so that one may wait
 * for another. */
#ifndef EP_KERNELS_CPU_EXECUTORS_RANKS_TEAM_H
#define EP_KERNELS_CPU_EXECUTORS_RANKS_TEAM_H

#include "api/status.h"

typedef struct ep_team ep_team;

/* What each member does, 0 … members - 1. */
typedef void (*ep_team_task)(void *context, int member);

/* The caller destroys it. EP_NO_MEMORY: the system has not that many threads. */
ep_status ep_team_create(int members, ep_team **out, ep_error *error);
void ep_team_destroy(ep_team *team);

/* All members do the task side by side; returns when all are done. From one thread at a time. */
void ep_team_run(ep_team *team, ep_team_task task, void *context);

#endif
