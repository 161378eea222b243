#include "server/workers/worker.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/workers/gateway.h"
#include "server/workers/helpers.h"
#include "server/workers/requests.h"
#include "server/workers/supervisor.h"

#define SECOND_US INT64_C(1000000)

/* Times in microseconds. */
#define READY_US (60 * SECOND_US) /* a CUDA context on a cold machine takes some 10 s */
#define CANCEL_US (10 * SECOND_US)
#define PAUSE_US (60 * SECOND_US) /* a large checkpoint, on a slow disk */
#define RETRY_US SECOND_US
/* How long a start waits for the first epochs, to be stored with them. */
#define START_WAIT_US (SECOND_US / 500)
#define GONE_US SECOND_US /* between the end of a socket and of its process, which says why */
#define BACKOFF_FIRST_US (SECOND_US / 10)
#define BACKOFF_MOST_US (5 * SECOND_US)
#define LOST_US (10 * SECOND_US) /* before a lost one is tried again where others are alive */

enum { FAILED_STARTS_MAX = 5 };

static void state_set(ep_supervisor *supervisor, ep_supervised *worker, ep_device_state state) {
  worker->status.state = state;
  ep_supervised_show(supervisor, worker);
  supervisor->look_for_work = true;
}

static void worker_lose(ep_supervisor *supervisor, ep_supervised *worker, const char *why) {
  bool gone = worker->link.pidfd < 0;
  worker->restart_us = gone ? ep_clock_steady_us() + LOST_US : INT64_MAX;
  state_set(supervisor, worker, EP_DEVICE_LOST);
  bool all = supervisor->device[worker->status.device].state == EP_DEVICE_LOST;
  ep_log(EP_LOG_ERROR, "%s %s was lost: %s; the others continue",
         all ? "device" : "a worker of device", worker->id, why);
}

/* Plans the next start, later after each death; none after too many. */
static void restart_plan(ep_supervisor *supervisor, ep_supervised *worker, const char *cause) {
  if (worker->failures >= FAILED_STARTS_MAX) {
    worker_lose(supervisor, worker, cause);
    return;
  }
  worker->backoff_us = worker->backoff_us == 0                    ? BACKOFF_FIRST_US
                       : worker->backoff_us * 2 < BACKOFF_MOST_US ? worker->backoff_us * 2
                                                                  : BACKOFF_MOST_US;
  worker->restart_us = ep_clock_steady_us() + worker->backoff_us;
  supervisor->device[worker->status.device].restarts++;
  state_set(supervisor, worker, EP_DEVICE_RESTARTING);
}

void ep_supervised_start(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_error error = {0};
  worker->held = worker->hung_up = worker->killed = false;
  worker->cause[0] = 0;
  worker->stop = EP_STOP_NOT;
  worker->stop_us = worker->reap_us = 0;
  worker->link = EP_WORKER_LINK_NONE;
  ep_status status = ep_worker_link_start(&worker->link, &supervisor->program, worker->id, &error);
  if (status != EP_OK) {
    ep_log(EP_LOG_ERROR, "device %s: %s", worker->id, error.message);
    worker->failures++;
    restart_plan(supervisor, worker, error.message);
    return;
  }
  worker->deadline_us = ep_clock_steady_us() + READY_US;
  state_set(supervisor, worker, EP_DEVICE_STARTING);
}

static void job_clear(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_helpers_free(supervisor, worker);
  worker->helpers_wanted = 0;
  ep_worker_link_bound(&worker->link, 0); /* predictions take what they need */
  worker->status.job[0] = worker->link.errors.job[0] = 0;
  worker->attempt = 0;
  worker->stop = EP_STOP_NOT;
  worker->deadline_us = worker->stop_us = worker->store_us = 0;
  state_set(supervisor, worker, EP_DEVICE_IDLE);
  ep_supervised_idle_begin(supervisor, worker);
}

