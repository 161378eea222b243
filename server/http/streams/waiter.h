/* waiter.h: connections that wait: streams of events, long polls, requests that another thread
 * works on. Only waiter.c suspends and resumes the HTTP library's connections.
 *
 * A suspended connection takes no thread, has no time-out of its own and does not notice that its
 * client went away. So each has a deadline here, at which it is resumed. */
#ifndef EP_SERVER_HTTP_STREAMS_WAITER_H
#define EP_SERVER_HTTP_STREAMS_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"

struct MHD_Connection;

typedef struct ep_waiters
    ep_waiters; /* of all connections, with the thread that checks deadlines */

/* Of one connection; part of its exchange. */
typedef struct ep_waiter {
  ep_waiters *waiters;
  struct MHD_Connection *connection; /* NULL once it is gone */
  int socket;                        /* the connection's; -1 = not known */
  bool suspended, woken, timed_out, admitted;
  int64_t deadline_us;               /* steady clock; while suspended */
  struct ep_waiter *previous, *next; /* among those suspended */
} ep_waiter;

/* At most `capacity` connections may wait at a time; the others stay free for short requests. */
ep_status ep_waiters_create(int64_t capacity, ep_waiters **out, ep_error *error);
/* Wakes all; afterwards ep_waiter_wait returns EP_WAITER_CLOSED. */
void ep_waiters_close(ep_waiters *waiters);
/* After the HTTP daemon has stopped. NULL is allowed. */
void ep_waiters_destroy(ep_waiters *waiters);
/* How many are admitted. */
int64_t ep_waiters_count(ep_waiters *waiters);

void ep_waiter_init(ep_waiter *waiter, ep_waiters *waiters, struct MHD_Connection *connection);

/* Takes one of the `capacity` places until ep_waiter_leave; false: all are taken, `others` of them
 * by what needs a file descriptor as a connection does. Safe to repeat. */
bool ep_waiter_admit(ep_waiter *waiter, int64_t others);

typedef enum {
  EP_WAITER_SUSPENDED, /* return to the HTTP library, which calls again */
  EP_WAITER_WOKEN,     /* something happened in the meantime: look again */
  EP_WAITER_CLOSED     /* the daemon is stopping */
} ep_waiter_result;

/* Suspends the connection until ep_waiter_wake or the deadline. From the HTTP library's thread,
 * inside one of its callbacks for this connection. */
ep_waiter_result ep_waiter_wait(ep_waiter *waiter, int64_t deadline_us);

/* From any thread, any number of times. When the connection is not suspended, the next wait returns
 * at once. The waiter must live; its connection need not. */
void ep_waiter_wake(ep_waiter *waiter);

/* True once after each deadline that passed. */
bool ep_waiter_take_timeout(ep_waiter *waiter);

/* Whether nobody waits for the response any more: the connection is gone, or its client has closed
 * it. From any thread. */
bool ep_waiter_is_abandoned(ep_waiter *waiter);

/* The connection is going: later wakes do nothing. Gives the place back. */
void ep_waiter_leave(ep_waiter *waiter);

#endif
