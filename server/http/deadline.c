#include "server/http/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/process/clock.h"

enum { TICK_US = 500000 };

struct ep_deadline {
  ep_deadlines *clients;
  int socket;
  int64_t deadline_us; /* steady clock; INT64_MAX = none */
  ep_deadline *previous, *next;
};

struct ep_deadlines {
  pthread_mutex_t mutex; /* guards everything below, and every client */
  pthread_cond_t changed;
  ep_deadline *first;
  bool stopping;
  pthread_t ticker;
};

static void *tick(void *context) {
  ep_deadlines *clients = context;
  pthread_mutex_lock(&clients->mutex);
  while (!clients->stopping) {
    if (!clients->first) {
      pthread_cond_wait(&clients->changed, &clients->mutex);
      continue;
    }
    int64_t until_us = ep_clock_steady_us() + TICK_US;
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    while (!clients->stopping &&
           pthread_cond_timedwait(&clients->changed, &clients->mutex, &until) != ETIMEDOUT) {
    }
    int64_t now_us = ep_clock_steady_us();
    for (ep_deadline *client = clients->first; client; client = client->next) {
      if (client->deadline_us > now_us) continue;
      shutdown(client->socket, SHUT_RDWR); /* the library sees the end and closes */
      client->deadline_us = INT64_MAX;
    }
  }
  pthread_mutex_unlock(&clients->mutex);
  return NULL;
}

ep_status ep_deadlines_create(ep_deadlines **out, ep_error *error) {
  ep_deadlines *clients = calloc(1, sizeof *clients);
  if (!clients) return ep_fail_memory(error);
  pthread_mutex_init(&clients->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&clients->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&clients->ticker, NULL, tick, clients) != 0) {
    pthread_cond_destroy(&clients->changed);
    pthread_mutex_destroy(&clients->mutex);
    free(clients);
    return ep_fail(error, EP_NO_MEMORY, "a thread cannot be started");
  }
  *out = clients;
  return EP_OK;
}

void ep_deadlines_destroy(ep_deadlines *clients) {
  if (!clients) return;
  pthread_mutex_lock(&clients->mutex);
  clients->stopping = true;
  pthread_cond_signal(&clients->changed);
  pthread_mutex_unlock(&clients->mutex);
  pthread_join(clients->ticker, NULL);
  pthread_cond_destroy(&clients->changed);
  pthread_mutex_destroy(&clients->mutex);
  free(clients);
}

ep_deadline *ep_deadline_add(ep_deadlines *clients, int socket) {
  ep_deadline *client = calloc(1, sizeof *client);
  if (!client) return NULL;
  *client = (ep_deadline){.clients = clients, .socket = socket, .deadline_us = INT64_MAX};
  pthread_mutex_lock(&clients->mutex);
  if (!clients->first) pthread_cond_signal(&clients->changed);
  client->next = clients->first;
  if (client->next) client->next->previous = client;
  clients->first = client;
  pthread_mutex_unlock(&clients->mutex);
  return client;
}

void ep_deadline_remove(ep_deadline *client) {
  if (!client) return;
  ep_deadlines *clients = client->clients;
  pthread_mutex_lock(&clients->mutex);
  if (client->previous)
    client->previous->next = client->next;
  else
    clients->first = client->next;
  if (client->next) client->next->previous = client->previous;
  pthread_mutex_unlock(&clients->mutex);
  free(client);
}

void ep_deadline_allow(ep_deadline *client, int64_t duration_us) {
  if (!client) return;
  int64_t deadline_us = duration_us > 0 ? ep_clock_steady_us() + duration_us : INT64_MAX;
  pthread_mutex_lock(&client->clients->mutex);
  client->deadline_us = deadline_us;
  pthread_mutex_unlock(&client->clients->mutex);
}