/* Whether a report is of the job that the worker has; then the worker has begun it. */
static bool job_is_its_own(ep_supervised *worker, const char *job, int attempt) {
  bool same = worker->status.job[0] != 0 && strcmp(worker->status.job, job) == 0 &&
              worker->attempt == attempt;
  if (same) worker->begun = true;
  return same;
}

/* A report of the job's training. Replies to predictions and probes do not count: the thread that
 * sends them lives on when the training hangs. */
static void job_heard(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_supervised_heard(supervisor, worker, true);
}

static void ready_take(ep_supervisor *supervisor, ep_supervised *worker, const ep_reply *reply) {
  ep_device_info *info = &supervisor->device[worker->status.device].info;
  *info = reply->device;
  memcpy(info->id, worker->id, sizeof info->id);
  memcpy(worker->name, info->name, sizeof worker->name);
  memcpy(worker->instruction_set, info->instruction_set, sizeof worker->instruction_set);
  worker->failures = 0;
  worker->deadline_us = 0;
  ep_log(EP_LOG_INFO, "device %s is ready: %s (worker %lld)", worker->id, info->name,
         (long long)worker->link.pid);
  state_set(supervisor, worker, EP_DEVICE_IDLE);
  ep_supervised_idle_begin(supervisor, worker);
}

void ep_supervised_leave(ep_supervised *worker) {
  if (!worker->remote || worker->leaving) return;
  ep_log(EP_LOG_INFO, "device %s: worker %s is to end", worker->id, worker->worker);
  worker->leaving = true;
  if (worker->status.job[0] != 0)
    ep_supervised_stop(worker, EP_STOP_PAUSE);
  else
    worker->idle_us = 1;
}

/* Hands on one reply; false: not now. Late ones, of another job or attempt, are dropped. */
static bool reply_take(ep_supervisor *supervisor, ep_supervised *worker, const ep_reply *reply) {
  const ep_supervisor_events *events = &supervisor->events;
  switch (reply->kind) {
  case EP_REPLY_READY:
    if (worker->status.state == EP_DEVICE_STARTING) ready_take(supervisor, worker, reply);
    return true;
  case EP_REPLY_STARTED:
    if (!job_is_its_own(worker, reply->job, reply->attempt)) return true;
    job_heard(supervisor, worker);
    if (worker->store_us == 0) worker->store_us = worker->heard_us + START_WAIT_US;
    return events->started(events->context, worker->id, reply);
  case EP_REPLY_CHECKPOINTED:
    if (!job_is_its_own(worker, reply->job, reply->attempt)) return true;
    ep_supervised_renew(supervisor, worker);
    worker->store_us = ep_clock_steady_us();
    return events->checkpointed(events->context, reply);
  case EP_REPLY_WAITING:
    if (!job_is_its_own(worker, reply->job, reply->attempt)) return true;
    ep_supervised_renew(supervisor, worker);
    events->waiting(events->context, reply);
    return true;
  case EP_REPLY_FINISHED:
    if (!job_is_its_own(worker, reply->job, reply->attempt)) return true;
    if (!events->finished(events->context, worker->id, reply)) return false;
    worker->backoff_us = 0;
    job_clear(supervisor, worker);
    return true;
  case EP_REPLY_WANTS:
    if (job_is_its_own(worker, reply->job, reply->attempt))
      ep_helpers_want(supervisor, worker, reply->helpers);
    return true;
  case EP_REPLY_HELPED: ep_helpers_refuse(supervisor, worker, reply); return true;
  case EP_REPLY_LEAVING: ep_supervised_leave(worker); return true;
  case EP_REPLY_PREDICTED:
  case EP_REPLY_EXPORTED:
  case EP_REPLY_PLOTTED:
  case EP_REPLY_PROBED:
  case EP_REPLY_CALIBRATED: ep_requests_complete(supervisor, worker, reply); return true;
  }
  return true;
}

typedef struct {
  ep_supervisor *supervisor;
  ep_supervised *worker;
} frame_taker;

