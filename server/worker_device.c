/* worker_device.c: one device's worker, from its start to its death, as the supervisor's thread
 * sees it.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "server/clock.h"
#include "server/notice.h"
#include "server/supervisor_state.h"

#define SECOND_US INT64_C(1000000)

/* Times in microseconds. */
#define READY_US (60 * SECOND_US) /* a CUDA context on a cold machine takes some 10 s */
#define REAP_US (30 * SECOND_US)  /* a process that SIGKILL did not end hangs in the driver */
#define CANCEL_US (10 * SECOND_US)
#define RETRY_US SECOND_US
#define GONE_US SECOND_US /* between a socket's end and its process's: the latter says why */
#define BACKOFF_FIRST_US (SECOND_US / 10)
#define BACKOFF_MOST_US (5 * SECOND_US)

enum {
  FAILED_STARTS_MAX = 5,
  GAP_FACTOR = 20,   /* a silence of 20 times the longest so far is none of the usual ones */
  FRAMES_TO_KNOW = 3 /* frames after which the silences are known */
};

void ep_supervised_show(ep_supervisor *supervisor, const ep_supervised *device) {
  pthread_mutex_lock(&supervisor->mutex);
  supervisor->shown.device[device - supervisor->device] = device->status;
  pthread_mutex_unlock(&supervisor->mutex);
}

/* Notes when a device gets busy, and for how long it was. */
static void busy_note(ep_device_status *status, bool busy) {
  int64_t now_us = ep_clock_steady_us();
  if (status->busy_since_us != 0) status->busy_us += now_us - status->busy_since_us;
  status->busy_since_us = busy ? now_us : 0;
}

static void state_set(ep_supervisor *supervisor, ep_supervised *device, ep_device_state state) {
  busy_note(&device->status, state == EP_DEVICE_BUSY);
  device->status.state = state;
  device->status.pid = device->link.pid;
  ep_supervised_show(supervisor, device);
  supervisor->look_for_work = true;
}

static void device_lose(ep_supervisor *supervisor, ep_supervised *device, const char *why) {
  ep_notice(EP_NOTICE_ERROR, "device %s is lost: %s; the others go on", device->status.info.id,
            why);
  state_set(supervisor, device, EP_DEVICE_LOST);
}

/* The next start is a while away, longer after each death, unless there were too many. */
static void restart_plan(ep_supervisor *supervisor, ep_supervised *device, const char *cause) {
  if (device->failures >= FAILED_STARTS_MAX) {
    device_lose(supervisor, device, cause);
    return;
  }
  device->backoff_us = device->backoff_us == 0                    ? BACKOFF_FIRST_US
                       : device->backoff_us * 2 < BACKOFF_MOST_US ? device->backoff_us * 2
                                                                  : BACKOFF_MOST_US;
  device->restart_us = ep_clock_steady_us() + device->backoff_us;
  device->status.restarts++;
  state_set(supervisor, device, EP_DEVICE_RESTARTING);
}

void ep_supervised_start(ep_supervisor *supervisor, ep_supervised *device) {
  ep_error error = {0};
  device->held = device->hung_up = device->killed = false;
  device->cause[0] = 0;
  device->cancel_us = device->reap_us = 0;
  device->link = EP_WORKER_LINK_NONE;
  ep_status status = ep_worker_link_start(&device->link, &supervisor->options.program,
                                          device->status.info.id, &error);
  if (status != EP_OK) {
    ep_notice(EP_NOTICE_ERROR, "device %s: %s", device->status.info.id, error.message);
    device->failures++;
    restart_plan(supervisor, device, error.message);
    return;
  }
  device->deadline_us = ep_clock_steady_us() + READY_US;
  state_set(supervisor, device, EP_DEVICE_STARTING);
}

void ep_supervised_kill(ep_supervised *device, const char *cause) {
  if (device->killed) return;
  device->killed = true;
  device->reap_us = ep_clock_steady_us() + REAP_US;
  snprintf(device->cause, sizeof device->cause, "%s", cause);
  ep_notice(EP_NOTICE_WARNING, "device %s: worker %lld is killed: %s", device->status.info.id,
            (long long)device->link.pid, cause);
  ep_worker_link_kill(&device->link);
}

