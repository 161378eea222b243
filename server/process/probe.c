#include "server/process/probe.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 2048 };

/* Which name is asked: the one in Host is always the daemon's own (guard.h). */
static const char REQUEST[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nAccept: "
                              "application/json\r\nConnection: close\r\n\r\n";

/* Without AI_PASSIVE an unspecified address stays one; connecting to it reaches the loopback on
 * Linux, but that is a habit of one system, so it is said. */
static const char *reached_by(const char *host) {
  if (strcmp(host, "0.0.0.0") == 0) return "127.0.0.1";
  if (strcmp(host, "::") == 0) return "::1";
  return host;
}

/* A connection to one address; -1 with errno when there is none. */
static int connect_address(const struct addrinfo *address, int timeout_ms) {
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
static ep_status connect_to(const char *host, int port, int timeout_ms, int *out, ep_error *error) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *found;
  char service[16];
  snprintf(service, sizeof service, "%d", port);
  int failed = getaddrinfo(reached_by(host), service, &hints, &found);
  if (failed)
    return ep_fail(error, EP_INVALID, "there is no host %.200s: %s", host, gai_strerror(failed));
  *out = -1;
  for (const struct addrinfo *at = found; at && *out < 0; at = at->ai_next)
    *out = connect_address(at, timeout_ms);
  int reason = errno;
  freeaddrinfo(found);
  if (*out >= 0) return EP_OK;
  return ep_fail(error, EP_IO, "nothing answers on %.200s, port %d: %s", reached_by(host), port,
                 strerror(reason));
}

/* answer: [ANSWER_BYTES], its beginning and a closing 0; the rest of a longer one is left. */
static ep_status ask(int peer, char *answer, ep_error *error) {
  size_t count = 0;
  ssize_t bytes = send(peer, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL);
  if (bytes != (ssize_t)(sizeof REQUEST - 1))
    return ep_fail(error, EP_IO, "it takes no request: %s", strerror(errno));
  do {
    bytes = recv(peer, answer + count, ANSWER_BYTES - 1 - count, 0);
    if (bytes > 0) count += (size_t)bytes;
  } while ((bytes < 0 && errno == EINTR) || (bytes > 0 && count < ANSWER_BYTES - 1));
  answer[count] = 0;
  if (bytes < 0)
    return ep_fail(error, EP_IO, "it takes a request and does not answer: %s", strerror(errno));
  return EP_OK;
}

ep_status ep_probe_ready(const char *host, int port, int timeout_ms, ep_error *error) {
  char answer[ANSWER_BYTES];
  int peer = -1;
  if (port == 0)
    return ep_fail(error, EP_INVALID, "port 0 takes a free one: the probe must be told which");
  ep_status status = connect_to(host, port, timeout_ms, &peer, error);
  if (status != EP_OK) return status;
  status = ask(peer, answer, error);
  close(peer);
  if (status != EP_OK || strncmp(answer, "HTTP/1.1 200 ", 13) == 0) return status;
  const char *body = strstr(answer, "\r\n\r\n");
  return ep_fail(error, EP_UNAVAILABLE, "not ready: %.400s", body ? body + 4 : answer);
}
