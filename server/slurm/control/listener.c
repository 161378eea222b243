#include "server/slurm/control/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/endpoint.h"

enum {
  BACKLOG = 64,
  ADDRESS_BYTES = 1024,
  TRIES = 40, /* the gateway of an epochd that was killed may have the port for a moment */
  PAUSE_MS = 100
};

static ep_status address_listen(const struct addrinfo *address, int *out, ep_error *error) {
  const int yes = 1;
  int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return ep_fail(error, EP_IO, "no socket for workers: %s", strerror(errno));
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(made, address->ai_addr, address->ai_addrlen) == 0 && listen(made, BACKLOG) == 0) {
    *out = made;
    return EP_OK;
  }
  ep_status status =
      ep_fail(error, errno == EADDRINUSE ? EP_BUSY : EP_INVALID, "%s", strerror(errno));
  close(made);
  return status;
}

static int port_of(int listener) {
  struct sockaddr_storage name = {0};
  socklen_t bytes = sizeof name;
  if (getsockname(listener, (struct sockaddr *)&name, &bytes) != 0) return 0;
  return ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                          : ((struct sockaddr_in *)&name)->sin_port);
}

ep_status ep_slurm_listen(const char *address, int *listener, char *reached, size_t bytes,
                          ep_error *error) {
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo *found = NULL;
  ep_error why = {0};
  char host[ADDRESS_BYTES], service[8];
  int port;
  if (!ep_endpoint_split(address, host, sizeof host, &port))
    return ep_fail(error, EP_INVALID, "--slurm-listen %.100s is not ADDRESS:PORT", address);
  snprintf(service, sizeof service, "%d", port);
  int failed = getaddrinfo(host, service, &hints, &found);
  if (failed != 0)
    return ep_fail(error, EP_INVALID, "--slurm-listen %.200s: %s", address, gai_strerror(failed));
  ep_status status = EP_INVALID;
  for (int tries = 0; status != EP_OK && tries < TRIES; tries++) {
    if (tries > 0) poll(NULL, 0, PAUSE_MS);
    for (const struct addrinfo *one = found; one && status != EP_OK; one = one->ai_next)
      status = address_listen(one, listener, &why);
    if (why.status != EP_BUSY) break;
  }
  freeaddrinfo(found);
  if (status != EP_OK)
    return ep_fail(error, status, "--slurm-listen %.200s: %.200s", address, why.message);
  ep_endpoint_join(host, port_of(*listener), reached, bytes);
  return EP_OK;
}
