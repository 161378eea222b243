#include "server/workers/remote.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/process/log.h"
#include "server/slurm/request.h"
#include "server/workers/gateway.h"
#include "server/workers/worker.h"

static int device_find(const ep_supervisor *s, const char *id) {
  for (int i = 0; i < s->devices_count; i++)
    if (strcmp(s->device[i].info.id, id) == 0) return i;
  return -1;
}

static ep_supervised *place_find(ep_supervisor *s, const ep_control *control, int device) {
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    if (!worker->remote || worker->status.device != device) continue;
    if (strcmp(worker->worker, control->worker) == 0) return worker;
  }
  for (int i = 0; i < s->workers_count; i++) { /* that a job of before epochd's end keeps */
    ep_supervised *worker = &s->worker[i];
    if (worker->remote && worker->status.device == device && worker->worker[0] == 0 &&
        control->job[0] != 0 && strcmp(worker->status.job, control->job) == 0 &&
        worker->attempt == control->attempt)
      return worker;
  }
  return NULL;
}

/* A free place, or a new one; NULL: there is no room. */
static ep_supervised *place_make(ep_supervisor *s, int device) {
  ep_supervised *found = NULL;
  for (int i = 0; i < s->workers_count && !found; i++)
    if (s->worker[i].remote && s->worker[i].status.state == EP_DEVICE_ABSENT) found = &s->worker[i];
  if (!found && s->workers_count < EP_LIMIT_WORKERS) found = &s->worker[s->workers_count++];
  if (!found) return NULL;
  *found = (ep_supervised){.remote = true, .link = EP_WORKER_LINK_NONE};
  found->status.device = device;
  found->status.state = EP_DEVICE_ABSENT;
  memcpy(found->id, s->device[device].info.id, sizeof found->id);
  return found;
}

bool ep_remote_expect(ep_supervisor *s, const char *device, const char *job, int attempt) {
  int index = device_find(s, device);
  ep_supervised *place = index >= 0 ? place_make(s, index) : NULL;
  if (!place) return false;
  snprintf(place->status.job, sizeof place->status.job, "%s", job);
  place->attempt = attempt;
  place->begun = true;
  place->cores = 1;
  ep_supervised_part(s, place);
  return true;
}

static void refuse(ep_supervisor *s, const ep_control *control, int file, const char *why) {
  ep_control reply = {.kind = EP_CONTROL_END};
  memcpy(reply.worker, control->worker, sizeof reply.worker);
  snprintf(reply.text, sizeof reply.text, "%s", why);
  ep_gateway_send(s, &reply);
  close(file);
}

/* A worker connects, for the first time or again. */
static void worker_attach(ep_supervisor *s, const ep_control *control, int file) {
  const int device = device_find(s, control->device);
  if (device < 0 || fcntl(file, F_SETFL, O_NONBLOCK) != 0) {
    refuse(s, control, file, "the device no longer exists");
    return;
  }
  ep_supervised *place = place_find(s, control, device);
  const bool known = place && place->worker[0] != 0;
  bool awaited = place && !known;
  if (place && !known && !control->has_all) {
    ep_supervised_give_up(s, place, "a worker reconnected without everything it had reported");
    place = NULL;
    awaited = false;
  }
  if (!place && control->job[0] != 0 && !control->ended) {
    refuse(s, control, file, "epochd has given up the job of this worker");
    return;
  }
  if (!place) place = place_make(s, device);
  if (!place) {
    refuse(s, control, file, "too many workers");
    return;
  }
  ep_control reply = {.kind = EP_CONTROL_ADMIT};
  if (!known) {
    memcpy(place->worker, control->worker, sizeof place->worker);
    place->request = control->request;
    place->frames_taken = awaited ? control->first - 1 : control->last;
  }
  const bool same = strcmp(place->status.job, control->job) == 0 &&
                    (control->job[0] == 0 || place->attempt == control->attempt);
  memcpy(reply.worker, control->worker, sizeof reply.worker);
  reply.taken = place->frames_taken;
  reply.keep = same || place->status.job[0] == 0;
  ep_log(EP_LOG_INFO, "device %s: worker %s is on %s", place->id, place->worker, control->node);
  ep_gateway_send(s, &reply);
  ep_supervised_attach(s, place, file, same);
}

/* NULL: it is none of epochd's any more. */
static ep_supervised *worker_named(ep_supervisor *s, const char *name) {
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].remote && name[0] && strcmp(s->worker[i].worker, name) == 0)
      return &s->worker[i];
  return NULL;
}

static void worker_gone(ep_supervisor *s, const ep_control *control) {
  ep_supervised *worker = worker_named(s, control->worker);
  if (!worker) return;
  snprintf(worker->cause, sizeof worker->cause, "%s", control->text);
  worker->gone = true;
  if (worker->status.state == EP_DEVICE_RESTARTING) worker->restart_us = 0;
}

