/* received.h: every byte that libmicrohttpd receives passes a framing reader first. The library has
 * no hook for that: this program defines recv(), which the library then calls instead of the C
 * library's (docs/adr/0037), and in the same way gnutls_record_recv(), which it calls where there
 * is TLS. Other sockets are not touched. */
#ifndef EP_SERVER_HTTP_FRAMING_RECEIVED_H
#define EP_SERVER_HTTP_FRAMING_RECEIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"
#include "server/tls/identity.h"

/* Before the first connection. files: more than any descriptor. */
ep_status ep_received_prepare(int64_t files, ep_error *error);

/* A connection's socket, from here on until it is closed. A connection that cannot be read by a
 * framing reader must not be served. tls: what it shows, released at its close, also after a
 * failure; NULL: it has no TLS. */
ep_status ep_received_open(int socket, ep_tls_identity *tls, ep_error *error);
void ep_received_close(int socket);

/* Whether what came last was cut off, so that the connection ends with this response. */
bool ep_received_is_cut(int socket);

/* Requests that were refused by their framing. */
int64_t ep_received_refused(void);

#endif
