/* remote.h: workers of other machines, which come and go through the gateway (gateway.h).
 *
 * A worker's place outlives its connection: where that breaks, the place waits for the worker for
 * some seconds, with its job, and then counts as dead. From the supervisor's thread alone. */
#ifndef EP_SERVER_WORKERS_REMOTE_H
#define EP_SERVER_WORKERS_REMOTE_H

#include "server/workers/state.h"

/* Takes what the gateway says. */
void ep_remote_receive(ep_supervisor *supervisor);
/* Tells the gateway how many workers there should be, where that has changed. */
void ep_remote_want(ep_supervisor *supervisor);

/* The place of a job that ran there when epochd ended: it waits for its worker. False: no room. */
bool ep_remote_expect(ep_supervisor *supervisor, const char *device, const char *job, int attempt);

#endif
