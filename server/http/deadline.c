#include "server/http/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/process/clock.h"

enum { TICK_US = 500000 };

struct ep_deadline {
  ep_deadlines *deadlines;
  int socket;
  int64_t deadline_us;   /* steady clock; INT64_MAX = none */
  int64_t idle_since_us; /* 0 = a request is on its way */
  ep_deadline *previous, *next;
};

struct ep_deadlines {
  pthread_mutex_t mutex; /* guards everything below, and every deadline */
  pthread_cond_t changed;
  ep_deadline *first;
  int64_t count;
  bool stopping;
  pthread_t ticker;
};

/* The library sees the end and closes. The mutex is held. */
static void connection_end(ep_deadline *deadline) {
  shutdown(deadline->socket, SHUT_RDWR);
  deadline->deadline_us = INT64_MAX;
  deadline->idle_since_us = 0;
}

static void *ticker_run(void *context) {
  ep_deadlines *deadlines = context;
  pthread_mutex_lock(&deadlines->mutex);
  while (!deadlines->stopping) {
    if (!deadlines->first) {
      pthread_cond_wait(&deadlines->changed, &deadlines->mutex);
      continue;
    }
    int64_t until_us = ep_clock_steady_us() + TICK_US;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    while (!deadlines->stopping &&
           pthread_cond_timedwait(&deadlines->changed, &deadlines->mutex, &until) != ETIMEDOUT) {
    }
    int64_t now_us = ep_clock_steady_us();
    for (ep_deadline *deadline = deadlines->first; deadline; deadline = deadline->next) {
      if (deadline->deadline_us > now_us) continue;
      connection_end(deadline);
    }
  }
  pthread_mutex_unlock(&deadlines->mutex);
  return NULL;
}

ep_status ep_deadlines_create(ep_deadlines **out, ep_error *error) {
  ep_deadlines *deadlines = calloc(1, sizeof *deadlines);
  if (!deadlines) return ep_fail_memory(error);
  pthread_mutex_init(&deadlines->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&deadlines->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&deadlines->ticker, NULL, ticker_run, deadlines) != 0) {
    pthread_cond_destroy(&deadlines->changed);
    pthread_mutex_destroy(&deadlines->mutex);
    free(deadlines);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = deadlines;
  return EP_OK;
}

void ep_deadlines_destroy(ep_deadlines *deadlines) {
  if (!deadlines) return;
  pthread_mutex_lock(&deadlines->mutex);
  deadlines->stopping = true;
  pthread_cond_signal(&deadlines->changed);
  pthread_mutex_unlock(&deadlines->mutex);
  pthread_join(deadlines->ticker, NULL);
  pthread_cond_destroy(&deadlines->changed);
  pthread_mutex_destroy(&deadlines->mutex);
  free(deadlines);
}

ep_deadline *ep_deadline_add(ep_deadlines *deadlines, int socket) {
  ep_deadline *deadline = calloc(1, sizeof *deadline);
  if (!deadline) return NULL;
  *deadline = (ep_deadline){.deadlines = deadlines, .socket = socket, .deadline_us = INT64_MAX};
  pthread_mutex_lock(&deadlines->mutex);
  if (!deadlines->first) pthread_cond_signal(&deadlines->changed);
  deadline->next = deadlines->first;
  if (deadline->next) deadline->next->previous = deadline;
  deadlines->first = deadline;
  deadlines->count++;
  pthread_mutex_unlock(&deadlines->mutex);
  return deadline;
}

void ep_deadline_remove(ep_deadline *deadline) {
  if (!deadline) return;
  ep_deadlines *deadlines = deadline->deadlines;
  pthread_mutex_lock(&deadlines->mutex);
  if (deadline->previous)
    deadline->previous->next = deadline->next;
  else
    deadlines->first = deadline->next;
  if (deadline->next) deadline->next->previous = deadline->previous;
  deadlines->count--;
  pthread_mutex_unlock(&deadlines->mutex);
  free(deadline);
}

static void deadline_set(ep_deadline *deadline, int64_t duration_us, bool idle) {
  if (!deadline) return;
  const int64_t now_us = ep_clock_steady_us();
  pthread_mutex_lock(&deadline->deadlines->mutex);
  deadline->deadline_us = duration_us > 0 ? now_us + duration_us : INT64_MAX;
  deadline->idle_since_us = idle ? now_us : 0;
  pthread_mutex_unlock(&deadline->deadlines->mutex);
}

void ep_deadline_allow(ep_deadline *deadline, int64_t duration_us) {
  deadline_set(deadline, duration_us, false);
}

void ep_deadline_rest(ep_deadline *deadline, int64_t duration_us) {
  deadline_set(deadline, duration_us, true);
}

void ep_deadlines_make_room(ep_deadlines *deadlines, int64_t most) {
  ep_deadline *idlest = NULL;
  pthread_mutex_lock(&deadlines->mutex);
  for (ep_deadline *at = deadlines->count > most ? deadlines->first : NULL; at; at = at->next)
    if (at->idle_since_us > 0 && (!idlest || at->idle_since_us < idlest->idle_since_us))
      idlest = at;
  if (idlest) connection_end(idlest);
  pthread_mutex_unlock(&deadlines->mutex);
}