/* The watchdog's next look: how long this job's worker may be silent from now. */
static void deadline_renew(ep_supervisor *supervisor, ep_supervised *device) {
  double stall_seconds = supervisor->options.stall_seconds;
  int64_t silence_us = (int64_t)(stall_seconds * 1e6);
  int64_t usual_us =
      device->frames >= FRAMES_TO_KNOW ? device->gap_us * GAP_FACTOR : device->patience_us;
  if (usual_us > silence_us) silence_us = usual_us;
  device->deadline_us = ep_clock_steady_us() + silence_us;
}

static void job_clear(ep_supervisor *supervisor, ep_supervised *device) {
  device->status.job[0] = 0;
  device->attempt = 0;
  device->deadline_us = device->cancel_us = 0;
  state_set(supervisor, device, EP_DEVICE_IDLE);
}

static bool job_is(const ep_supervised *device, const char *job, int attempt) {
  return device->status.job[0] != 0 && strcmp(device->status.job, job) == 0 &&
         device->attempt == attempt;
}

/* The job's training said something. Answers to predictions and probes do not count: the thread
 * that gives them lives on when the training hangs. */
static void job_heard(ep_supervisor *supervisor, ep_supervised *device) {
  int64_t now_us = ep_clock_steady_us();
  int64_t gap_us = now_us - device->heard_us;
  if (device->frames++ > 0 && gap_us > device->gap_us) device->gap_us = gap_us;
  device->heard_us = now_us;
  deadline_renew(supervisor, device);
}

static void ready_take(ep_supervisor *supervisor, ep_supervised *device, const ep_reply *reply) {
  char id[sizeof device->status.info.id];
  snprintf(id, sizeof id, "%s", device->status.info.id);
  device->status.info = reply->device;
  snprintf(device->status.info.id, sizeof device->status.info.id, "%s", id);
  device->failures = 0;
  device->deadline_us = 0;
  ep_notice(EP_NOTICE_INFO, "device %s is ready: %s (worker %lld)", id, reply->device.name,
            (long long)device->link.pid);
  state_set(supervisor, device, EP_DEVICE_IDLE);
}

/* One reply; false when its taker cannot take it now. Late ones, of another job or attempt, are
 * dropped. */
static bool reply_take(ep_supervisor *supervisor, ep_supervised *device, const ep_reply *reply) {
  const ep_supervisor_events *events = &supervisor->events;
  switch (reply->kind) {
  case EP_REPLY_READY:
    if (device->status.state == EP_DEVICE_STARTING) ready_take(supervisor, device, reply);
    return true;
  case EP_REPLY_STARTED:
    if (!job_is(device, reply->job, reply->attempt)) return true;
    job_heard(supervisor, device);
    return events->started(events->context, device->status.info.id, reply);
  case EP_REPLY_FINISHED:
    if (!job_is(device, reply->job, reply->attempt)) return true;
    if (!events->finished(events->context, device->status.info.id, reply)) return false;
    device->backoff_us = 0;
    job_clear(supervisor, device);
    return true;
  case EP_REPLY_PREDICTED:
  case EP_REPLY_PROBED:
  case EP_REPLY_CALIBRATED: ep_requests_answer(supervisor, reply); return true;
  }
  return true;
}

typedef struct {
  ep_supervisor *supervisor;
  ep_supervised *device;
} frame_taker;

