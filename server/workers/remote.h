/* remote.h: workers of other machines, which come and go: through the gateway (server/slurm), a
 * process of epochd's own program that this starts, and starts again where it dies.
 *
 * A worker's place outlives its connection: where that breaks, the place waits for the worker for
 * some seconds, with its job, and then counts as dead. From the supervisor's thread alone. */
#ifndef EP_SERVER_WORKERS_REMOTE_H
#define EP_SERVER_WORKERS_REMOTE_H

#include "server/workers/state.h"

/* Starts the gateway, unless there is no such device. A failure is logged, and tried again. */
void ep_remote_start(ep_supervisor *supervisor);
/* Takes what the gateway says. */
void ep_remote_receive(ep_supervisor *supervisor);
/* Tells the gateway how many workers there should be, where that has changed. */
void ep_remote_want(ep_supervisor *supervisor);
/* What is due: a gateway's start. */
void ep_remote_check(ep_supervisor *supervisor, int64_t now_us);
/* When ep_remote_check is due; INT64_MAX = never. */
int64_t ep_remote_deadline(const ep_supervisor *supervisor);
/* Ends the gateway. */
void ep_remote_stop(ep_supervisor *supervisor);

/* The place of a job that ran there when epochd ended: it waits for its worker. False: no room. */
bool ep_remote_expect(ep_supervisor *supervisor, const char *device, const char *job, int attempt);

/* Has the worker end; its place is free afterwards. */
void ep_remote_end(ep_supervisor *supervisor, ep_supervised *worker, const char *why);
/* Makes the place free. */
void ep_remote_free(ep_supervised *worker);

#endif
