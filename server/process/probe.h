/* probe.h: asks a running daemon whether it is ready, for those who watch it where there is neither
 * curl nor a shell: the health check of a container. */
#ifndef EP_SERVER_PROCESS_PROBE_H
#define EP_SERVER_PROCESS_PROBE_H

#include "api/status.h"

enum { EP_PROBE_TIMEOUT_MS = 15000 }; /* /readyz itself waits up to 10 s for the devices */

/* GET /readyz at the address that a daemon told to listen on host:port is reached by from this
 * machine (an unspecified address such as 0.0.0.0 means the loopback one). Waits `timeout_ms` at
 * most for each step. EP_OK: it answered 200. EP_UNAVAILABLE: it answered otherwise, and the
 * message has what it said; EP_IO: it did not answer; EP_INVALID: port 0, which says nothing, or no
 * such host. */
ep_status ep_probe_ready(const char *host, int port, int timeout_ms, ep_error *error);

#endif