static bool frame_take(void *context, ep_frame_kind kind, const uint8_t *payload, size_t bytes) {
  frame_taker *taker = context;
  ep_supervised *device = taker->device;
  const ep_supervisor_events *events = &taker->supervisor->events;
  ep_error error = {0};
  bool taken = true;
  ep_status status = EP_OK;
  if (kind == EP_FRAME_PROGRESS) {
    ep_progress progress;
    status = ep_progress_decode(payload, bytes, &progress, &error);
    bool ours = status == EP_OK && job_is(device, progress.job, progress.attempt);
    if (ours && progress.count == 0) deadline_renew(taker->supervisor, device);
    if (ours && progress.count > 0) {
      job_heard(taker->supervisor, device);
      taken = events->progress(events->context, &progress);
    }
  } else if (kind == EP_FRAME_REPLY) {
    ep_reply reply = {0};
    status = ep_reply_decode(payload, bytes, &reply, &error);
    if (status == EP_OK) {
      taken = reply_take(taker->supervisor, device, &reply);
      ep_reply_deinit(&reply);
    }
  } else {
    status = ep_fail(&error, EP_MALFORMED, "a worker must not send commands");
  }
  if (status != EP_OK) ep_supervised_kill(device, error.message);
  return taken;
}

static void frames_take(ep_supervisor *supervisor, ep_supervised *device) {
  frame_taker taker = {supervisor, device};
  ep_error error = {0};
  bool refused = false;
  if (ep_worker_link_offer(&device->link, frame_take, &taker, &refused, &error) != EP_OK) {
    ep_supervised_kill(device, error.message);
    device->link.in_bytes = 0;
  }
  device->held = refused;
  device->retry_us = ep_clock_steady_us() + RETRY_US;
}

void ep_supervised_receive(ep_supervisor *supervisor, ep_supervised *device) {
  ep_error error = {0};
  bool ended = false;
  if (device->held || device->hung_up) return;
  if (ep_worker_link_receive(&device->link, &ended, &error) != EP_OK) {
    ep_supervised_kill(device, error.message);
    ended = true;
  }
  device->hung_up = ended;
  if (ended) device->gone_us = ep_clock_steady_us() + GONE_US;
  frames_take(supervisor, device);
}

void ep_supervised_flush(ep_supervisor *supervisor, ep_supervised *device) {
  (void)supervisor;
  ep_error error = {0};
  if (ep_worker_link_flush(&device->link, &error) != EP_OK)
    ep_supervised_kill(device, error.message);
}

void ep_supervised_assign(ep_supervisor *supervisor, ep_supervised *device) {
  ep_assignment assignment = {0};
  const ep_supervisor_events *events = &supervisor->events;
  if (!events->next(events->context, device->status.info.id, &assignment)) return;
  size_t bytes = 0;
  ep_error error = {0};
  assignment.train.kind = EP_COMMAND_TRAIN;
  snprintf(device->status.job, sizeof device->status.job, "%s", assignment.train.job);
  device->attempt = assignment.train.attempt;
  device->frames = 0;
  device->gap_us = 0;
  device->heard_us = ep_clock_steady_us();
  device->patience_us = (int64_t)(assignment.patience_seconds * 1e6);
  deadline_renew(supervisor, device);
  state_set(supervisor, device, EP_DEVICE_BUSY);
  uint8_t *frame = ep_command_encode(&assignment.train, &bytes);
  if (ep_worker_link_send(&device->link, frame, bytes, &error) != EP_OK)
    ep_supervised_kill(device, error.message);
  ep_command_deinit(&assignment.train);
}

void ep_supervised_cancel(ep_supervisor *supervisor, ep_supervised *device) {
  (void)supervisor;
  ep_command command = {.kind = EP_COMMAND_CANCEL, .attempt = device->attempt};
  ep_error error = {0};
  size_t bytes = 0;
  if (device->cancel_us != 0) return;
  snprintf(command.job, sizeof command.job, "%s", device->status.job);
  device->cancel_us = ep_clock_steady_us() + CANCEL_US;
  uint8_t *frame = ep_command_encode(&command, &bytes);
  if (ep_worker_link_send(&device->link, frame, bytes, &error) != EP_OK)
    ep_supervised_kill(device, error.message);
}

