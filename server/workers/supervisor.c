#include "server/workers/supervisor.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/workers/gateway.h"
#include "server/workers/helpers.h"
#include "server/workers/remote.h"
#include "server/workers/requests.h"
#include "server/workers/worker.h"

enum {
  STOP_MS = 2000,
  LOADING_MS =
      1000, /* for the last reports of a job that has not started: it has nothing to save */
  SETTLE_MS = 1000,
  IDLE_MS = 60000
};

#define LATE_US INT64_C(500000) /* a round that lasts so much longer than it may wait is late */
#define LATE_SHARE 10 /* of what a worker may be silent: less is usual on a busy machine */

static char *text_copy(const char *text) {
  return text ? strdup(text) : NULL;
}

ep_status ep_supervisor_create(const ep_supervisor_options *options,
                               char (*ids)[EP_DEVICE_ID_BYTES], int count,
                               const ep_supervisor_events *events, ep_supervisor **out,
                               ep_error *error) {
  *out = NULL;
  ep_supervisor *s = calloc(1, sizeof *s);
  if (!s) return ep_fail_memory(error);
  pthread_mutex_init(&s->mutex, NULL);
  s->stall_seconds = options->stall_seconds;
  s->stop_seconds = options->stop_seconds;
  s->events = *events;
  s->path = text_copy(options->program.path);
  s->plugin = text_copy(options->program.plugin);
  s->data_dir = text_copy(options->program.data_dir);
  s->allow_path = text_copy(options->program.allow_path);
  s->program =
      (ep_worker_program){.path = s->path,
                          .plugin = s->plugin,
                          .data_dir = s->data_dir,
                          .data_bytes_max = options->program.data_bytes_max,
                          .checkpoint_after_seconds = options->program.checkpoint_after_seconds,
                          .allow_path = s->allow_path};
  s->remote = (ep_remote){.setup = options->gateway,
                          .program = options->gateway_program,
                          .listener = options->gateway_listener,
                          .idle_us = (int64_t)(options->idle_seconds * 1e6),
                          .workers_most = options->gateway_workers_max,
                          .control = -1};
  if (options->gateway)
    s->remote.reconnect_us = options->gateway->reconnect_seconds * INT64_C(1000000);
  s->queued_end = &s->queued;
  s->last_lease = (uint64_t)ep_clock_utc_us();
  s->devices_count = s->shown.count = count;
  for (int i = 0; i < count; i++) {
    memcpy(s->device[i].info.id, ids[i], sizeof ids[i]);
    s->device[i].cores = strcmp(ids[i], "cpu") == 0 ? options->cpu_jobs : 1;
    if (ep_device_is_remote(ids[i])) {
      s->device[i].state = EP_DEVICE_ABSENT;
      s->device[i].wait_seconds = INFINITY; /* nobody knows so far */
    }
    s->shown.device[i] = s->device[i];
  }
  s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (s->wake < 0 || !s->path || !s->data_dir) {
    ep_status status = ep_fail(error, EP_IO, "the supervisor cannot start: %s", strerror(errno));
    ep_supervisor_destroy(s);
    return status;
  }
  *out = s;
  return EP_OK;
}

void ep_supervisor_get_reason(ep_supervisor *s, const char *device,
                              char reason[EP_WAIT_REASON_BYTES]) {
  reason[0] = 0;
  pthread_mutex_lock(&s->mutex);
  const ep_device_status *found = ep_device_list_find(&s->shown, device);
  if (found)
    snprintf(reason, EP_WAIT_REASON_BYTES, "%.*s", EP_WAIT_REASON_BYTES - 1, found->reason);
  pthread_mutex_unlock(&s->mutex);
}

void ep_supervisor_get_devices(ep_supervisor *s, ep_device_list *out) {
  pthread_mutex_lock(&s->mutex);
  *out = s->shown;
  pthread_mutex_unlock(&s->mutex);
}

/* Stops the jobs that are to end. */
static void jobs_stop(ep_supervisor *s) {
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    if (worker->status.job[0] != 0)
      ep_supervised_stop(worker,
                         s->events.stop(s->events.context, worker->status.job, worker->attempt));
  }
}

