/* state.h: the state of the supervisor, for this folder alone, and what changes a bit of it. */
#ifndef EP_SERVER_WORKERS_STATE_H
#define EP_SERVER_WORKERS_STATE_H

#include <pthread.h>

#include "server/slurm/control/control.h"
#include "server/workers/device_list.h"
#include "server/workers/link.h"
#include "server/workers/supervisor_events.h"

/* A worker. Only the supervisor's thread touches it; others see copies of `status`. */
typedef struct ep_supervised {
  char id[EP_DEVICE_ID_BYTES];         /* of its device */
  char name[128], instruction_set[16]; /* of what it computes on */
  ep_worker_status status;
  ep_worker_link link;
  int attempt;                  /* of status.job */
  bool begun;                   /* it has reported of this job */
  int cores;                    /* that this job takes */
  bool held;                    /* a frame was refused: nothing is read until retry_us */
  bool hung_up;                 /* the socket ended */
  bool killed;                  /* SIGKILL was sent */
  char cause[EP_MESSAGE_BYTES]; /* why it was killed; "" = it was not */
  int failures;                 /* starts in a row without a READY */
  int64_t backoff_us;
  int64_t retry_us, restart_us;
  int64_t deadline_us;      /* of READY, or of the watchdog; 0 = none */
  ep_stop stop;             /* the command that was sent */
  int64_t stop_us;          /* when the worker of a job that is to end is killed; 0 = never */
  int64_t gone_us;          /* when a worker whose socket ended must have ended */
  int64_t reap_us;          /* when a killed worker must have ended */
  int64_t store_us;         /* when its reports of the job are stored; 0 = all are */
  int64_t heard_us, gap_us; /* last report of this job, longest silence between two */
  int64_t patience_us;
  int frames; /* reports of this job's training */
  /* Its job is a sweep that wants helpers (helpers.h). */
  int helpers_wanted;
  bool helpers_due; /* it is to be told which it has */
  /* It is a helper. */
  uint64_t lease;               /* 0 = it is none */
  struct ep_supervised *leader; /* whose sweep it is */
  int64_t points_out;           /* that it has */
  int64_t help_again_us;        /* it could not help: not before */
  /* Of another machine: it has no process here. */
  bool remote;
  char worker[EP_ID_BYTES]; /* its name; "" = the place waits for a job's worker, or for any */
  uint64_t frames_taken;    /* of all that it sent, without READY */
  ep_slurm_request request; /* that it was started with */
  bool leaving;             /* it ends soon: it gets no job */
  bool gone;                /* it has ended; `cause` says how */
  int64_t idle_us;          /* when it ends, if no job has come by then; 0 = never */
} ep_supervised;

/* A command that another thread sends to a worker, and whose reply it waits for. */
typedef struct ep_worker_request {
  struct ep_worker_request *next;
  uint64_t number;
  char device[EP_DEVICE_ID_BYTES]; /* "" = any */
  bool only_there;                 /* no other device will do */
  const ep_supervised *worker;     /* that it was sent to */
  int64_t deadline_us;
  uint8_t *frame; /* owned until it is sent */
  size_t frame_bytes;
  ep_supervisor_done *done;
  void *context;
} ep_worker_request;

/* The gateway to workers of other machines. */
typedef struct {
  const ep_gateway_setup *setup; /* lent; NULL = there is none */
  const char *program;           /* epochd, lent */
  int listener;                  /* lent */
  int64_t idle_us, reconnect_us;
  int workers_most; /* of a device */
  int control;      /* -1 = it does not run */
  pid_t pid;
  int64_t again_us;                           /* when it is started again; 0 = it runs */
  int wanted[EP_LIMIT_DEVICES];               /* workers, as it was told; -1 = it was not */
  ep_slurm_request request[EP_LIMIT_DEVICES]; /* and of what kind */
} ep_remote;

struct ep_supervisor {
  ep_worker_program program; /* its strings are owned by the four below */
  char *path, *plugin, *data_dir, *allow_path;
  double stall_seconds, stop_seconds;
  ep_supervisor_events events;
  pthread_t thread;
  bool running;                              /* the thread was started */
  int wake;                                  /* eventfd */
  ep_device_status device[EP_LIMIT_DEVICES]; /* from here on: the supervisor's thread alone */
  int devices_count;
  ep_supervised worker[EP_LIMIT_WORKERS];
  int workers_count;
  bool look_for_work;
  ep_worker_request *sent; /* without a reply so far */
  uint64_t last_lease;     /* begins with the time: those of an epochd before are others */
  ep_remote remote;

  pthread_mutex_t mutex; /* guards what follows */
  bool stopping, kicked;
  ep_worker_request *queued, **queued_end; /* not sent so far, in order */
  uint64_t last_request;
  ep_device_list shown; /* the copy for other threads */
};
typedef struct ep_supervisor ep_supervisor;

/* Sends SIGKILL, once. */
void ep_supervised_kill(ep_supervised *worker, const char *cause);
/* Shows others what has changed of it. */
void ep_supervised_show(ep_supervisor *supervisor, ep_supervised *worker);
/* A worker of another machine ends where no job comes from here on. */
void ep_supervised_idle_begin(const ep_supervisor *supervisor, ep_supervised *worker);
/* Sets how long this job's worker may be silent from now. */
void ep_supervised_renew(ep_supervisor *supervisor, ep_supervised *worker);
/* It goes on: its watchdog waits anew. report: with something to report. */
void ep_supervised_heard(ep_supervisor *supervisor, ep_supervised *worker, bool report);
/* Sends it a command; one that cannot be sent ends it. */
void ep_supervised_send(ep_supervised *worker, const ep_command *command);
/* Has the supervisor's thread look at what is queued. From any thread. */
void ep_supervisor_wake(ep_supervisor *supervisor);

static inline bool ep_supervised_alive(const ep_supervised *worker) {
  return (worker->status.state == EP_DEVICE_IDLE || worker->status.state == EP_DEVICE_BUSY) &&
         !worker->hung_up && !worker->killed;
}

#endif
