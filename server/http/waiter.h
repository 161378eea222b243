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

typedef struct ep_streams ep_streams;

/* One connection's place to wait. Part of the exchange that owns it. */
typedef struct ep_park {
  ep_streams *streams;
  struct MHD_Connection *connection; /* NULL once it is gone */
  bool suspended, woken, timed_out, admitted;
  int64_t deadline_us;             /* steady clock; while suspended */
  struct ep_park *previous, *next; /* among those suspended */
} ep_park;

/* At most `capacity` connections may wait at a time: more would take every connection there is. */
ep_status ep_streams_create(int64_t capacity, ep_streams **out, ep_error *error);
/* Wakes everything and lets nothing wait any more; ep_park_wait gives EP_PARK_CLOSED from now on.
 */
void ep_streams_close(ep_streams *streams);
/* After the HTTP daemon has stopped. NULL is allowed. */
void ep_streams_destroy(ep_streams *streams);
/* How many are admitted now. */
int64_t ep_streams_count(ep_streams *streams);

void ep_park_init(ep_park *park, ep_streams *streams, struct MHD_Connection *connection);

/* Takes one of the places; false when all are taken. Once for each park; given back by leave. */
bool ep_park_admit(ep_park *park);

typedef enum {
  EP_PARK_SUSPENDED, /* return to the HTTP library; it calls again */
  EP_PARK_WOKEN,     /* something happened meanwhile: look again */
  EP_PARK_CLOSED     /* the daemon is stopping */
} ep_park_result;

/* Suspends the connection until woken or the deadline. From the HTTP library's thread, inside one
 * of its callbacks for this connection. */
ep_park_result ep_park_wait(ep_park *park, int64_t deadline_us);

/* From any thread, any number of times, also when nobody waits: then the next wait returns at once.
 * The park must live; its connection need not. */
void ep_park_wake(ep_park *park);

/* True once after a deadline passed. */
bool ep_park_take_timeout(ep_park *park);

/* The connection is going: wakes no longer touch it. Gives the place back. */
void ep_park_leave(ep_park *park);

#endif