/* Reads the flags that other threads set; true when the supervisor is to stop. */
static bool inbox_take(ep_supervisor *s) {
  uint64_t count;
  /* Emptied first: a kick from here on writes again, and at worst wakes the thread for nothing. */
  while (read(s->wake, &count, sizeof count) < 0 && errno == EINTR) {
  }
  pthread_mutex_lock(&s->mutex);
  bool stopping = s->stopping, kicked = s->kicked;
  s->kicked = false;
  pthread_mutex_unlock(&s->mutex);
  if (kicked) {
    s->look_for_work = true;
    jobs_stop(s);
  }
  return stopping;
}

/* Waits for sockets, deaths, kicks or the next deadline. */
static void events_wait(ep_supervisor *s, int timeout_ms) {
  enum { POLLED = 3 }; /* of each worker: its socket, its process, its stderr */
  enum { OTHERS = 2 };
  struct pollfd polled[OTHERS + POLLED * EP_LIMIT_WORKERS];
  nfds_t used = 0;
  polled[used++] = (struct pollfd){.fd = s->wake, .events = POLLIN};
  polled[used++] = (struct pollfd){.fd = s->remote.control, .events = POLLIN};
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    bool listen = worker->link.socket >= 0 && !worker->held && !worker->hung_up;
    bool output = listen && ep_worker_link_output(&worker->link) > 0 && !worker->killed;
    polled[used++] = (struct pollfd){.fd = listen ? worker->link.socket : -1,
                                     .events = (short)(POLLIN | (output ? POLLOUT : 0))};
    polled[used++] =
        (struct pollfd){.fd = worker->link.pid != 0 ? worker->link.pidfd : -1, .events = POLLIN};
    polled[used++] = (struct pollfd){.fd = worker->link.errors.fd, .events = POLLIN};
  }
  if (poll(polled, used, timeout_ms) <= 0) return;
  const int polled_count = s->workers_count; /* the gateway may bring others */
  if (polled[1].revents != 0) ep_remote_receive(s);
  for (int i = 0; i < polled_count; i++) {
    /* Another connection by now, or none. */
    if (s->worker[i].remote && s->worker[i].link.socket != polled[OTHERS + POLLED * i].fd) continue;
    short happened = polled[OTHERS + POLLED * i].revents;
    if (polled[OTHERS + POLLED * i + 2].revents != 0)
      ep_error_lines_read(&s->worker[i].link.errors);
    if ((happened & POLLOUT) != 0) ep_supervised_flush(&s->worker[i]);
    if ((happened & (POLLIN | POLLHUP | POLLERR)) != 0) ep_supervised_receive(s, &s->worker[i]);
  }
}

static void worker_add(ep_supervisor *s, int device) {
  ep_supervised *worker = &s->worker[s->workers_count++];
  worker->link = EP_WORKER_LINK_NONE;
  worker->status.device = device;
  memcpy(worker->id, s->device[device].info.id, sizeof worker->id);
  ep_supervised_start(s, worker);
}

/* Cores of the device that no job has; INT_MAX when it has no job. */
static int cores_left(const ep_supervisor *s, int device) {
  int taken = 0;
  if (ep_device_is_remote(s->device[device].info.id)) return INT_MAX; /* each has a node's own */
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].status.device == device && s->worker[i].status.job[0] != 0)
      taken += s->worker[i].cores;
  return taken > 0 ? s->device[device].cores - taken : INT_MAX;
}

/* Another worker for a device whose workers all are busy, so that the next job need not wait for a
 * start: one that was lost and whose next try is due, or a new one. Where all are lost, a new one
 * would be lost too. */
static void spare_add(ep_supervisor *s, int device) {
  int count = 0;
  ep_supervised *lost = NULL;
  if (s->device[device].state == EP_DEVICE_LOST || ep_device_is_remote(s->device[device].info.id))
    return;
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    ep_device_state state = worker->status.state;
    if (worker->status.device != device) continue;
    if (state != EP_DEVICE_BUSY && state != EP_DEVICE_LOST) return;
    if (state == EP_DEVICE_LOST && ep_clock_steady_us() >= worker->restart_us) lost = worker;
    count++;
  }
  if (lost) {
    ep_supervised_start(s, lost);
  } else if (count < s->device[device].cores) {
    worker_add(s, device);
  }
}

/* helpers: those that train another worker's points, or the others. */
static void device_assign(ep_supervisor *s, int device, bool helpers) {
  for (int i = 0; i < s->workers_count; i++) {
    ep_supervised *worker = &s->worker[i];
    if (worker->status.device != device || worker->status.state != EP_DEVICE_IDLE ||
        !ep_supervised_alive(worker) || (worker->lease != 0) != helpers)
      continue;
    int cores = cores_left(s, device);
    if (cores <= 0 || !ep_supervised_assign(s, worker, cores)) return;
  }
  if (!helpers) spare_add(s, device);
}

