/* idle.h: returns memory to the system when the load is over: what was cached for the next request,
 * and free blocks that lie between others, which the C library keeps. */
#ifndef EP_SERVER_IDLE_IDLE_H
#define EP_SERVER_IDLE_IDLE_H

#include "server/curves/curves.h"
#include "server/jobs/jobs.h"

typedef struct ep_idle ep_idle;

/* A thread of its own. Both are lent, and live longer. */
ep_status ep_idle_start(ep_curves *curves, ep_jobs *jobs, ep_idle **out, ep_error *error);
void ep_idle_stop(ep_idle *idle); /* NULL is allowed */

#endif
