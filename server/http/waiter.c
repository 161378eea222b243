#include "server/http/waiter.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/process/clock.h"

enum { TICK_US = 250000 }; /* how late a deadline may be */

struct ep_waiters {
  pthread_mutex_t mutex; /* guards everything below, and every park */
  pthread_cond_t changed;
  ep_waiter *suspended; /* list */
  int64_t capacity, admitted;
  bool closed, stopping;
  pthread_t ticker;
};

/* With the mutex held. The library only notes the wish and signals its thread. */
static void resume(ep_waiter *park) {
  if (park->previous)
    park->previous->next = park->next;
  else
    park->streams->suspended = park->next;
  if (park->next) park->next->previous = park->previous;
  park->previous = park->next = NULL;
  park->suspended = false;
  MHD_resume_connection(park->connection);
}

static void resume_due(ep_waiters *streams, int64_t now_us) {
  for (ep_waiter *park = streams->suspended, *next; park; park = next) {
    next = park->next;
    if (park->deadline_us > now_us) continue;
    park->timed_out = true;
    resume(park);
  }
}

static void *tick(void *context) {
  ep_waiters *streams = context;
  pthread_mutex_lock(&streams->mutex);
  while (!streams->stopping) {
    if (!streams->suspended) {
      pthread_cond_wait(&streams->changed, &streams->mutex);
      continue;
    }
    int64_t until_us = ep_clock_steady_us() + TICK_US;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    while (!streams->stopping &&
           pthread_cond_timedwait(&streams->changed, &streams->mutex, &until) != ETIMEDOUT) {
    }
    resume_due(streams, ep_clock_steady_us());
  }
  pthread_mutex_unlock(&streams->mutex);
  return NULL;
}

ep_status ep_waiters_create(int64_t capacity, ep_waiters **out, ep_error *error) {
  ep_waiters *streams = calloc(1, sizeof *streams);
  if (!streams) return ep_fail_memory(error);
  streams->capacity = capacity;
  pthread_mutex_init(&streams->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&streams->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&streams->ticker, NULL, tick, streams) != 0) {
    pthread_cond_destroy(&streams->changed);
    pthread_mutex_destroy(&streams->mutex);
    free(streams);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = streams;
  return EP_OK;
}

void ep_waiters_close(ep_waiters *streams) {
  pthread_mutex_lock(&streams->mutex);
  streams->closed = true;
  while (streams->suspended) resume(streams->suspended);
  pthread_mutex_unlock(&streams->mutex);
}

void ep_waiters_destroy(ep_waiters *streams) {
  if (!streams) return;
  pthread_mutex_lock(&streams->mutex);
  streams->stopping = true;
  pthread_cond_signal(&streams->changed);
  pthread_mutex_unlock(&streams->mutex);
  pthread_join(streams->ticker, NULL);
  pthread_cond_destroy(&streams->changed);
  pthread_mutex_destroy(&streams->mutex);
  free(streams);
}

int64_t ep_waiters_count(ep_waiters *streams) {
  pthread_mutex_lock(&streams->mutex);
  int64_t admitted = streams->admitted;
  pthread_mutex_unlock(&streams->mutex);
  return admitted;
}

void ep_waiter_init(ep_waiter *park, ep_waiters *streams, struct MHD_Connection *connection) {
  *park = (ep_waiter){.streams = streams, .connection = connection};
}

bool ep_waiter_admit(ep_waiter *park) {
  ep_waiters *streams = park->streams;
  pthread_mutex_lock(&streams->mutex);
  if (!park->admitted && streams->admitted < streams->capacity) {
    park->admitted = true;
    streams->admitted++;
  }
  bool admitted = park->admitted;
  pthread_mutex_unlock(&streams->mutex);
  return admitted;
}

ep_waiter_result ep_waiter_wait(ep_waiter *park, int64_t deadline_us) {
  ep_waiters *streams = park->streams;
  ep_waiter_result result = EP_WAITER_SUSPENDED;
  pthread_mutex_lock(&streams->mutex);
  if (streams->closed) {
    result = EP_WAITER_CLOSED;
  } else if (park->woken) {
    park->woken = false;
    result = EP_WAITER_WOKEN;
  } else {
    if (!streams->suspended) pthread_cond_signal(&streams->changed);
    park->suspended = true;
    park->deadline_us = deadline_us;
    park->next = streams->suspended;
    if (park->next) park->next->previous = park;
    streams->suspended = park;
    MHD_suspend_connection(park->connection);
  }
  pthread_mutex_unlock(&streams->mutex);
  return result;
}

void ep_waiter_wake(ep_waiter *park) {
  pthread_mutex_lock(&park->streams->mutex);
  if (park->suspended)
    resume(park);
  else
    park->woken = true;
  pthread_mutex_unlock(&park->streams->mutex);
}

bool ep_waiter_take_timeout(ep_waiter *park) {
  pthread_mutex_lock(&park->streams->mutex);
  bool timed_out = park->timed_out;
  park->timed_out = false;
  pthread_mutex_unlock(&park->streams->mutex);
  return timed_out;
}

void ep_waiter_leave(ep_waiter *park) {
  ep_waiters *streams = park->streams;
  pthread_mutex_lock(&streams->mutex);
  if (park->suspended) { /* the daemon is stopping and takes it as it is */
    resume(park);
  }
  if (park->admitted) streams->admitted--;
  park->admitted = false;
  park->connection = NULL;
  pthread_mutex_unlock(&streams->mutex);
}
