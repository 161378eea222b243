#include "server/workers/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/workers/supervisor.h"

enum {
  GAP_FACTOR = 20,   /* a silence of 20 times the longest so far is none of the usual ones */
  FRAMES_TO_KNOW = 3 /* frames after which the silences are known */
};

#define REAP_US INT64_C(30000000) /* a process that SIGKILL did not end hangs in the driver */

void ep_supervised_kill(ep_supervised *worker, const char *cause) {
  if (worker->killed) return;
  worker->killed = true;
  worker->reap_us = ep_clock_steady_us() + REAP_US;
  snprintf(worker->cause, sizeof worker->cause, "%s", cause);
  ep_log(EP_LOG_WARNING, "device %s: worker %lld is killed: %s", worker->id,
         (long long)worker->link.pid, cause);
  ep_worker_link_kill(&worker->link);
  if (worker->remote) worker->hung_up = true; /* nothing more is read */
}

/* The best state of its workers. */
static ep_device_state device_state(const ep_supervisor *supervisor, int device) {
  static const ep_device_state best_first[] = {EP_DEVICE_BUSY, EP_DEVICE_IDLE, EP_DEVICE_STARTING,
                                               EP_DEVICE_RESTARTING};
  for (size_t i = 0; i < sizeof best_first / sizeof *best_first; i++)
    for (int w = 0; w < supervisor->workers_count; w++) {
      const ep_worker_status *worker = &supervisor->worker[w].status;
      if (worker->device == device && worker->state == best_first[i]) return best_first[i];
    }
  return ep_device_is_remote(supervisor->device[device].info.id) ? EP_DEVICE_ABSENT
                                                                 : EP_DEVICE_LOST;
}

/* Adds up the time for which a device is busy. */
static void busy_note(ep_device_status *status, bool busy) {
  int64_t now_us = ep_clock_steady_us();
  if (status->busy_since_us != 0) status->busy_us += now_us - status->busy_since_us;
  status->busy_since_us = busy ? now_us : 0;
}

static bool any_helps(const ep_supervisor *supervisor, int device) {
  for (int i = 0; i < supervisor->workers_count; i++)
    if (supervisor->worker[i].status.device == device && supervisor->worker[i].lease != 0)
      return true;
  return false;
}

void ep_supervised_show(ep_supervisor *supervisor, ep_supervised *worker) {
  ep_device_status *device = &supervisor->device[worker->status.device];
  worker->status.pid = worker->link.pid;
  device->state = device_state(supervisor, worker->status.device);
  busy_note(device,
            device->state == EP_DEVICE_BUSY || any_helps(supervisor, worker->status.device));
  pthread_mutex_lock(&supervisor->mutex);
  supervisor->shown.device[worker->status.device] = *device;
  supervisor->shown.worker[worker - supervisor->worker] = worker->status;
  supervisor->shown.workers_count = supervisor->workers_count;
  pthread_mutex_unlock(&supervisor->mutex);
}

void ep_supervised_renew(ep_supervisor *supervisor, ep_supervised *worker) {
  double stall_seconds = supervisor->stall_seconds;
  int64_t silence_us = (int64_t)(stall_seconds * 1e6);
  int64_t usual_us =
      worker->frames >= FRAMES_TO_KNOW ? worker->gap_us * GAP_FACTOR : worker->patience_us;
  if (usual_us > silence_us) silence_us = usual_us;
  worker->deadline_us = ep_clock_steady_us() + silence_us;
}

void ep_supervised_idle_begin(const ep_supervisor *supervisor, ep_supervised *worker) {
  if (!worker->remote) return;
  worker->idle_us = worker->leaving ? 1 : ep_clock_steady_us() + supervisor->remote.idle_us;
}

void ep_supervised_heard(ep_supervisor *supervisor, ep_supervised *worker, bool report) {
  const int64_t now_us = ep_clock_steady_us(), gap_us = now_us - worker->heard_us;
  if (report && worker->frames++ > 0 && gap_us > worker->gap_us) worker->gap_us = gap_us;
  if (report) worker->heard_us = now_us;
  ep_supervised_renew(supervisor, worker);
}

void ep_supervised_send(ep_supervised *worker, const ep_command *command) {
  ep_error error = {0};
  size_t bytes = 0;
  uint8_t *frame = ep_command_encode(command, &bytes);
  if (ep_worker_link_send(&worker->link, frame, bytes, &error) != EP_OK)
    ep_supervised_kill(worker, error.message);
}

void ep_supervisor_wake(ep_supervisor *s) {
  uint64_t one = 1;
  if (write(s->wake, &one, sizeof one) != sizeof one)
    ep_log(EP_LOG_ERROR, "the supervisor cannot be woken: %s", strerror(errno));
}

void ep_supervisor_kick(ep_supervisor *s) {
  pthread_mutex_lock(&s->mutex);
  bool kicked = s->kicked;
  s->kicked = true;
  pthread_mutex_unlock(&s->mutex);
  if (!kicked) ep_supervisor_wake(s);
}