/* Hands on everything the dead worker had said; false while something of it is refused. */
static bool last_words_take(ep_supervisor *supervisor, ep_supervised *device) {
  while (!device->hung_up && !device->held) {
    struct pollfd polled = {.fd = device->link.socket, .events = POLLIN};
    if (poll(&polled, 1, 0) == 0) device->hung_up = true; /* somebody else has it open: enough */
    ep_supervised_receive(supervisor, device);
  }
  if (device->held) frames_take(supervisor, device);
  return !device->held;
}

/* The process has ended and was reaped. */
static void death_handle(ep_supervisor *supervisor, ep_supervised *device, const char *cause) {
  const ep_supervisor_events *events = &supervisor->events;
  char job[EP_ID_BYTES];
  int attempt = device->attempt;
  ep_notice(EP_NOTICE_WARNING, "device %s: %s", device->status.info.id, cause);
  if (device->status.state == EP_DEVICE_STARTING) device->failures++;
  snprintf(job, sizeof job, "%s", device->status.job);
  device->status.job[0] = 0;
  device->attempt = 0;
  device->deadline_us = device->cancel_us = device->reap_us = 0;
  ep_worker_link_close(&device->link);
  ep_requests_fail_device(supervisor, device->status.info.id, cause);
  restart_plan(supervisor, device, cause);
  if (job[0] != 0) events->died(events->context, job, attempt, cause);
}

static void death_check(ep_supervisor *supervisor, ep_supervised *device) {
  char cause[EP_MESSAGE_BYTES];
  if (device->link.pidfd < 0) return;
  if (device->link.pid != 0) {
    if (!ep_worker_link_reap(&device->link, cause, sizeof cause)) return;
    if (device->cause[0] == 0) snprintf(device->cause, sizeof device->cause, "%s", cause);
  }
  if (last_words_take(supervisor, device)) {
    snprintf(cause, sizeof cause, "%s", device->cause);
    death_handle(supervisor, device, cause);
  }
}

void ep_supervised_check(ep_supervisor *supervisor, ep_supervised *device, int64_t now_us) {
  char text[EP_MESSAGE_BYTES];
  ep_device_state state = device->status.state;
  if (state == EP_DEVICE_RESTARTING && now_us >= device->restart_us) {
    ep_supervised_start(supervisor, device);
    return;
  }
  if (state == EP_DEVICE_RESTARTING || (state == EP_DEVICE_LOST && device->link.pidfd < 0)) return;
  if (device->held && now_us >= device->retry_us) {
    frames_take(supervisor, device);
    if (device->status.job[0] != 0) deadline_renew(supervisor, device);
  }
  death_check(supervisor, device);
  if (device->link.pid == 0) return;
  if (device->hung_up && now_us >= device->gone_us)
    ep_supervised_kill(device, "the worker closed its socket and did not end");
  if (device->cancel_us != 0 && now_us >= device->cancel_us)
    ep_supervised_kill(device, "the worker did not end a cancelled job and was stopped");
  if (device->deadline_us != 0 && now_us >= device->deadline_us && !device->held) {
    snprintf(text, sizeof text, "the worker made no progress for %.3g s and was stopped",
             (double)(now_us - device->heard_us) / 1e6);
    ep_supervised_kill(device, state == EP_DEVICE_STARTING
                                   ? "the worker did not open its device in 60 s and was stopped"
                                   : text);
  }
  if (device->reap_us != 0 && now_us >= device->reap_us && state != EP_DEVICE_LOST)
    device_lose(supervisor, device, "its worker did not end when it was killed");
}

int64_t ep_supervised_deadline(const ep_supervised *device) {
  int64_t first_us = INT64_MAX;
  ep_device_state state = device->status.state;
  if (state == EP_DEVICE_LOST) return first_us;
  if (state == EP_DEVICE_RESTARTING) return device->restart_us;
  if (device->held) return device->retry_us;
  if (device->killed) return device->reap_us;
  if (device->hung_up) return device->gone_us;
  if (device->deadline_us != 0) first_us = device->deadline_us;
  if (device->cancel_us != 0 && device->cancel_us < first_us) first_us = device->cancel_us;
  return first_us;
}
