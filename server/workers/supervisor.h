/* supervisor.h: one thread that starts a worker process for every device, gives it jobs, hands on
 * its reports, and starts it again when it dies.
 *
 * A worker has one job at a time. A GPU has one worker. The CPU gets another worker whenever all
 * that it has are busy, up to one a core, so that jobs that need few cores run side by side.
 *
 * After a death a worker starts again 0.1 s later, doubling to 5 s. It is lost after five starts in
 * a row that failed, or when SIGKILL does not end it. While the device's other workers are busy, a
 * lost one that has ended is tried again 10 s later. */
#ifndef EP_SERVER_WORKERS_SUPERVISOR_H
#define EP_SERVER_WORKERS_SUPERVISOR_H

#include "server/slurm/control/control.h"
#include "server/workers/device_list.h"
#include "server/workers/link.h"
#include "server/workers/supervisor_events.h"

typedef struct ep_supervisor ep_supervisor;

typedef struct {
  ep_worker_program program; /* strings are copied */
  int cpu_jobs;              /* at once on the CPU, 1 to EP_LIMIT_CPU_JOBS */
  double stall_seconds; /* a busy worker is killed after so long a silence, if that is 20 times its
                           longest silence before too */
  double stop_seconds;  /* that jobs have for a checkpoint at the end; then SIGKILL */
  /* Of workers of other machines; lent for as long as the supervisor lives. */
  const ep_gateway_setup *gateway; /* NULL = there are none */
  const char *gateway_program;     /* epochd */
  int gateway_listener;            /* the socket that they connect to */
  int gateway_workers_max;         /* of a device */
  double idle_seconds;             /* after which one without a job ends */
} ep_supervisor_options;

/* ids: [count]. Call ep_supervisor_start once everything that the events use is there. */
ep_status ep_supervisor_create(const ep_supervisor_options *options,
                               char (*ids)[EP_DEVICE_ID_BYTES], int count,
                               const ep_supervisor_events *events, ep_supervisor **out,
                               ep_error *error);
ep_status ep_supervisor_start(ep_supervisor *supervisor, ep_error *error);
/* Before the start: the job ran on a device of another machine when epochd ended; its worker may
 * come back. False: it will not; the job is to be queued. */
bool ep_supervisor_expect(ep_supervisor *supervisor, const char *device, const char *job,
                          int attempt);
/* Begins what ep_supervisor_destroy does, and returns at once. Requests fail from here on. */
void ep_supervisor_stop(ep_supervisor *supervisor);
/* Whether it is to end, so that requests fail. Any thread. */
bool ep_supervisor_is_stopping(ep_supervisor *supervisor);

/* Has running jobs write a checkpoint, for stop_seconds at most, ends the workers (SIGKILL after 2
 * s) and the thread; pending requests fail; `died` is not called. NULL is allowed. */
void ep_supervisor_destroy(ep_supervisor *supervisor);

/* The functions below may be called from any thread. */

/* There may be work, or a job to cancel. */
void ep_supervisor_kick(ep_supervisor *supervisor);
void ep_supervisor_get_devices(ep_supervisor *supervisor, ep_device_list *out);
/* Why Slurm lets the workers of a partition wait; "" = it does not, or there is none. Any thread.
 */
enum { EP_WAIT_REASON_BYTES = 256 };
void ep_supervisor_get_reason(ep_supervisor *supervisor, const char *device,
                              char reason[EP_WAIT_REASON_BYTES]);

/* Sends `command` (predict, export, plot, probe or calibrate; its request number is filled in) to a
 * worker of `device`; unless only_there, to any worker where that device has none alive or is NULL.
 * `done` is called once, from the supervisor's thread; on failure it is not called. */
ep_status ep_supervisor_request(ep_supervisor *supervisor, const char *device, bool only_there,
                                ep_command *command, int timeout_ms, ep_supervisor_done *done,
                                void *context, ep_error *error);

#endif
