#include "engine/worker/relay/connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/endpoint.h"

enum { CONNECT_SECONDS = 5, ADDRESS_BYTES = 256 };

ep_status ep_relay_connection_read(const char *path, ep_connection *out, ep_error *error) {
  char text[EP_CONNECTION_BYTES];
  FILE *file = fopen(path, "re");
  if (!file)
    return ep_fail(error, errno == ENOENT || errno == ESTALE ? EP_NOT_FOUND : EP_IO, "%s: %s", path,
                   strerror(errno));
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  bool whole = feof(file) && !ferror(file);
  fclose(file);
  text[bytes] = 0;
  ep_status status = whole ? ep_connection_parse(text, out, error)
                           : ep_fail(error, EP_INVALID, "%s cannot be read, or is too long", path);
  explicit_bzero(text, sizeof text);
  return status;
}

void ep_relay_text_copy(char *to, size_t bytes, const char *from) {
  memcpy(to, from, strnlen(from, bytes - 1));
}

void ep_relay_hello_fill(ep_record_hello *hello, const ep_connection *connection,
                         const char *secret) {
  const char *node = getenv("SLURMD_NODENAME");
  memset(hello, 0, sizeof *hello);
  memcpy(hello->magic, EP_RECORD_MAGIC, sizeof hello->magic);
  ep_relay_text_copy(hello->version, sizeof hello->version, EP_VERSION);
  ep_relay_text_copy(hello->worker, sizeof hello->worker, connection->worker);
  ep_relay_text_copy(hello->secret, sizeof hello->secret, secret);
  if (node)
    ep_relay_text_copy(hello->node, sizeof hello->node, node);
  else
    gethostname(hello->node, sizeof hello->node - 1);
}

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

/* The caller frees the list. type: of the socket. */
static ep_status address_find(const char *address, int type, struct addrinfo **found,
                              ep_error *error) {
  char host[ADDRESS_BYTES], service[8];
  int port;
  const struct addrinfo hints = {.ai_socktype = type, .ai_flags = AI_ADDRCONFIG};
  if (!ep_endpoint_split(address, host, sizeof host, &port))
    return ep_fail(error, EP_INVALID, "the address %.100s is not HOST:PORT", address);
  snprintf(service, sizeof service, "%d", port);
  int failed = getaddrinfo(host, service, &hints, found);
  return failed == 0 ? EP_OK
                     : ep_fail(error, EP_UNAVAILABLE, "%.200s: %s", address, gai_strerror(failed));
}

ep_status ep_relay_connect(const char *address, int *socket, ep_error *error) {
  struct addrinfo *found = NULL;
  ep_status status = address_find(address, SOCK_STREAM, &found, error);
  if (status != EP_OK) return status;
  status = EP_UNAVAILABLE;
  for (const struct addrinfo *one = found; one && status != EP_OK; one = one->ai_next)
    status = address_connect(one, socket, error);
  freeaddrinfo(found);
  return status;
}

static void port_clear(struct sockaddr_storage *here) {
  if (here->ss_family == AF_INET6)
    ((struct sockaddr_in6 *)here)->sin6_port = 0;
  else
    ((struct sockaddr_in *)here)->sin_port = 0;
}

ep_status ep_relay_address(const char *address, struct sockaddr_storage *here, socklen_t *length,
                           ep_error *error) {
  struct addrinfo *found = NULL;
  ep_status status = address_find(address, SOCK_DGRAM, &found, error);
  if (status != EP_OK) return status;
  bool known = false;
  for (const struct addrinfo *one = found; one && !known; one = one->ai_next) {
    int made = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    *length = sizeof *here;
    known = made >= 0 && connect(made, one->ai_addr, one->ai_addrlen) == 0 &&
            getsockname(made, (struct sockaddr *)here, length) == 0;
    if (made >= 0) close(made);
  }
  freeaddrinfo(found);
  if (known) port_clear(here);
  return known ? EP_OK : ep_fail(error, EP_UNAVAILABLE, "cannot connect to %.200s", address);
}