static bool frame_take(void *context, ep_frame_kind kind, const uint8_t *payload, size_t bytes) {
  frame_taker *taker = context;
  ep_supervised *worker = taker->worker;
  const ep_supervisor_events *events = &taker->supervisor->events;
  ep_error error = {0};
  bool taken = true, counts = true;
  ep_status status = EP_OK;
  if (kind == EP_FRAME_PROGRESS || kind == EP_FRAME_TRIALS) {
    ep_progress progress;
    status = kind == EP_FRAME_TRIALS ? ep_trials_decode(payload, bytes, &progress, &error)
                                     : ep_progress_decode(payload, bytes, &progress, &error);
    bool ours = status == EP_OK && job_is_its_own(worker, progress.job, progress.attempt);
    if (ours && progress.count == 0) ep_supervised_renew(taker->supervisor, worker);
    if (ours && progress.count > 0) {
      job_heard(taker->supervisor, worker);
      worker->store_us = worker->heard_us;
      worker->backoff_us = 0; /* what dies now did some work */
      taken = events->progress(events->context, &progress);
    }
  } else if (kind == EP_FRAME_REPLY) {
    ep_reply reply = {0};
    status = ep_reply_decode(payload, bytes, &reply, &error);
    if (status == EP_OK) {
      counts = reply.kind != EP_REPLY_READY;
      /* What the worker calls its device is the device's name on its own machine. */
      if (worker->remote && reply.kind == EP_REPLY_FINISHED)
        memcpy(reply.result.device, worker->id, sizeof reply.result.device);
      taken = reply_take(taker->supervisor, worker, &reply);
      ep_reply_deinit(&reply);
    }
  } else if (kind == EP_FRAME_POINTS || kind == EP_FRAME_RESULTS) {
    taken = ep_helpers_take(taker->supervisor, worker, kind, payload, bytes, &status, &error);
  } else {
    status = ep_fail(&error, EP_MALFORMED, "a worker must not send commands");
  }
  if (status != EP_OK) ep_supervised_kill(worker, error.message);
  if (taken && counts) worker->frames_taken++;
  return taken;
}

/* Has the worker's reports stored, if it is time. Where that fails nothing is read from the worker
 * for a while. */
static void reports_store(ep_supervisor *supervisor, ep_supervised *worker, int64_t now_us) {
  const ep_supervisor_events *events = &supervisor->events;
  if (worker->store_us == 0 || now_us < worker->store_us) return;
  if (events->heard(events->context, worker->status.job, worker->attempt)) {
    worker->store_us = 0;
  } else {
    worker->held = true;
    worker->retry_us = ep_clock_steady_us() + RETRY_US;
  }
}

static void frames_take(ep_supervisor *supervisor, ep_supervised *worker) {
  frame_taker taker = {supervisor, worker};
  ep_error error = {0};
  bool refused = false;
  if (ep_worker_link_offer(&worker->link, frame_take, &taker, &refused, &error) != EP_OK) {
    ep_supervised_kill(worker, error.message);
    worker->link.in_bytes = 0;
  }
  int64_t now_us = ep_clock_steady_us();
  worker->held = refused;
  worker->retry_us = now_us + RETRY_US;
  reports_store(supervisor, worker, now_us);
}

void ep_supervised_receive(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_error error = {0};
  bool ended = false;
  if (worker->held || worker->hung_up) return;
  if (ep_worker_link_receive(&worker->link, &ended, &error) != EP_OK) {
    ep_supervised_kill(worker, error.message);
    ended = true;
  }
  worker->hung_up = ended;
  if (ended) worker->gone_us = ep_clock_steady_us() + GONE_US;
  frames_take(supervisor, worker);
}

void ep_supervised_flush(ep_supervised *worker) {
  ep_error error = {0};
  if (ep_worker_link_flush(&worker->link, &error) != EP_OK)
    ep_supervised_kill(worker, error.message);
}

