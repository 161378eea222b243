/* deadline.h: connections and by when each must have sent what it is to send. The HTTP library's
 * own time-out is one of inactivity: a byte a second would hold a connection for ever. */
#ifndef EP_SERVER_HTTP_DEADLINE_H
#define EP_SERVER_HTTP_DEADLINE_H

#include <stdint.h>

#include "api/status.h"

typedef struct ep_clients ep_clients;
typedef struct ep_client ep_client;

ep_status ep_clients_create(ep_clients **out, ep_error *error);
void ep_clients_destroy(ep_clients *clients); /* NULL is allowed */

/* A new connection; NULL when memory is short: refuse it. Every ep_client_* takes NULL. */
ep_client *ep_client_add(ep_clients *clients, int socket);
/* Before its socket is closed. */
void ep_client_remove(ep_client *client);

/* When this time is over, the socket is shut down. 0 = it has no deadline now. */
void ep_client_allow(ep_client *client, int64_t duration_us);

#endif
