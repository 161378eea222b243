/* requests.h: commands that other threads send to workers (predict, probe, calibrate), and their
 * replies. */
#ifndef EP_SERVER_WORKERS_REQUESTS_H
#define EP_SERVER_WORKERS_REQUESTS_H

#include "server/workers/state.h"

/* Queues a command: see ep_supervisor_request. From any thread. */
ep_status ep_requests_add(ep_supervisor *supervisor, const char *device, bool only_there,
                          ep_command *command, int timeout_ms, ep_supervisor_done *done,
                          void *context, ep_error *error);

/* The functions below are the supervisor's thread's. Those that end a request call its `done`. */

/* Sends what is queued. */
void ep_requests_send(ep_supervisor *supervisor);
/* Ends the request that the worker's reply is for. */
void ep_requests_complete(ep_supervisor *supervisor, const ep_supervised *worker,
                          const ep_reply *reply);
void ep_requests_fail_worker(ep_supervisor *supervisor, const ep_supervised *worker,
                             const char *cause);
/* Moves their deadlines. */
void ep_requests_delay(ep_supervisor *supervisor, int64_t delay_us);
void ep_requests_expire(ep_supervisor *supervisor, int64_t now_us);
void ep_requests_fail_all(ep_supervisor *supervisor);
/* When the first of them expires; INT64_MAX = never. */
int64_t ep_requests_deadline(const ep_supervisor *supervisor);

#endif
