/* exchange.h: one request and its answer, from the first header to the last byte; and what a route
 * keeps while it waits. The routes see this and never the HTTP library. */
#ifndef EP_SERVER_HTTP_EXCHANGE_H
#define EP_SERVER_HTTP_EXCHANGE_H

#include <stdatomic.h>

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/thread_pool.h"
#include "server/http/waiter.h"

typedef struct ep_exchange ep_exchange;
typedef struct ep_server ep_server;

struct ep_exchange {
  ep_server *server;
  atomic_int references; /* the connection's, and one for each call that is still to come */
  ep_request request;
  ep_response answer;
  ep_waiter park;
  const struct ep_route *route; /* NULL until found */
  int64_t deadline_us;          /* of a wait, steady clock */
  bool timed_out;               /* the wait is over: answer with what there is */

  /* A route's own, while it waits. */
  uint64_t watch_token;
  bool watches;
  atomic_bool called_back;  /* the fields below are written before it and read after it */
  char *result;             /* owned */
  size_t result_bytes;      /* of one that is no text */
  size_t result_json_bytes; /* of which so many are JSON; 0 = all */
  ep_error error;
  bool works; /* this call is on a working thread, after EP_ROUTE_WORKS or _INGESTS */

  /* connection.c's and reply.c's own. */
  int phase;
  char *target; /* as sent, owned */
  int64_t begun_us, received_bytes, allowed_bytes, discarded_bytes;
  size_t body_capacity;
  bool body_failed;     /* the rest is thrown away and `answer` sent */
  atomic_bool worked;   /* `answer` is complete */
  ep_watcher *streamed; /* owned while an answer streams */
  ep_thread_pool_task item;
  struct ep_deadline *client; /* the connection's */
};

ep_exchange *ep_exchange_create(ep_server *server); /* NULL when memory is short; one reference */
void ep_exchange_retain(ep_exchange *exchange);
void ep_exchange_release(ep_exchange *exchange);

/* Once it is answered, or refused: the answer may go on for as long as a job does. */
void ep_exchange_discard_body(ep_exchange *exchange);

/* Answers with an error. Returns EP_ROUTE_ANSWERED, so that a route can end with it. */
typedef enum {
  EP_ROUTE_ANSWERED,
  EP_ROUTE_WAITS,  /* until ep_waiter_wake or deadline_us; then the route is called again */
  EP_ROUTE_WORKS,  /* it takes a while: the route is called again, on a working thread */
  EP_ROUTE_INGESTS /* it may take minutes: on one of those that read uploads */
} ep_route_result;
ep_route_result ep_exchange_fail(ep_exchange *exchange, const ep_error *error);
ep_route_result ep_exchange_fail_with(ep_exchange *exchange, ep_status status, const char *format,
                                      ...) __attribute__((format(printf, 3, 4)));
ep_route_result ep_exchange_fail_memory(ep_exchange *exchange);
ep_route_result ep_exchange_problem(ep_exchange *exchange, const ep_problem *problem);
/* 200 and JSON; takes `text`. */
ep_route_result ep_exchange_json(ep_exchange *exchange, char *text);

#endif
