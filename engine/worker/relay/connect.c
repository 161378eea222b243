#include "engine/worker/relay/connect.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/endpoint.h"

enum { CONNECT_SECONDS = 5, ADDRESS_BYTES = 256 };

static ep_status address_connect(const struct addrinfo *address, int *out, ep_error *error) {
  const struct timeval most = {.tv_sec = CONNECT_SECONDS}; /* of connect() too, on Linux */
  int made = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
  if (made < 0) return ep_fail(error, EP_UNAVAILABLE, "no socket: %s", strerror(errno));
  setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  if (connect(made, address->ai_addr, address->ai_addrlen) == 0) {
    *out = made;
    return EP_OK;
  }
  ep_status status = ep_fail(error, EP_UNAVAILABLE, "epochd cannot be reached: %s",
                             strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
  close(made);
  return status;
}

ep_status ep_relay_connect(const char *address, int *socket, ep_error *error) {
  char host[ADDRESS_BYTES], service[8];
  int port;
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
  struct addrinfo *found = NULL;
  if (!ep_endpoint_split(address, host, sizeof host, &port))
    return ep_fail(error, EP_INVALID, "the address %.100s is no HOST:PORT", address);
  snprintf(service, sizeof service, "%d", port);
  int failed = getaddrinfo(host, service, &hints, &found);
  if (failed != 0)
    return ep_fail(error, EP_UNAVAILABLE, "%.200s: %s", address, gai_strerror(failed));
  ep_status status = EP_UNAVAILABLE;
  for (const struct addrinfo *one = found; one && status != EP_OK; one = one->ai_next)
    status = address_connect(one, socket, error);
  freeaddrinfo(found);
  return status;
}
