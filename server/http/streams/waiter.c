#include "server/http/streams/waiter.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/process/clock.h"

enum { TICK_US = 250000 }; /* how late a deadline may be */

struct ep_waiters {
  pthread_mutex_t mutex; /* guards everything below, and every waiter */
  pthread_cond_t changed;
  ep_waiter *suspended; /* list */
  int64_t capacity, admitted;
  bool closed, stopping;
  pthread_t ticker;
};

/* The mutex is held: the library only sets a flag and signals its thread. */
static void waiter_resume(ep_waiter *waiter) {
  if (waiter->previous)
    waiter->previous->next = waiter->next;
  else
    waiter->waiters->suspended = waiter->next;
  if (waiter->next) waiter->next->previous = waiter->previous;
  waiter->previous = waiter->next = NULL;
  waiter->suspended = false;
  MHD_resume_connection(waiter->connection);
}

static void due_resume(ep_waiters *waiters, int64_t now_us) {
  for (ep_waiter *waiter = waiters->suspended, *next; waiter; waiter = next) {
    next = waiter->next;
    if (waiter->deadline_us > now_us) continue;
    waiter->timed_out = true;
    waiter_resume(waiter);
  }
}

static void *ticker_run(void *context) {
  ep_waiters *waiters = context;
  pthread_mutex_lock(&waiters->mutex);
  while (!waiters->stopping) {
    if (!waiters->suspended) {
      pthread_cond_wait(&waiters->changed, &waiters->mutex);
      continue;
    }
    int64_t until_us = ep_clock_steady_us() + TICK_US;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    while (!waiters->stopping &&
           pthread_cond_timedwait(&waiters->changed, &waiters->mutex, &until) != ETIMEDOUT) {
    }
    due_resume(waiters, ep_clock_steady_us());
  }
  pthread_mutex_unlock(&waiters->mutex);
  return NULL;
}

ep_status ep_waiters_create(int64_t capacity, ep_waiters **out, ep_error *error) {
  ep_waiters *waiters = calloc(1, sizeof *waiters);
  if (!waiters) return ep_fail_memory(error);
  waiters->capacity = capacity;
  pthread_mutex_init(&waiters->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&waiters->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&waiters->ticker, NULL, ticker_run, waiters) != 0) {
    pthread_cond_destroy(&waiters->changed);
    pthread_mutex_destroy(&waiters->mutex);
    free(waiters);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = waiters;
  return EP_OK;
}

void ep_waiters_close(ep_waiters *waiters) {
  pthread_mutex_lock(&waiters->mutex);
  waiters->closed = true;
  while (waiters->suspended) waiter_resume(waiters->suspended);
  pthread_mutex_unlock(&waiters->mutex);
}

void ep_waiters_destroy(ep_waiters *waiters) {
  if (!waiters) return;
  pthread_mutex_lock(&waiters->mutex);
  waiters->stopping = true;
  pthread_cond_signal(&waiters->changed);
  pthread_mutex_unlock(&waiters->mutex);
  pthread_join(waiters->ticker, NULL);
  pthread_cond_destroy(&waiters->changed);
  pthread_mutex_destroy(&waiters->mutex);
  free(waiters);
}

int64_t ep_waiters_count(ep_waiters *waiters) {
  pthread_mutex_lock(&waiters->mutex);
  int64_t admitted = waiters->admitted;
  pthread_mutex_unlock(&waiters->mutex);
  return admitted;
}

void ep_waiter_init(ep_waiter *waiter, ep_waiters *waiters, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  *waiter = (ep_waiter){
      .waiters = waiters, .connection = connection, .socket = info ? info->connect_fd : -1};
}

bool ep_waiter_admit(ep_waiter *waiter, int64_t others) {
  ep_waiters *waiters = waiter->waiters;
  pthread_mutex_lock(&waiters->mutex);
  if (!waiter->admitted && waiters->admitted + others < waiters->capacity) {
    waiter->admitted = true;
    waiters->admitted++;
  }
  bool admitted = waiter->admitted;
  pthread_mutex_unlock(&waiters->mutex);
  return admitted;
}

ep_waiter_result ep_waiter_wait(ep_waiter *waiter, int64_t deadline_us) {
  ep_waiters *waiters = waiter->waiters;
  ep_waiter_result result = EP_WAITER_SUSPENDED;
  pthread_mutex_lock(&waiters->mutex);
  if (waiters->closed) {
    result = EP_WAITER_CLOSED;
  } else if (waiter->woken) {
    waiter->woken = false;
    result = EP_WAITER_WOKEN;
  } else {
    if (!waiters->suspended) pthread_cond_signal(&waiters->changed);
    waiter->suspended = true;
    waiter->deadline_us = deadline_us;
    waiter->next = waiters->suspended;
    if (waiter->next) waiter->next->previous = waiter;
    waiters->suspended = waiter;
    MHD_suspend_connection(waiter->connection);
  }
  pthread_mutex_unlock(&waiters->mutex);
  return result;
}

void ep_waiter_wake(ep_waiter *waiter) {
  pthread_mutex_lock(&waiter->waiters->mutex);
  if (waiter->suspended)
    waiter_resume(waiter);
  else
    waiter->woken = true;
  pthread_mutex_unlock(&waiter->waiters->mutex);
}

bool ep_waiter_take_timeout(ep_waiter *waiter) {
  pthread_mutex_lock(&waiter->waiters->mutex);
  bool timed_out = waiter->timed_out;
  waiter->timed_out = false;
  pthread_mutex_unlock(&waiter->waiters->mutex);
  return timed_out;
}

bool ep_waiter_is_abandoned(ep_waiter *waiter) {
  pthread_mutex_lock(&waiter->waiters->mutex); /* as long as the socket is open */
  bool abandoned = !waiter->connection;
  if (!abandoned && waiter->socket >= 0) {
    struct pollfd closed = {.fd = waiter->socket, .events = POLLRDHUP};
    abandoned = poll(&closed, 1, 0) > 0;
  }
  pthread_mutex_unlock(&waiter->waiters->mutex);
  return abandoned;
}

void ep_waiter_leave(ep_waiter *waiter) {
  ep_waiters *waiters = waiter->waiters;
  pthread_mutex_lock(&waiters->mutex);
  if (waiter->suspended) { /* the daemon is stopping */
    waiter_resume(waiter);
  }
  if (waiter->admitted) waiters->admitted--;
  waiter->admitted = false;
  waiter->connection = NULL;
  pthread_mutex_unlock(&waiters->mutex);
}