static void work_assign(ep_supervisor *s) {
  if (!s->look_for_work) return;
  s->look_for_work = false;
  for (int i = 0; i < s->devices_count; i++) device_assign(s, i, false);
  for (int i = 0; i < s->devices_count; i++) device_assign(s, i, true); /* what nobody else takes */
  ep_helpers_lend(s);
}

static int timeout_find(const ep_supervisor *s, bool settle_again) {
  int64_t first_us = ep_requests_deadline(s), remote_us = ep_gateway_deadline(s);
  if (remote_us < first_us) first_us = remote_us;
  for (int i = 0; i < s->workers_count; i++) {
    int64_t deadline_us = ep_supervised_deadline(&s->worker[i]);
    if (deadline_us < first_us) first_us = deadline_us;
  }
  /* Where there is a deadline rounds are short, so that a late one shows (delays_forgive). */
  int64_t most_us = (settle_again || first_us != INT64_MAX ? SETTLE_MS : IDLE_MS) * INT64_C(1000);
  int64_t left_us = first_us == INT64_MAX ? most_us : first_us - ep_clock_steady_us();
  if (left_us > most_us) left_us = most_us;
  return left_us <= 0 ? 0 : (int)((left_us + 999) / 1000);
}

/* Ends all workers: their sockets first, SIGKILL for those that stay. */
static void workers_stop(ep_supervisor *s) {
  char cause[EP_MESSAGE_BYTES];
  int64_t deadline_us = ep_clock_steady_us() + STOP_MS * INT64_C(1000);
  bool killed = false;
  for (int i = 0; i < s->workers_count; i++) {
    if (s->worker[i].remote && s->worker[i].status.state != EP_DEVICE_ABSENT)
      ep_gateway_end_worker(s, &s->worker[i], "epochd has ended");
    ep_worker_link_hang_up(&s->worker[i].link);
  }
  for (;;) {
    struct pollfd polled[EP_LIMIT_WORKERS];
    nfds_t alive = 0;
    for (int i = 0; i < s->workers_count; i++) {
      ep_worker_link *link = &s->worker[i].link;
      if (link->pid == 0 || ep_worker_link_reap(link, cause, sizeof cause)) continue;
      polled[alive++] = (struct pollfd){.fd = link->pidfd, .events = POLLIN};
      if (killed) ep_worker_link_kill(link);
    }
    int64_t left_us = deadline_us - ep_clock_steady_us();
    if (alive == 0 || (killed && left_us <= 0)) break; /* one that hangs in the driver is left */
    if (left_us <= 0) {
      killed = true;
      deadline_us = ep_clock_steady_us() + STOP_MS * INT64_C(1000);
      continue;
    }
    poll(polled, alive, (int)(left_us / 1000) + 1);
  }
  for (int i = 0; i < s->workers_count; i++) ep_worker_link_close(&s->worker[i].link);
}

/* Whether a worker may still write a checkpoint. started: of a job that has started; what a worker
 * of another machine reported to an epochd before is not known. */
static bool any_job(const ep_supervisor *s, bool started) {
  for (int i = 0; i < s->workers_count; i++) {
    const ep_supervised *worker = &s->worker[i];
    if (worker->status.job[0] != 0 && ep_supervised_alive(worker) &&
        (!started || worker->frames > 0 || worker->remote))
      return true;
  }
  return false;
}

/* Gives running jobs the time for a checkpoint. One that still loads its data has nothing to save
 * and is not waited for. */
static void jobs_pause(ep_supervisor *s) {
  int64_t start_us = ep_clock_steady_us();
  int64_t deadline_us = start_us + (int64_t)(s->stop_seconds * 1e6);
  int64_t loading_us = start_us + LOADING_MS * INT64_C(1000);
  for (int i = 0; i < s->workers_count; i++)
    if (s->worker[i].status.job[0] != 0) ep_supervised_stop(&s->worker[i], EP_STOP_PAUSE);
  while (any_job(s, ep_clock_steady_us() > loading_us)) {
    int64_t left_us = deadline_us - ep_clock_steady_us();
    if (left_us <= 0) return;
    int wait_ms = timeout_find(s, true), left_ms = (int)(left_us / 1000) + 1;
    events_wait(s, wait_ms < left_ms ? wait_ms : left_ms);
    inbox_take(s); /* else a kick wakes it again and again */
    int64_t now_us = ep_clock_steady_us();
    for (int i = 0; i < s->workers_count; i++) ep_supervised_check(s, &s->worker[i], now_us);
  }
}

