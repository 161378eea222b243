#include "server/workers/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/process/clock.h"

enum { HEAD_BYTES = 4096 }; /* of a frame: all but the values */

static void request_fail(ep_worker_request *request, ep_status status, const char *text) {
  ep_error error = {0};
  ep_fail(&error, status, "%s", text);
  request->done(request->context, NULL, &error);
  free(request->frame);
  free(request);
}

ep_status ep_requests_add(ep_supervisor *supervisor, const char *device, bool only_there,
                          ep_command *command, int timeout_ms, ep_supervisor_done *done,
                          void *context, ep_error *error) {
  ep_worker_request *request = calloc(1, sizeof *request);
  if (!request) return ep_fail_memory(error);
  pthread_mutex_lock(&supervisor->mutex);
  request->number = ++supervisor->last_request;
  pthread_mutex_unlock(&supervisor->mutex);
  snprintf(request->device, sizeof request->device, "%s", device ? device : "");
  request->only_there = only_there;
  request->deadline_us = ep_clock_steady_us() + (int64_t)timeout_ms * 1000;
  request->done = done;
  request->context = context;
  command->request = request->number;
  int64_t values = command->rows * command->columns * (int64_t)sizeof *command->x;
  request->frame = ep_command_encode(command, &request->frame_bytes);
  if (!request->frame) {
    free(request);
    return values > EP_LIMIT_FRAME_BYTES - HEAD_BYTES
               ? ep_fail(error, EP_TOO_LARGE, "the request is too large for a worker")
               : ep_fail_memory(error);
  }
  pthread_mutex_lock(&supervisor->mutex);
  bool stopping = supervisor->stopping;
  if (!stopping) {
    *supervisor->queued_end = request;
    supervisor->queued_end = &request->next;
  }
  pthread_mutex_unlock(&supervisor->mutex);
  if (stopping) {
    free(request->frame);
    free(request);
    return ep_fail(error, EP_UNAVAILABLE, "the daemon is ending");
  }
  return EP_OK;
}

/* NULL: none is alive for it. */
static ep_supervised *worker_find(ep_supervisor *supervisor, const ep_worker_request *request) {
  ep_supervised *other = NULL;
  for (int i = 0; i < supervisor->workers_count; i++) {
    ep_supervised *worker = &supervisor->worker[i];
    if (!ep_supervised_alive(worker) || worker->remote) continue; /* it lacks the weights */
    if (strcmp(worker->id, request->device) == 0) return worker;
    if (!other) other = worker;
  }
  return request->only_there ? NULL : other;
}

static ep_worker_request *queued_take(ep_supervisor *supervisor) {
  pthread_mutex_lock(&supervisor->mutex);
  ep_worker_request *list = supervisor->queued;
  supervisor->queued = NULL;
  supervisor->queued_end = &supervisor->queued;
  pthread_mutex_unlock(&supervisor->mutex);
  return list;
}

void ep_requests_send(ep_supervisor *supervisor) {
  ep_worker_request *next;
  for (ep_worker_request *request = queued_take(supervisor); request; request = next) {
    next = request->next;
    ep_supervised *worker = worker_find(supervisor, request);
    if (!worker) {
      request_fail(request, EP_UNAVAILABLE, "no worker is available; try again later");
      continue;
    }
    if (ep_worker_link_output(&worker->link) + request->frame_bytes > EP_LIMIT_FRAMES_BYTES) {
      request_fail(request, EP_BUSY, "the worker has not read earlier requests; try again");
      continue;
    }
    uint8_t *frame = request->frame;
    request->frame = NULL;
    request->worker = worker;
    request->next = supervisor->sent;
    supervisor->sent = request;
    ep_error error = {0};
    /* When this fails the worker is dying, and its end fails the request. */
    if (ep_worker_link_send(&worker->link, frame, request->frame_bytes, &error) != EP_OK)
      ep_supervised_kill(worker, error.message);
  }
}

void ep_requests_complete(ep_supervisor *supervisor, const ep_supervised *worker,
                          const ep_reply *reply) {
  for (ep_worker_request **link = &supervisor->sent; *link; link = &(*link)->next) {
    ep_worker_request *request = *link;
    if (request->number != reply->request || request->worker != worker) continue;
    *link = request->next;
    bool failed = reply->error.status != EP_OK;
    request->done(request->context, failed ? NULL : reply, failed ? &reply->error : NULL);
    free(request);
    return;
  }
}

/* Fails those of one worker (or all with NULL), or those whose time is over (worker NULL). */
static void sent_fail(ep_supervisor *supervisor, const ep_supervised *worker, int64_t until_us,
                      ep_status status, const char *text) {
  ep_worker_request **link = &supervisor->sent;
  while (*link) {
    ep_worker_request *request = *link;
    if (request->deadline_us <= until_us && (!worker || request->worker == worker)) {
      *link = request->next;
      request_fail(request, status, text);
    } else {
      link = &request->next;
    }
  }
}

void ep_requests_delay(ep_supervisor *supervisor, int64_t delay_us) {
  for (ep_worker_request *request = supervisor->sent; request; request = request->next)
    request->deadline_us += delay_us;
}

void ep_requests_fail_worker(ep_supervisor *supervisor, const ep_supervised *worker,
                             const char *cause) {
  sent_fail(supervisor, worker, INT64_MAX, EP_UNAVAILABLE, cause);
}

void ep_requests_expire(ep_supervisor *supervisor, int64_t now_us) {
  sent_fail(supervisor, NULL, now_us, EP_UNAVAILABLE, "the worker did not respond in time");
}

int64_t ep_requests_deadline(const ep_supervisor *supervisor) {
  int64_t first_us = INT64_MAX;
  for (const ep_worker_request *request = supervisor->sent; request; request = request->next)
    if (request->deadline_us < first_us) first_us = request->deadline_us;
  return first_us;
}

void ep_requests_fail_all(ep_supervisor *supervisor) {
  ep_worker_request *next;
  sent_fail(supervisor, NULL, INT64_MAX, EP_UNAVAILABLE, "the daemon is ending");
  for (ep_worker_request *request = queued_take(supervisor); request; request = next) {
    next = request->next;
    request_fail(request, EP_UNAVAILABLE, "the daemon is ending");
  }
}
