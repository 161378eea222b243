/* connect.h: a connection to epochd's gateway. */
#ifndef EP_ENGINE_WORKER_RELAY_CONNECT_H
#define EP_ENGINE_WORKER_RELAY_CONNECT_H

#include "api/status.h"

/* address: "HOST:PORT", "[::1]:8443". Waits some seconds at most. *socket is the caller's. */
ep_status ep_relay_connect(const char *address, int *socket, ep_error *error);

#endif
