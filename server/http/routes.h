/* routes.h: what a row of the table of routes says (path, method, body, query), and how a request
 * finds its row. The table is server/handlers/routes.c. */
#ifndef EP_SERVER_HTTP_ROUTES_H
#define EP_SERVER_HTTP_ROUTES_H

#include "server/http/auth.h"
#include "server/http/exchange.h"
#include "server/http/guard.h"
#include "server/jobs/jobs.h"
#include "server/process/config.h"

struct ep_server {
  const ep_config *config;
  const struct ep_routes *routes;
  ep_jobs *jobs;
  ep_waiters *streams;
  ep_thread_pool
      *ingest;          /* reads uploads and files, writes weights in other formats: for minutes */
  ep_thread_pool *work; /* everything else that takes longer than a moment */
  ep_auth auth;
  ep_guard guard;
  atomic_llong bodies_bytes; /* that all requests hold in memory */
  char boot[17];             /* random, of this run: versions are counted anew in each */
};

typedef enum {
  EP_BODY_NONE,    /* what comes is thrown away */
  EP_BODY_JSON,    /* in memory, at most limit_bytes */
  EP_BODY_TENSORS, /* likewise; JSON, and bytes may follow it */
  EP_BODY_UPLOAD
} ep_body;

typedef enum {
  EP_RUNS_HERE, /* on the HTTP thread: no more than a few hundred microseconds */
  EP_RUNS_WORK,
  EP_RUNS_INGEST
} ep_runs;

typedef ep_route_result ep_route_call(ep_exchange *exchange);

enum { EP_ROUTE_QUERY = 6 };

typedef struct ep_route {
  const char *method, *path; /* {id} takes one segment */
  ep_route_call *call;
  ep_body body;
  int64_t limit_bytes;
  ep_runs runs;
  bool open;                         /* needs no token */
  const char *query[EP_ROUTE_QUERY]; /* what may follow ?, with a * what may do so several times;
                                        NULL ends it */
} ep_route;

typedef struct ep_routes {
  const ep_route *rows; /* [count] */
  int count;
} ep_routes;

/* Finds the route of a request and its {id}; HEAD finds GET. EP_NOT_FOUND names the path, EP_METHOD
 * leaves the methods that there are in allow: [64]. EP_MALFORMED for an unknown query parameter. */
ep_status ep_route_find(const ep_routes *routes, ep_request *request, const ep_route **out,
                        char allow[64], ep_error *error);

/* All checks that need no body, in this order: framing, origin, route, token, media type. On
 * failure exchange->answer is set; *close tells whether the connection must not be used any
 * further. */
ep_status ep_route_admit(ep_exchange *exchange, bool *close);

/* When the exchange ends while its route waits: undoes what the route had going. */
void ep_route_leave(ep_exchange *exchange);

#endif