/* A round that lasted longer than it was to wait: this thread waited for the disk, or the process
 * was stopped (SIGSTOP, a frozen container), and with it perhaps the workers. Nobody was listened
 * to, so the whole round counts against nobody. */
static void delays_forgive(ep_supervisor *s, int64_t round_us, int timeout_ms) {
  if (round_us - timeout_ms * INT64_C(1000) < LATE_US) return;
  ep_log((double)round_us * LATE_SHARE > s->stall_seconds * 1e6 ? EP_LOG_WARNING : EP_LOG_INFO,
         "the supervisor was held up for %.3g s (a slow disk, or epochd was stopped): the workers "
         "get as much longer",
         (double)round_us / 1e6);
  for (int i = 0; i < s->workers_count; i++) ep_supervised_delay(&s->worker[i], round_us);
  ep_requests_delay(s, round_us);
}

static void *supervisor_run(void *context) {
  ep_supervisor *s = context;
  for (int i = 0; i < s->devices_count; i++)
    if (!ep_device_is_remote(s->device[i].info.id)) worker_add(s, i);
  ep_gateway_start(s);
  bool settle_again = false;
  int64_t before_us = ep_clock_steady_us();
  while (!inbox_take(s)) {
    ep_requests_send(s);
    const bool looked = s->look_for_work;
    work_assign(s);
    settle_again = s->events.settle(s->events.context);
    ep_gateway_check(s, ep_clock_steady_us());
    if (looked) ep_remote_want(s);
    int timeout_ms = s->look_for_work ? 0 : timeout_find(s, settle_again);
    events_wait(s, timeout_ms);
    int64_t now_us = ep_clock_steady_us();
    delays_forgive(s, now_us - before_us, timeout_ms);
    before_us = now_us;
    for (int i = 0; i < s->workers_count; i++) ep_supervised_check(s, &s->worker[i], now_us);
    ep_requests_expire(s, now_us);
    if (settle_again) s->look_for_work = true; /* what could not be stored may be now */
  }
  ep_requests_fail_all(s);
  jobs_pause(s);
  workers_stop(s);
  ep_gateway_stop(s);
  ep_requests_fail_all(s);
  s->events.settle(s->events.context);
  return NULL;
}

ep_status ep_supervisor_request(ep_supervisor *s, const char *device, bool only_there,
                                ep_command *command, int timeout_ms, ep_supervisor_done *done,
                                void *context, ep_error *error) {
  ep_status status =
      ep_requests_add(s, device, only_there, command, timeout_ms, done, context, error);
  if (status == EP_OK) ep_supervisor_wake(s); /* no kick: it is no work to be looked for */
  return status;
}

bool ep_supervisor_expect(ep_supervisor *s, const char *device, const char *job, int attempt) {
  return ep_device_is_remote(device) && ep_remote_expect(s, device, job, attempt);
}

ep_status ep_supervisor_start(ep_supervisor *s, ep_error *error) {
  int failed = pthread_create(&s->thread, NULL, supervisor_run, s);
  if (failed != 0) return ep_fail(error, EP_IO, "no thread: %s", strerror(failed));
  s->running = true;
  return EP_OK;
}

bool ep_supervisor_is_stopping(ep_supervisor *s) {
  pthread_mutex_lock(&s->mutex);
  bool stopping = s->stopping;
  pthread_mutex_unlock(&s->mutex);
  return stopping;
}

void ep_supervisor_stop(ep_supervisor *s) {
  pthread_mutex_lock(&s->mutex);
  s->stopping = true;
  pthread_mutex_unlock(&s->mutex);
  if (s->running) ep_supervisor_kick(s);
}

void ep_supervisor_destroy(ep_supervisor *s) {
  if (!s) return;
  ep_supervisor_stop(s);
  if (s->running) pthread_join(s->thread, NULL);
  if (s->wake >= 0) close(s->wake);
  free(s->path);
  free(s->plugin);
  free(s->data_dir);
  free(s->allow_path);
  pthread_mutex_destroy(&s->mutex);
  free(s);
}