bool ep_supervised_assign(ep_supervisor *supervisor, ep_supervised *worker, int cores) {
  ep_assignment assignment = {0};
  const ep_supervisor_events *events = &supervisor->events;
  if (worker->leaving || !events->next(events->context, worker->id, cores,
                                       worker->remote ? &worker->request : NULL, &assignment))
    return false;
  ep_helpers_end(supervisor, worker, false); /* the command does */
  for (int i = 0; i < assignment.train.gpus_count; i++)
    ep_helpers_leave_gpu(supervisor, assignment.train.gpus[i]);
  worker->idle_us = 0;
  assignment.train.kind = EP_COMMAND_TRAIN;
  snprintf(worker->status.job, sizeof worker->status.job, "%s", assignment.train.job);
  memcpy(worker->link.errors.job, worker->status.job, sizeof worker->link.errors.job);
  worker->attempt = assignment.train.attempt;
  worker->cores = assignment.cores;
  worker->begun = false;
  worker->frames = 0;
  worker->gap_us = 0;
  worker->heard_us = ep_clock_steady_us();
  worker->patience_us = (int64_t)(assignment.patience_seconds * 1e6);
  ep_supervised_renew(supervisor, worker);
  state_set(supervisor, worker, EP_DEVICE_BUSY);
  ep_worker_link_bound(&worker->link, assignment.memory_bytes);
  ep_supervised_send(worker, &assignment.train);
  ep_command_deinit(&assignment.train);
  return true;
}

void ep_supervised_stop(ep_supervised *worker, ep_stop stop) {
  bool cancel = stop == EP_STOP_CANCEL;
  ep_command command = {.kind = cancel ? EP_COMMAND_CANCEL : EP_COMMAND_PAUSE,
                        .attempt = worker->attempt};
  if (worker->stop >= stop) return;
  if (worker->link.socket < 0) { /* nobody is there to be told, and nobody is waited for */
    worker->restart_us = 0;
    return;
  }
  snprintf(command.job, sizeof command.job, "%s", worker->status.job);
  worker->stop = stop;
  worker->stop_us = ep_clock_steady_us() + (cancel ? CANCEL_US : PAUSE_US);
  ep_supervised_send(worker, &command);
}

/* Hands on all reports of a dead worker; false while one of them is refused. */
static bool last_reports_take(ep_supervisor *supervisor, ep_supervised *worker) {
  while (!worker->hung_up && !worker->held) {
    struct pollfd polled = {.fd = worker->link.socket, .events = POLLIN};
    if (poll(&polled, 1, 0) == 0) worker->hung_up = true; /* another process has it open: enough */
    ep_supervised_receive(supervisor, worker);
  }
  if (worker->held) frames_take(supervisor, worker);
  if (!worker->held) reports_store(supervisor, worker, INT64_MAX);
  return !worker->held;
}

/* The worker will not end its job and its requests any more. */
static void work_give_back(ep_supervisor *supervisor, ep_supervised *worker, const char *cause) {
  const ep_supervisor_events *events = &supervisor->events;
  char job[EP_ID_BYTES];
  int attempt = worker->attempt;
  ep_helpers_end(supervisor, worker, false);
  ep_helpers_free(supervisor, worker);
  worker->helpers_wanted = 0;
  snprintf(job, sizeof job, "%s", worker->status.job);
  worker->status.job[0] = 0;
  worker->attempt = 0;
  worker->stop = EP_STOP_NOT;
  worker->deadline_us = worker->stop_us = worker->reap_us = worker->store_us = 0;
  ep_requests_fail_worker(supervisor, worker, cause);
  if (job[0] != 0) events->died(events->context, job, attempt, worker->begun, cause);
}

/* The process has ended and was reaped. */
static void death_handle(ep_supervisor *supervisor, ep_supervised *worker, const char *cause) {
  ep_log(EP_LOG_WARNING, "device %s: %s", worker->id, cause);
  if (worker->status.state == EP_DEVICE_STARTING) worker->failures++;
  ep_worker_link_close(&worker->link);
  work_give_back(supervisor, worker, cause);
  restart_plan(supervisor, worker, cause);
}

