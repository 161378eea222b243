/* waiter.h: connections that wait: watchers of a log, long polls, requests whose work is done by
 * another thread. The one place that suspends and resumes the HTTP library's connections.
 *
 * A suspended connection costs no thread, never times out by itself and does not notice that its
 * client went away; so each has a deadline here, after which it is resumed. */
#ifndef EP_SERVER_HTTP_WAITER_H
#define EP_SERVER_HTTP_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"

struct MHD_Connection;

typedef struct ep_waiters ep_waiters;

/* One connection's place to wait. Part of the exchange that owns it. */
typedef struct ep_waiter {
  ep_waiters *streams;
  struct MHD_Connection *connection; /* NULL once it is gone */
  bool suspended, woken, timed_out, admitted;
  int64_t deadline_us;               /* steady clock; while suspended */
  struct ep_waiter *previous, *next; /* among those suspended */
} ep_waiter;

/* At most `capacity` connections may wait at a time: more would take every connection there is. */
ep_status ep_waiters_create(int64_t capacity, ep_waiters **out, ep_error *error);
/* Wakes everything and lets nothing wait any more; ep_waiter_wait gives EP_WAITER_CLOSED from now
 * on.
 */
void ep_waiters_close(ep_waiters *streams);
/* After the HTTP daemon has stopped. NULL is allowed. */
void ep_waiters_destroy(ep_waiters *streams);
/* How many are admitted now. */
int64_t ep_waiters_count(ep_waiters *streams);

void ep_waiter_init(ep_waiter *park, ep_waiters *streams, struct MHD_Connection *connection);

/* Takes one of the places; false when all are taken. Once for each park; given back by leave. */
bool ep_waiter_admit(ep_waiter *park);

typedef enum {
  EP_WAITER_SUSPENDED, /* return to the HTTP library; it calls again */
  EP_WAITER_WOKEN,     /* something happened meanwhile: look again */
  EP_WAITER_CLOSED     /* the daemon is stopping */
} ep_waiter_result;

/* Suspends the connection until woken or the deadline. From the HTTP library's thread, inside one
 * of its callbacks for this connection. */
ep_waiter_result ep_waiter_wait(ep_waiter *park, int64_t deadline_us);

/* From any thread, any number of times, also when nobody waits: then the next wait returns at once.
 * The park must live; its connection need not. */
void ep_waiter_wake(ep_waiter *park);

/* True once after a deadline passed. */
bool ep_waiter_take_timeout(ep_waiter *park);

/* The connection is going: wakes no longer touch it. Gives the place back. */
void ep_waiter_leave(ep_waiter *park);

#endif
