/* gateway.h: the gateway to workers of other machines (server/slurm/gateway), a process of epochd's
 * own program that this starts, and starts again where it dies. From the supervisor's thread alone.
 */
#ifndef EP_SERVER_WORKERS_GATEWAY_H
#define EP_SERVER_WORKERS_GATEWAY_H

#include "server/workers/state.h"

/* Starts it, unless there is no such device. A failure is logged, and tried again. */
void ep_gateway_start(ep_supervisor *supervisor);
/* What is due: its start. */
void ep_gateway_check(ep_supervisor *supervisor, int64_t now_us);
/* When ep_gateway_check is due; INT64_MAX = never. */
int64_t ep_gateway_deadline(const ep_supervisor *supervisor);
/* Ends it. */
void ep_gateway_stop(ep_supervisor *supervisor);
/* It is of no use any more: ends it, and has it started again. */
void ep_gateway_lose(ep_supervisor *supervisor, const char *why);

void ep_gateway_send(ep_supervisor *supervisor, const ep_control *control);
/* Has the worker end; its place is free afterwards. */
void ep_gateway_end_worker(ep_supervisor *supervisor, ep_supervised *worker, const char *why);

#endif