void ep_supervised_part(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_helpers_end(supervisor, worker, false);
  ep_helpers_free(supervisor, worker);
  ep_worker_link_close(&worker->link);
  ep_requests_fail_worker(supervisor, worker, "the connection to the worker has ended");
  worker->held = worker->hung_up = worker->killed = false;
  worker->stop = EP_STOP_NOT;
  worker->deadline_us = worker->stop_us = worker->reap_us = worker->store_us = 0;
  worker->restart_us = ep_clock_steady_us() + supervisor->remote.reconnect_us;
  state_set(supervisor, worker, EP_DEVICE_RESTARTING);
}

void ep_supervised_give_up(ep_supervisor *supervisor, ep_supervised *worker, const char *cause) {
  ep_worker_link_close(&worker->link);
  state_set(supervisor, worker, EP_DEVICE_ABSENT);
  work_give_back(supervisor, worker, cause);
  worker->worker[0] = 0; /* the place is free */
  worker->leaving = false;
  worker->idle_us = 0;
  supervisor->look_for_work = true;
}

/* A worker that has a job which epochd does not know it by was handed one that it did not get. */
void ep_supervised_attach(ep_supervisor *supervisor, ep_supervised *worker, int socket, bool same) {
  ep_helpers_end(supervisor, worker, false); /* what was on its way to it is lost */
  ep_helpers_free(supervisor, worker);
  ep_worker_link_close(&worker->link); /* of a connection whose end was not noticed */
  if (!same && worker->status.job[0] != 0)
    work_give_back(supervisor, worker, "the worker did not get the job");
  worker->held = worker->hung_up = worker->killed = worker->gone = false;
  worker->stop = EP_STOP_NOT;
  worker->cause[0] = 0;
  worker->link.socket = socket;
  worker->heard_us = ep_clock_steady_us();
  if (worker->status.job[0] != 0) {
    ep_supervised_renew(supervisor, worker);
    worker->helpers_due = worker->helpers_wanted > 0; /* none by now */
    state_set(supervisor, worker, EP_DEVICE_BUSY);
    if (worker->leaving) ep_supervised_stop(worker, EP_STOP_PAUSE);
    ep_supervisor_kick(supervisor); /* it may have to be told to stop */
  } else {
    worker->deadline_us = worker->heard_us + READY_US;
    state_set(supervisor, worker, EP_DEVICE_STARTING);
  }
}

/* Of another machine: its connection has ended, or it is to end. */
static void remote_check(ep_supervisor *supervisor, ep_supervised *worker, int64_t now_us) {
  char cause[EP_MESSAGE_BYTES];
  const ep_device_state state = worker->status.state;
  if (state == EP_DEVICE_RESTARTING) {
    if (now_us < worker->restart_us) return;
    snprintf(cause, sizeof cause, "%s",
             worker->cause[0] ? worker->cause : "the worker's connection was lost");
    ep_log(EP_LOG_WARNING, "device %s: worker %s: %s", worker->id, worker->worker, cause);
    ep_gateway_end_worker(supervisor, worker, "it did not respond in time");
    ep_supervised_give_up(supervisor, worker, cause);
    return;
  }
  if (worker->idle_us != 0 && now_us >= worker->idle_us && state == EP_DEVICE_IDLE) {
    ep_gateway_end_worker(supervisor, worker, "epochd has no job for it");
    ep_supervised_give_up(supervisor, worker, "");
    return;
  }
  if (!worker->hung_up && !worker->killed) return;
  if (!last_reports_take(supervisor, worker)) return;
  if (worker->killed) { /* it spoke no frames, or did not do what it was told */
    snprintf(cause, sizeof cause, "%s", worker->cause);
    ep_gateway_end_worker(supervisor, worker, cause);
    ep_supervised_give_up(supervisor, worker, cause);
  } else {
    const bool gone = worker->gone;
    ep_supervised_part(supervisor, worker);
    if (gone) worker->restart_us = 0;
  }
}

