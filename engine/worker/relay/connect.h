/* connect.h: a connection to epochd's gateway. */
#ifndef EP_ENGINE_WORKER_RELAY_CONNECT_H
#define EP_ENGINE_WORKER_RELAY_CONNECT_H

#include <sys/socket.h>

#include "api/status.h"

/* address: "HOST:PORT", "[::1]:8443". Waits some seconds at most. *socket is the caller's. */
ep_status ep_relay_connect(const char *address, int *socket, ep_error *error);
/* The address of this machine on the way there, port 0, of its length; nothing is sent. */
ep_status ep_relay_address(const char *address, struct sockaddr_storage *here, socklen_t *length,
                           ep_error *error);

#endif
