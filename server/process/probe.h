/* probe.h: GET /readyz of a running daemon, for a health check where there is neither curl nor a
 * shell: that of a container. */
#ifndef EP_SERVER_PROCESS_PROBE_H
#define EP_SERVER_PROCESS_PROBE_H

#include "api/status.h"
#include "server/tls/identity.h"

enum { EP_PROBE_TIMEOUT_MS = 15000 }; /* /readyz itself waits up to 10 s for the devices */

/* Requests /readyz at the address that reaches, from this machine, a daemon that listens on
 * host:port (for an unspecified address such as 0.0.0.0 the loopback one). timeout_ms: of each
 * step; tls: of a daemon with TLS, else NULL. EP_OK: 200. EP_UNAVAILABLE: another response, whose
 * body is in the message; EP_IO: no response; EP_INVALID: port 0, or no such host. */
ep_status ep_probe_ready(const char *host, int port, int timeout_ms, const ep_tls_files *tls,
                         ep_error *error);

#endif
