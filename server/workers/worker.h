/* worker.h: a worker, from its start to its death. From the supervisor's thread alone. */
#ifndef EP_SERVER_WORKERS_WORKER_H
#define EP_SERVER_WORKERS_WORKER_H

#include "server/workers/state.h"

/* Starts the process; where that fails, plans the next start. */
void ep_supervised_start(ep_supervisor *supervisor, ep_supervised *worker);
/* Reads from its socket, and hands on whole frames. */
void ep_supervised_receive(ep_supervisor *supervisor, ep_supervised *worker);
/* Writes what is still to be written to its socket. */
void ep_supervised_flush(ep_supervised *worker);
/* Whatever is due: a restart, a retry, a deadline; and whether it has died. */
void ep_supervised_check(ep_supervisor *supervisor, ep_supervised *worker, int64_t now_us);
/* Gives an idle worker a job that takes at most `cores`; false: there is none. */
bool ep_supervised_assign(ep_supervisor *supervisor, ep_supervised *worker, int cores);
/* Sends it the command to end its job, once, and once more where it is cancelled after a pause. */
void ep_supervised_stop(ep_supervised *worker, ep_stop stop);
/* A worker of another machine has connected: its socket. same: it has the job that its place has.
 */
void ep_supervised_attach(ep_supervisor *supervisor, ep_supervised *worker, int socket, bool same);
/* It ends soon: its job writes a checkpoint, and goes on elsewhere. */
void ep_supervised_leave(ep_supervised *worker);
/* Its connection has ended: its place waits for it. */
void ep_supervised_part(ep_supervisor *supervisor, ep_supervised *worker);
/* It does not come back: its job goes on elsewhere. */
void ep_supervised_give_up(ep_supervisor *supervisor, ep_supervised *worker, const char *cause);
/* Moves its deadlines: nobody listened to it for so long. */
void ep_supervised_delay(ep_supervised *worker, int64_t delay_us);
/* When ep_supervised_check is due; INT64_MAX = never. */
int64_t ep_supervised_deadline(const ep_supervised *worker);

#endif
