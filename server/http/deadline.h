/* deadline.h: connections and by when each must have sent what it is to send. The HTTP library's
 * own time-out is one of inactivity: a byte a second would hold a connection for ever. */
#ifndef EP_SERVER_HTTP_DEADLINE_H
#define EP_SERVER_HTTP_DEADLINE_H

#include <stdint.h>

#include "api/status.h"

typedef struct ep_deadlines ep_deadlines;
typedef struct ep_deadline ep_deadline;

ep_status ep_deadlines_create(ep_deadlines **out, ep_error *error);
void ep_deadlines_destroy(ep_deadlines *clients); /* NULL is allowed */

/* A new connection; NULL when memory is short: refuse it. Every ep_client_* takes NULL. */
ep_deadline *ep_deadline_add(ep_deadlines *clients, int socket);
/* Before its socket is closed. */
void ep_deadline_remove(ep_deadline *client);

/* When this time is over, the socket is shut down. 0 = it has no deadline now. */
void ep_deadline_allow(ep_deadline *client, int64_t duration_us);

#endif
