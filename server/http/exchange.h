/* exchange.h: one request and its response, from the first header to the last byte, and what a
 * route keeps while it waits. Routes see exchanges and never the HTTP library. */
#ifndef EP_SERVER_HTTP_EXCHANGE_H
#define EP_SERVER_HTTP_EXCHANGE_H

#include <stdatomic.h>

#include "server/http/messages/request.h"
#include "server/http/messages/response.h"
#include "server/http/server.h"

enum { EP_REQUEST_NAME_BYTES = 65 };

/* What a route returns. */
typedef enum {
  EP_ROUTE_DONE,    /* exchange->response is complete */
  EP_ROUTE_WAITS,   /* for ep_waiter_wake or deadline_us; the route is then called again */
  EP_ROUTE_WORKS,   /* the route is called again, on a thread of server->work */
  EP_ROUTE_COMMITS, /* the same, of server->commits */
  EP_ROUTE_INGESTS, /* the same, of server->ingest */
  EP_ROUTE_EXPORTS  /* the same, of server->exports */
} ep_route_result;

typedef struct ep_exchange {
  ep_server *server;
  atomic_int references; /* the connection's, and one for each call that is still to come */
  ep_request request;
  struct json_t *json; /* its body's tree, once a route has parsed it; owned */
  ep_response response;
  ep_waiter waiter;
  const struct ep_route *route; /* NULL until found */
  ep_caller caller;             /* once the route was admitted */
  bool named;                   /* the path calls its job by another word than its id */
  ep_model model; /* the published model that the path means, as it was then; its name "" = none */
  char request_id[EP_REQUEST_NAME_BYTES];
  int sent_status;                /* HTTP; 0 = no response was sent */
  char address[EP_IP_TEXT_BYTES]; /* the client's (server/http/access/forwarded.h) */
  int64_t deadline_us;            /* of a wait, steady clock; 0 = none was begun */
  bool timed_out;                 /* the wait is over: the route responds with what there is */

  /* A route's own, while it waits. */
  uint64_t watch_token;
  bool watches;
  atomic_bool called_back;  /* the fields below are written before it and read after it */
  char *result;             /* owned */
  size_t result_bytes;      /* of a result that is not a text */
  size_t result_json_bytes; /* so many of them are JSON; 0 = all */
  ep_error error;
  bool works;   /* this call runs on a thread of a pool, after EP_ROUTE_WORKS and the like */
  bool ingests; /* the pool is server->ingest */

  /* Of connection.c and response_send.c alone. */
  int phase;
  char *target; /* as sent, owned */
  int64_t begun_us, received_bytes, allowed_bytes, discarded_bytes;
  size_t body_capacity;
  struct ep_gunzip *gunzip;              /* of a packed body, until it is whole; NULL = none */
  int64_t working_bytes, response_bytes; /* taken of server->held, beside the body's */
  int64_t tree_bytes;     /* of the former, foreseen for the body's tree until it is there */
  ep_error refusal;       /* why memory was refused to the route; status EP_OK: it was not */
  bool body_failed;       /* the rest of the body is thrown away and `response` is sent */
  atomic_bool worked;     /* the thread of a pool has done its call, */
  ep_route_result called; /* what that returned */
  ep_watcher *streamed;   /* owned while a response streams */
  ep_thread_pool_task task;
  struct ep_deadline *deadline; /* the connection's; NULL = none */
} ep_exchange;

/* One reference, the caller's. NULL: memory is short. */
ep_exchange *ep_exchange_create(ep_server *server);
void ep_exchange_retain(ep_exchange *exchange);
void ep_exchange_release(ep_exchange *exchange); /* the last one frees */

/* An ep_curve_stop and the like: whether the client of the exchange `context` has gone. */
bool ep_exchange_is_abandoned(void *context);

/* Has the body unpacked as it arrives, and frees what that takes, of the memory of all requests. */
ep_status ep_exchange_gunzip_open(ep_exchange *exchange, ep_error *error);
void ep_exchange_gunzip_close(ep_exchange *exchange); /* where there is none, nothing happens */
/* Frees the body and its tree before the response is sent: a stream may last as long as a job. */
void ep_exchange_discard_body(ep_exchange *exchange);
/* Whether the caller may change what others have. */
bool ep_exchange_is_admin(const ep_exchange *exchange);
/* Whom the response is for. */
ep_viewer ep_exchange_viewer(const ep_exchange *exchange);
/* Takes `bytes` of the memory of all requests for what the route is about to allocate, until its
 * response is complete. Fails as ep_budget_take does. */
ep_status ep_exchange_hold(ep_exchange *exchange, int64_t bytes, ep_error *error);
/* Gives all of that back: the route is called again, from the beginning. */
void ep_exchange_give(ep_exchange *exchange);
/* ep_exchange_hold for the rows of a prediction: as a tree where they are `named`, else as numbers.
 */
ep_status ep_exchange_hold_rows(ep_exchange *exchange, bool named, ep_error *error);
/* The same for the tree that a JSON body becomes, until the route's call is over: then what there
 * is of it counts (api/json/memory.h). One that is too heavy is not parsed, and takes nothing. */
ep_status ep_exchange_hold_tree(ep_exchange *exchange, ep_error *error);
/* Calls the route. What its thread reserves meanwhile (api/reserve.h) is held by the exchange. */
ep_route_result ep_exchange_call(ep_exchange *exchange);
/* Whether the route may be called. False, with the response set, for a request that changes
 * something while its response would find no room: it is refused before it has. */
bool ep_exchange_admit(ep_exchange *exchange);
/* The response is complete: it is counted instead of the work, and beside it where the work has not
 * come back in time. One that finds no room is replaced by 503, unless the request has changed
 * something. */
void ep_exchange_settle(ep_exchange *exchange);
/* Ends the watch of a job's version, if the route has one. */
void ep_exchange_unwatch(ep_exchange *exchange);

/* Adds Location: the path behind the base path, or behind X-Forwarded-Prefix where no base path was
 * set and the proxy has sent one. */
void ep_exchange_locate(ep_exchange *exchange, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The path by the job's id, where the request calls it by another word; false: it does not. */
bool ep_exchange_content_location(const ep_exchange *exchange, char *out, size_t bytes);

/* Prepares an error for the response: EP_NOT_FOUND if the job `id` was deleted during the request,
 * and paths relative to the data folder. */
void ep_exchange_explain(const ep_exchange *exchange, const char *id, ep_error *error);

/* These set the response and return EP_ROUTE_DONE, so that a route can end with one of them. */
ep_route_result ep_exchange_fail(ep_exchange *exchange, const ep_error *error);
ep_route_result ep_exchange_fail_with(ep_exchange *exchange, ep_status status, const char *format,
                                      ...) __attribute__((format(printf, 3, 4)));
ep_route_result ep_exchange_fail_memory(ep_exchange *exchange);
ep_route_result ep_exchange_problem(ep_exchange *exchange, const ep_problem *problem);
/* 200 and JSON; takes `text`; NULL: memory was short. */
ep_route_result ep_exchange_json(ep_exchange *exchange, char *text);

#endif