static void death_check(ep_supervisor *supervisor, ep_supervised *worker) {
  char cause[EP_MESSAGE_BYTES];
  if (worker->link.pidfd < 0) return;
  if (worker->link.pid != 0) {
    if (!ep_worker_link_reap(&worker->link, cause, sizeof cause)) return;
    if (worker->cause[0] == 0) snprintf(worker->cause, sizeof worker->cause, "%s", cause);
  }
  if (last_reports_take(supervisor, worker)) {
    snprintf(cause, sizeof cause, "%s", worker->cause);
    death_handle(supervisor, worker, cause);
  }
}

void ep_supervised_check(ep_supervisor *supervisor, ep_supervised *worker, int64_t now_us) {
  char text[EP_MESSAGE_BYTES];
  ep_device_state state = worker->status.state;
  if (worker->remote) {
    if (state == EP_DEVICE_ABSENT) return;
    remote_check(supervisor, worker, now_us);
    state = worker->status.state;
    if (state == EP_DEVICE_ABSENT || state == EP_DEVICE_RESTARTING) return;
  }
  if (state == EP_DEVICE_RESTARTING && now_us >= worker->restart_us) {
    ep_supervised_start(supervisor, worker);
    return;
  }
  if (state == EP_DEVICE_RESTARTING || (state == EP_DEVICE_LOST && worker->link.pidfd < 0)) return;
  if (worker->held && now_us >= worker->retry_us) {
    frames_take(supervisor, worker);
    if (worker->status.job[0] != 0) ep_supervised_renew(supervisor, worker);
  }
  if (!worker->held) reports_store(supervisor, worker, now_us);
  death_check(supervisor, worker);
  if (worker->link.pid == 0 && !worker->remote) return;
  if (worker->hung_up && !worker->remote && now_us >= worker->gone_us)
    ep_supervised_kill(worker, "the worker closed its socket and did not end");
  if (worker->stop_us != 0 && now_us >= worker->stop_us)
    ep_supervised_kill(worker, worker->stop == EP_STOP_CANCEL
                                   ? "the worker did not end a cancelled job and was stopped"
                                   : "the worker did not pause its job in 60 s and was stopped");
  if (worker->deadline_us != 0 && now_us >= worker->deadline_us && !worker->held) {
    snprintf(text, sizeof text, "the worker made no progress for %.3g s and was stopped",
             (double)(now_us - worker->heard_us) / 1e6);
    ep_supervised_kill(worker, state == EP_DEVICE_STARTING
                                   ? "the worker did not open its device in 60 s and was stopped"
                                   : text);
  }
  if (worker->reap_us != 0 && now_us >= worker->reap_us && !worker->remote) {
    snprintf(text, sizeof text, "its worker did not end when it was killed");
    work_give_back(supervisor, worker, text);
    worker_lose(supervisor, worker, text);
  }
}

void ep_supervised_delay(ep_supervised *worker, int64_t delay_us) {
  int64_t *const deadlines[] = {&worker->deadline_us, &worker->stop_us, &worker->gone_us,
                                &worker->reap_us, &worker->heard_us};
  for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++)
    if (*deadlines[i] != 0) *deadlines[i] += delay_us;
}

int64_t ep_supervised_deadline(const ep_supervised *worker) {
  int64_t first_us = INT64_MAX;
  ep_device_state state = worker->status.state;
  if (state == EP_DEVICE_LOST || state == EP_DEVICE_ABSENT) return first_us;
  if (state == EP_DEVICE_RESTARTING) return worker->restart_us;
  if (worker->held) return worker->retry_us;
  if (worker->killed) return worker->reap_us;
  if (worker->hung_up) return worker->gone_us;
  if (worker->idle_us != 0 && state == EP_DEVICE_IDLE) first_us = worker->idle_us;
  if (worker->deadline_us != 0 && worker->deadline_us < first_us) first_us = worker->deadline_us;
  if (worker->stop_us != 0 && worker->stop_us < first_us) first_us = worker->stop_us;
  if (worker->store_us != 0 && worker->store_us < first_us) first_us = worker->store_us;
  return first_us;
}
