#include "server/process/probe.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/tls/client.h"

enum { RESPONSE_BYTES = 2048 };

/* Host is a name that is always the daemon's own (http/access/guard.h). */
static const char REQUEST[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nAccept: "
                              "application/json\r\nConnection: close\r\n\r\n";

/* Without AI_PASSIVE an unspecified address stays one; connecting to it reaches the loopback on
 * Linux, but that is a habit of one system, so it is said. */
static const char *host_reached(const char *host) {
  if (strcmp(host, "0.0.0.0") == 0) return "127.0.0.1";
  if (strcmp(host, "::") == 0) return "::1";
  return host;
}

/* A connection to one address; -1 with errno when there is none. */
static int address_connect(const struct addrinfo *address, int timeout_ms) {
  struct timeval patience = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
  int peer = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0) return -1;
  if (setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
      setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
      connect(peer, address->ai_addr, address->ai_addrlen) == 0)
    return peer;
  int reason = errno;
  close(peer);
  errno = reason;
  return -1;
}

/* A name may stand for several addresses, of which the daemon listens on one. */
static ep_status host_connect(const char *host, int port, int timeout_ms, int *out,
                              ep_error *error) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *found;
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  int failed = getaddrinfo(host_reached(host), service, &hints, &found);
  if (failed)
    return ep_fail(error, EP_INVALID, "unknown host %.200s: %s", host, gai_strerror(failed));
  *out = -1;
  for (const struct addrinfo *at = found; at && *out < 0; at = at->ai_next)
    *out = address_connect(at, timeout_ms);
  int reason = errno;
  freeaddrinfo(found);
  if (*out >= 0) return EP_OK;
  return ep_fail(error, EP_IO, "cannot connect to %.200s, port %d: %s", host_reached(host), port,
                 strerror(reason));
}

/* Sends the request. tls: NULL without. response: [RESPONSE_BYTES], the first bytes and a closing
 * 0. */
static ep_status response_read(int peer, ep_tls_client *tls, char *response, ep_error *error) {
  size_t count = 0;
  ssize_t bytes = tls ? ep_tls_client_send(tls, REQUEST, sizeof REQUEST - 1)
                      : send(peer, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL);
  if (bytes != (ssize_t)(sizeof REQUEST - 1))
    return ep_fail(error, EP_IO, "it accepts no requests: %s", strerror(errno));
  do {
    bytes = tls ? ep_tls_client_receive(tls, response + count, RESPONSE_BYTES - 1 - count)
                : recv(peer, response + count, RESPONSE_BYTES - 1 - count, 0);
    if (bytes > 0) count += (size_t)bytes;
  } while ((bytes < 0 && errno == EINTR) || (bytes > 0 && count < RESPONSE_BYTES - 1));
  response[count] = 0;
  if (bytes < 0)
    return ep_fail(error, EP_IO, "it does not respond to requests: %s", strerror(errno));
  return EP_OK;
}

ep_status ep_probe_ready(const char *host, int port, int timeout_ms, const ep_tls_files *tls,
                         ep_error *error) {
  char response[RESPONSE_BYTES];
  int peer = -1;
  if (port == 0)
    return ep_fail(error, EP_INVALID, "port 0 means any free port: give the actual port");
  ep_status status = host_connect(host, port, timeout_ms, &peer, error);
  if (status != EP_OK) return status;
  ep_tls_client *client = NULL;
  if (tls) status = ep_tls_client_open(peer, tls, &client, error);
  if (status == EP_OK) status = response_read(peer, client, response, error);
  ep_tls_client_close(client);
  close(peer);
  if (status != EP_OK || strncmp(response, "HTTP/1.1 200 ", 13) == 0) return status;
  const char *body = strstr(response, "\r\n\r\n");
  return ep_fail(error, EP_UNAVAILABLE, "not ready: %.400s", body ? body + 4 : response);
}
