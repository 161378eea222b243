#include "server/http/http.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/connection.h"
#include "server/http/framing/received.h"

struct ep_http {
  ep_server *server;
  ep_transport transport;
  struct MHD_Daemon *daemon;
};

enum {
  SPARE_SHARE = 32,     /* of the connections: at its limit the library accepts nobody */
  RESERVED_FILES = 512, /* the store, the logs, workers, files that are being sent, uploads */
  MOST_CONNECTIONS = 65536,
  POOL_BYTES = 16 << 10, /* of each connection: see docs/adr */
  INACTIVE_SECONDS = 120,
  COMMIT_THREADS = 4, /* specs are read and planned side by side; the disk takes one at a time */
  BACKLOG = 1024
};

ep_http_room ep_http_room_find(void) {
  struct rlimit limit = {1024, 1024};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  ep_http_room room = {.files = limit.rlim_cur > 1 << 20 ? 1 << 20 : (int64_t)limit.rlim_cur};
  room.connections = room.files > 4 * RESERVED_FILES ? room.files - RESERVED_FILES : room.files / 2;
  if (room.connections > MOST_CONNECTIONS) room.connections = MOST_CONNECTIONS;
  /* A tenth is not for watchers, so that a server full of watchers still responds. */
  int64_t others = room.connections / 10 > 64 ? room.connections / 10 : room.connections / 4;
  room.watchers = room.connections - others;
  return room;
}

static ep_status listener_open(const ep_config *config, int *listener, int *port, bool *any_address,
                               ep_error *error) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo *found;
  char service[16];
  snprintf(service, sizeof service, "%d", config->port);
  int failed = getaddrinfo(config->host, service, &hints, &found);
  if (failed)
    return ep_fail(error, EP_INVALID, "cannot listen on %s: %s", config->listen,
                   gai_strerror(failed));
  struct sockaddr_storage bound = {0};
  socklen_t bytes = sizeof bound;
  int one = 1;
  *listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  ep_status status = EP_OK;
  if (*listener < 0 || setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
      bind(*listener, found->ai_addr, found->ai_addrlen) || listen(*listener, BACKLOG) ||
      getsockname(*listener, (struct sockaddr *)&bound, &bytes)) {
    status = ep_fail(error, EP_IO, "cannot listen on %s: %s", config->listen, strerror(errno));
    if (*listener >= 0) close(*listener);
  } else if (bound.ss_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const void *)&bound;
    *port = ntohs(six->sin6_port);
    *any_address = IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
  } else {
    const struct sockaddr_in *four = (const void *)&bound;
    *port = ntohs(four->sin_port);
    *any_address = four->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  freeaddrinfo(found);
  return status;
}

static ep_status threads_start(ep_http *http, const ep_http_room *room, ep_error *error) {
  ep_server *server = http->server;
  ep_status status = ep_waiters_create(room->watchers, &server->waiters, error);
  if (status == EP_OK)
    status = ep_thread_pool_create(server->memory.readers == 1 ? 1 : 2, &server->ingest, error);
  if (status == EP_OK) status = ep_thread_pool_create(2, &server->exports, error);
  if (status == EP_OK) status = ep_thread_pool_create(2, &server->plots, error);
  if (status == EP_OK) status = ep_thread_pool_create(2, &server->work, error);
  if (status == EP_OK) status = ep_thread_pool_create(1, &server->metrics, error);
  if (status == EP_OK) status = ep_thread_pool_create(COMMIT_THREADS, &server->commits, error);
  if (status == EP_OK) status = ep_deadlines_create(&http->transport.deadlines, error);
  return status;
}

/* Each connection has been given a certificate before (connection.c): one that was not has none. */
static int certificate_refuse(gnutls_session_t session, const gnutls_datum_t *authorities,
                              int authorities_count, const gnutls_pk_algorithm_t *algorithms,
                              int algorithms_count, gnutls_pcert_st **certificates,
                              unsigned int *certificates_count, gnutls_privkey_t *key) {
  (void)session, (void)authorities, (void)authorities_count, (void)algorithms;
  (void)algorithms_count, (void)certificates, (void)certificates_count, (void)key;
  return -1;
}

static ep_status daemon_start(ep_http *http, const ep_http_room *room, int listener,
                              ep_error *error) {
  const ep_config *config = http->server->config;
  const bool tls = config->tls_certificate[0] != 0;
  int threads = (int)config->http_threads;
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
                   MHD_USE_ERROR_LOG | (tls ? MHD_USE_TLS : 0);
  struct MHD_OptionItem certificates[] = {
      {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)certificate_refuse},
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)EP_TLS_PRIORITIES},
      {MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0, NULL},
      {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)room->connections, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, INACTIVE_SECONDS, NULL},
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
      {MHD_OPTION_END, 0, NULL}};
  http->daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, ep_connection_handle, &http->transport, MHD_OPTION_EXTERNAL_LOGGER,
      ep_connection_log, &http->transport, MHD_OPTION_LISTEN_SOCKET, listener,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
      ep_connection_notify, &http->transport, MHD_OPTION_URI_LOG_CALLBACK, ep_connection_target,
      &http->transport, MHD_OPTION_NOTIFY_COMPLETED, ep_connection_complete, &http->transport,
      MHD_OPTION_ARRAY, options, MHD_OPTION_ARRAY,
      tls ? certificates : &options[sizeof options / sizeof *options - 1], MHD_OPTION_END);
  if (http->daemon) return EP_OK;
  close(listener);
  return ep_fail(error, EP_INTERNAL, "the HTTP server cannot be started");
}

ep_status ep_http_start(ep_server *server, const ep_http_room *room, ep_http **out, int *port,
                        ep_error *error) {
  int listener = -1;
  ep_http *http = calloc(1, sizeof *http);
  if (!http) return ep_fail_memory(error);
  http->server = server;
  http->transport.server = server;
  http->transport.connections_most = room->connections - room->connections / SPARE_SHARE - 1;
  ep_status status = threads_start(http, room, error);
  if (status == EP_OK) status = ep_received_prepare(room->files, error);
  if (status == EP_OK)
    status = listener_open(server->config, &listener, port, &server->guard.any_address, error);
  if (status == EP_OK) status = daemon_start(http, room, listener, error);
  if (status != EP_OK) {
    ep_http_destroy(http);
    return status;
  }
  *out = http;
  return EP_OK;
}

static void pools_destroy(ep_server *server) {
  ep_thread_pool **const pools[] = {&server->ingest, &server->exports, &server->plots,
                                    &server->work,   &server->commits, &server->metrics};
  for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
    ep_thread_pool_destroy(*pools[i]);
    *pools[i] = NULL;
  }
}

void ep_http_stop(ep_http *http) {
  /* Not MHD_quiesce_daemon: it and the library's own thread may both remove the listener from the
   * same epoll set, at which the library ends the process. */
  atomic_store(&http->transport.stopping, true);
  ep_waiters_close(http->server->waiters);
  MHD_stop_daemon(http->daemon); /* aborts if a connection is still suspended */
  http->daemon = NULL;
  pools_destroy(http->server);
}

void ep_http_destroy(ep_http *http) {
  if (!http) return;
  ep_server *server = http->server;
  pools_destroy(server);
  ep_deadlines_destroy(http->transport.deadlines);
  ep_waiters_destroy(server->waiters);
  server->waiters = NULL;
  free(http);
}