/* A job whose files are on their way cannot report so far: that is no silence. */
static void moves_note(ep_supervisor *s, const ep_control *control) {
  ep_supervised *worker = worker_named(s, control->worker);
  if (worker && worker->status.job[0] && !worker->begun && worker->deadline_us != 0)
    ep_supervised_heard(s, worker, false);
}

static void waits_note(ep_supervisor *s, const ep_control *control) {
  const int device = device_find(s, control->device);
  if (device < 0) return;
  pthread_mutex_lock(&s->mutex);
  memcpy(s->device[device].reason, control->text, sizeof s->device[device].reason);
  memcpy(s->shown.device[device].reason, control->text, sizeof s->shown.device[device].reason);
  pthread_mutex_unlock(&s->mutex);
}

/* Its node drains. */
static void worker_leave(ep_supervisor *s, const ep_control *control) {
  ep_supervised *worker = worker_named(s, control->worker);
  if (!worker || worker->leaving) return;
  ep_log(EP_LOG_INFO, "device %s: worker %s: %s", worker->id, worker->worker, control->text);
  ep_supervised_leave(worker);
}

static void partition_note(ep_supervisor *s, const ep_control *control) {
  const int device = device_find(s, control->device);
  if (device < 0) return;
  const int64_t wait_seconds = control->partition.wait_seconds;
  s->device[device].wait_seconds = wait_seconds >= 0 ? (double)wait_seconds : INFINITY;
  pthread_mutex_lock(&s->mutex);
  s->shown.device[device].wait_seconds = s->device[device].wait_seconds;
  pthread_mutex_unlock(&s->mutex);
  if (s->events.partition) s->events.partition(s->events.context, &control->partition);
  s->look_for_work = true; /* `auto` may go there by now */
}

static void refused_add(ep_supervisor *s, int count) {
  pthread_mutex_lock(&s->mutex);
  s->shown.refused += count;
  pthread_mutex_unlock(&s->mutex);
}

static void control_take(ep_supervisor *s, const ep_control *control) {
  switch (control->kind) {
  case EP_CONTROL_GONE: worker_gone(s, control); return;
  case EP_CONTROL_WAITS: waits_note(s, control); return;
  case EP_CONTROL_LEAVE: worker_leave(s, control); return;
  case EP_CONTROL_MOVES: moves_note(s, control); return;
  case EP_CONTROL_REFUSED: refused_add(s, control->count); return;
  case EP_CONTROL_PARTITION: partition_note(s, control); return;
  default: return;
  }
}

void ep_remote_receive(ep_supervisor *s) {
  ep_control control;
  ep_error error = {0};
  for (bool got = true; got && s->remote.control >= 0;) {
    int file = -1;
    if (ep_control_receive(s->remote.control, &control, &file, &got, &error) != EP_OK) {
      ep_gateway_lose(s, error.message);
      return;
    }
    if (!got) return;
    if (control.kind == EP_CONTROL_ATTACH && file >= 0) {
      worker_attach(s, &control, file);
    } else {
      control_take(s, &control);
      if (file >= 0) close(file);
    }
  }
}

/* Workers of the device that have a job. */
static int busy_count(const ep_supervisor *s, int device) {
  int count = 0;
  for (int i = 0; i < s->workers_count; i++)
    count += s->worker[i].remote && s->worker[i].status.device == device &&
             s->worker[i].status.job[0] != 0 && !s->worker[i].leaving;
  return count;
}

/* Idle workers that may not take the jobs that wait make room for others. */
static void unfit_end(ep_supervisor *s, int device, const ep_slurm_request *needed) {
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].remote && s->worker[i].status.device == device &&
        s->worker[i].status.state == EP_DEVICE_IDLE &&
        !ep_slurm_request_holds(&s->worker[i].request, needed))
      s->worker[i].idle_us = 1;
}

void ep_remote_want(ep_supervisor *s) {
  if (s->remote.control < 0) return;
  for (int i = 0; i < s->devices_count; i++) {
    if (!ep_device_is_remote(s->device[i].info.id)) continue;
    ep_control control = {.kind = EP_CONTROL_WANT};
    const int queued = s->events.queued(s->events.context, s->device[i].info.id, &control.request);
    if (queued > 0)
      unfit_end(s, i, &control.request);
    else
      control.request = s->remote.request[i];
    control.count = busy_count(s, i) + queued;
    if (control.count > s->remote.workers_most) control.count = s->remote.workers_most;
    if (control.count == s->remote.wanted[i] &&
        memcmp(&control.request, &s->remote.request[i], sizeof control.request) == 0)
      continue;
    s->remote.wanted[i] = control.count;
    s->remote.request[i] = control.request;
    memcpy(control.device, s->device[i].info.id, sizeof control.device);
    ep_gateway_send(s, &control);
    if (s->remote.control < 0) return;
  }
}
