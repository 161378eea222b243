/* supervisor.h: one thread that starts a worker process for every device, hands it jobs, hears what
 * it says, and starts it again when it dies. It knows processes and frames; what a job is, is
 * behind ep_supervisor_events.
 *
 * A worker has one job at a time. A GPU has one worker; the CPU gets another one whenever all that
 * it has are busy, up to one a core, so that jobs which need few cores run side by side.
 *
 * A worker is "starting" until its first words, then "idle" or "busy"; after a death "restarting"
 * (0.1 s later, doubling to 5 s); "lost" when it could not start five times in a row, or was killed
 * and did not go. Of several, a lost one that is gone is tried again 10 s later, when all others
 * are busy. A device is what the best of its workers is, busy before idle. */
#ifndef EP_SERVER_WORKERS_SUPERVISOR_H
#define EP_SERVER_WORKERS_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/wire/frame.h"
#include "server/process/id.h"
#include "server/workers/link.h"

typedef struct ep_supervisor ep_supervisor;

typedef enum {
  EP_DEVICE_STARTING,
  EP_DEVICE_IDLE,
  EP_DEVICE_BUSY,
  EP_DEVICE_RESTARTING,
  EP_DEVICE_LOST
} ep_device_state;

const char *ep_device_state_name(ep_device_state state);

typedef struct {
  ep_device_info info; /* id from the start, the rest from a worker's first words */
  ep_device_state state;
  int cores; /* that jobs may take of it; a GPU is one */
  int64_t restarts;
  int64_t busy_us;       /* that it had a job, but for now */
  int64_t busy_since_us; /* steady clock; 0 = it is not busy */
} ep_device_status;

typedef struct {
  int device; /* index in the list */
  ep_device_state state;
  char job[EP_ID_BYTES]; /* "" = none */
  int64_t pid;           /* 0 = none */
} ep_worker_status;

typedef struct {
  ep_device_status device[EP_LIMIT_DEVICES];
  int count;
  ep_worker_status worker[EP_LIMIT_WORKERS]; /* of all devices, in the order of their starts */
  int workers_count;
} ep_device_list;

/* A job for a device. */
typedef struct {
  ep_command train;        /* owned: the supervisor deinits it */
  int cores;               /* that it takes */
  double patience_seconds; /* how long it may say nothing at first */
} ep_assignment;

/* What the supervisor's thread calls, always with no lock held. */
typedef struct {
  void *context;
  /* A worker of the device has nothing to do: fill in *out, or return false. cores: that no job
   * has, INT_MAX when the device has none at all. Asked again after a kick. */
  bool (*next)(void *context, const char *device, int cores, ep_assignment *out);
  /* Asked after a kick: the job that a worker has is to end. The worker is told, and killed when it
   * did not within 10 s. */
  bool (*cancelled)(void *context, const char *job, int attempt);
  /* What a worker said of the job that it was given. false: not now (the disk is full, say): it is
   * offered again a second later, and the worker is not heard until then. */
  bool (*started)(void *context, const char *device, const ep_reply *reply);
  bool (*progress)(void *context, const ep_progress *progress);
  bool (*finished)(void *context, const char *device, const ep_reply *reply);
  /* What was handed on of the job can be stored now, all of it together: at once after progress,
   * after a start when some milliseconds brought nothing else. false as above. */
  bool (*heard)(void *context, const char *job, int attempt);
  /* The worker died while it had this job; everything it had said was handed on before. begun: it
   * had said something of the job; otherwise it may have been dying when it was handed the job. */
  void (*died)(void *context, const char *job, int attempt, bool begun, const char *cause);
  /* After each round; true to be called again within a second although nothing happens. */
  bool (*settle)(void *context);
} ep_supervisor_events;

typedef struct {
  ep_worker_program program; /* strings are copied */
  int cpu_jobs;              /* at once on the CPU, 1 to EP_LIMIT_CPU_JOBS */
  double stall_seconds; /* a busy worker that says nothing for so long, and for 20 times as long as
                           it ever did before, is killed */
} ep_supervisor_options;

/* ids: [count] devices, each [16]. Call ep_supervisor_start when everything that the events need is
 * there. */
ep_status ep_supervisor_create(const ep_supervisor_options *options, char (*ids)[16], int count,
                               const ep_supervisor_events *events, ep_supervisor **out,
                               ep_error *error);
ep_status ep_supervisor_start(ep_supervisor *supervisor, ep_error *error);
/* Ends the workers (at most 2 s, then SIGKILL) and the thread; requests that wait fail. `died` is
 * not called. NULL is allowed. */
void ep_supervisor_destroy(ep_supervisor *supervisor);

/* The functions below may be called from any thread. */

/* There may be work, or a job to cancel. */
void ep_supervisor_kick(ep_supervisor *supervisor);
void ep_supervisor_get_devices(ep_supervisor *supervisor, ep_device_list *out);

/* Sends `command` (predict or probe; its request number is filled in) to `device`, or with NULL or
 * one that is not alive to any that is. `done` is called once, from the supervisor's thread, with
 * the reply or with an error (time-out, no worker, its death). On failure it is not called. */
typedef void ep_supervisor_done(void *context, const ep_reply *reply, const ep_error *error);
ep_status ep_supervisor_request(ep_supervisor *supervisor, const char *device, bool only_there,
                                ep_command *command, int timeout_ms, ep_supervisor_done *done,
                                void *context, ep_error *error);

#endif
