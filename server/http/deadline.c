#include "server/http/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/process/clock.h"

enum { TICK_US = 500000 };

struct ep_client {
  ep_clients *clients;
  int socket;
  int64_t deadline_us; /* steady clock; INT64_MAX = none */
  ep_client *previous, *next;
};

struct ep_clients {
  pthread_mutex_t mutex; /* guards everything below, and every client */
  pthread_cond_t changed;
  ep_client *first;
  bool stopping;
  pthread_t ticker;
};

static void *tick(void *context) {
  ep_clients *clients = context;
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
    for (ep_client *client = clients->first; client; client = client->next) {
      if (client->deadline_us > now_us) continue;
      shutdown(client->socket, SHUT_RDWR); /* the library sees the end and closes */
      client->deadline_us = INT64_MAX;
    }
  }
  pthread_mutex_unlock(&clients->mutex);
  return NULL;
}

ep_status ep_clients_create(ep_clients **out, ep_error *error) {
  ep_clients *clients = calloc(1, sizeof *clients);
  if (!clients) return ep_fail(error, EP_NO_MEMORY, "not enough memory for the connections");
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

void ep_clients_destroy(ep_clients *clients) {
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

ep_client *ep_client_add(ep_clients *clients, int socket) {
  ep_client *client = calloc(1, sizeof *client);
  if (!client) return NULL;
  *client = (ep_client){.clients = clients, .socket = socket, .deadline_us = INT64_MAX};
  pthread_mutex_lock(&clients->mutex);
  if (!clients->first) pthread_cond_signal(&clients->changed);
  client->next = clients->first;
  if (client->next) client->next->previous = client;
  clients->first = client;
  pthread_mutex_unlock(&clients->mutex);
  return client;
}

void ep_client_remove(ep_client *client) {
  if (!client) return;
  ep_clients *clients = client->clients;
  pthread_mutex_lock(&clients->mutex);
  if (client->previous)
    client->previous->next = client->next;
  else
    clients->first = client->next;
  if (client->next) client->next->previous = client->previous;
  pthread_mutex_unlock(&clients->mutex);
  free(client);
}

void ep_client_allow(ep_client *client, int64_t duration_us) {
  if (!client) return;
  int64_t deadline_us = duration_us > 0 ? ep_clock_steady_us() + duration_us : INT64_MAX;
  pthread_mutex_lock(&client->clients->mutex);
  client->deadline_us = deadline_us;
  pthread_mutex_unlock(&client->clients->mutex);
}
