/* state.h: the insides of the supervisor, for supervisor.c, worker_device.c and
 * worker_requests.c. */
#ifndef EP_SERVER_WORKERS_STATE_H
#define EP_SERVER_WORKERS_STATE_H

#include <pthread.h>

#include "server/workers/supervisor.h"

/* A worker. Only the supervisor's thread touches it; others see copies of `status`. */
typedef struct {
  char id[16]; /* of its device */
  ep_worker_status status;
  ep_worker_link link;
  int attempt;                  /* of status.job */
  bool begun;                   /* it has said something of this job */
  int cores;                    /* that this job takes */
  bool held;                    /* a frame was refused: nothing is read until retry_us */
  bool hung_up;                 /* the socket ended */
  bool killed;                  /* SIGKILL was sent */
  char cause[EP_MESSAGE_BYTES]; /* why it was killed by us, "" = it was not */
  int failures;                 /* starts in a row that did not come to READY */
  int64_t backoff_us;
  int64_t retry_us, restart_us;
  int64_t deadline_us;      /* READY, or the watchdog; 0 = none */
  int64_t cancel_us;        /* when a cancelled job's worker is killed; 0 = none */
  int64_t gone_us;          /* when a worker whose socket ended must be gone */
  int64_t reap_us;          /* when a killed worker must be gone */
  int64_t store_us;         /* when what it said of its job is stored; 0 = all is */
  int64_t heard_us, gap_us; /* last word of this job, longest silence between two */
  int64_t patience_us;
  int frames; /* of this job, heard of its training */
} ep_supervised;

/* Something asked of a worker by another thread, which waits for its reply. */
typedef struct ep_request {
  struct ep_request *next;
  uint64_t number;
  char device[16]; /* wished for */
  bool only_there;
  const ep_supervised *worker; /* that has it */
  int64_t deadline_us;
  uint8_t *frame; /* owned until it is sent */
  size_t frame_bytes;
  ep_supervisor_done *done;
  void *context;
} ep_request;

struct ep_supervisor {
  ep_supervisor_options options;
  ep_supervisor_events events;
  char *path, *plugin, *data_dir, *allow_path; /* owned */
  pthread_t thread;
  bool running;                              /* the thread was started */
  int wake;                                  /* eventfd */
  ep_device_status device[EP_LIMIT_DEVICES]; /* this and what follows: supervisor's thread only */
  int devices_count;
  ep_supervised worker[EP_LIMIT_WORKERS];
  int workers_count;
  bool look_for_work;
  ep_request *sent; /* waiting for replies */

  pthread_mutex_t mutex; /* guards what follows */
  bool stopping, kicked;
  ep_request *asked, **asked_end; /* not yet sent, in order */
  uint64_t last_request;
  ep_device_list shown; /* what other threads see of the devices */
};

/* worker_device.c */
void ep_supervised_start(ep_supervisor *supervisor, ep_supervised *worker);
void ep_supervised_receive(ep_supervisor *supervisor, ep_supervised *worker);
void ep_supervised_flush(ep_supervised *worker);
void ep_supervised_check(ep_supervisor *supervisor, ep_supervised *worker, int64_t now_us);
/* Asks for a job for an idle worker; false when there is none. */
bool ep_supervised_assign(ep_supervisor *supervisor, ep_supervised *worker, int cores);
void ep_supervised_cancel(ep_supervised *worker);
void ep_supervised_kill(ep_supervised *worker, const char *cause);
/* The next moment at which ep_supervised_check has something to do; INT64_MAX = none. */
int64_t ep_supervised_deadline(const ep_supervised *worker);
static inline bool ep_supervised_alive(const ep_supervised *worker) {
  return (worker->status.state == EP_DEVICE_IDLE || worker->status.state == EP_DEVICE_BUSY) &&
         !worker->hung_up && !worker->killed;
}

/* worker_requests.c */
void ep_requests_send(ep_supervisor *supervisor);
void ep_requests_answer(ep_supervisor *supervisor, const ep_reply *reply);
void ep_requests_fail_worker(ep_supervisor *supervisor, const ep_supervised *worker,
                             const char *cause);
void ep_requests_expire(ep_supervisor *supervisor, int64_t now_us);
int64_t ep_requests_deadline(const ep_supervisor *supervisor);
void ep_requests_fail_all(ep_supervisor *supervisor);

#endif
