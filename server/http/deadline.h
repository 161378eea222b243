/* deadline.h: until when a connection must have sent its head or body, or taken its response. The
 * HTTP library's own time-out is one of inactivity: a byte a second would hold a connection for
 * ever.
 *
 * Thread-safe. */
#ifndef EP_SERVER_HTTP_DEADLINE_H
#define EP_SERVER_HTTP_DEADLINE_H

#include <stdint.h>

#include "api/status.h"

typedef struct ep_deadlines ep_deadlines; /* of all connections, with the thread that checks them */
typedef struct ep_deadline ep_deadline;   /* of one connection */

ep_status ep_deadlines_create(ep_deadlines **out, ep_error *error);
void ep_deadlines_destroy(ep_deadlines *deadlines); /* NULL is allowed */

/* For a new connection. NULL: memory is short; the functions below take NULL and do nothing. */
ep_deadline *ep_deadline_add(ep_deadlines *deadlines, int socket);
/* Before the socket is closed. Frees the deadline. */
void ep_deadline_remove(ep_deadline *deadline);

/* The socket is shut down after this time. 0 = never. */
void ep_deadline_allow(ep_deadline *deadline, int64_t duration_us);
/* The same, of a connection whose next request has not begun. */
void ep_deadline_rest(ep_deadline *deadline, int64_t duration_us);

/* Where there are more than `most` connections, the one that has rested longest is shut down. */
void ep_deadlines_make_room(ep_deadlines *deadlines, int64_t most);

#endif
