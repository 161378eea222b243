/* routes.h: a row of the table of routes (method, path, query, body), and how a request finds its
 * row. The table is server/handlers/routes.c. */
#ifndef EP_SERVER_HTTP_ROUTES_H
#define EP_SERVER_HTTP_ROUTES_H

#include "server/http/exchange.h"

typedef enum {
  EP_BODY_NONE,    /* a body is thrown away */
  EP_BODY_JSON,    /* in memory, at most limit_bytes */
  EP_BODY_TENSORS, /* the same; bytes may follow the JSON */
  EP_BODY_ROWS,    /* the same: rows of numbers, which become no tree; a table; pictures */
  EP_BODY_UPLOAD   /* in a file */
} ep_body;

static inline bool ep_body_in_memory(ep_body body) {
  return body == EP_BODY_JSON || body == EP_BODY_ROWS || body == EP_BODY_TENSORS;
}

typedef enum {
  EP_RUNS_HERE, /* on the HTTP thread: at most a few hundred microseconds */
  EP_RUNS_WORK, /* on a thread of server->work */
  EP_RUNS_COMMIT,
  EP_RUNS_METRICS,
  EP_RUNS_INGEST,
  EP_RUNS_PLOTS
} ep_runs;

typedef ep_route_result ep_route_call(ep_exchange *exchange);

enum { EP_ROUTE_QUERY = 20, EP_ROUTE_ALLOW_BYTES = 64 };

typedef struct ep_route {
  const char *method, *path; /* {id} takes one segment */
  ep_route_call *call;
  ep_body body;
  int64_t limit_bytes;
  ep_runs runs;
  unsigned scope; /* that a token needs (ep_scope); 0 = open, without a token */
  ep_owned owned; /* what {id} names, of every route that has an owner's: of another's a private one
                     is not there, and a public one is there for a route that needs `read` */
  const char *query[EP_ROUTE_QUERY]; /* parameters; one with a * may be repeated; NULL ends */
  const char *of; /* what ids of the job or sweep {id} begin with; NULL: it is neither */
} ep_route;

typedef struct ep_routes {
  const ep_route *rows; /* [count] */
  int count;
} ep_routes;

/* Finds the route of a request and fills in request->id; HEAD finds GET. EP_NOT_FOUND: no such
 * path; EP_METHOD: `allow` lists the methods of the path; EP_MALFORMED: an unknown query parameter.
 */
ep_status ep_route_find(const ep_routes *routes, ep_request *request, const ep_route **out,
                        char allow[EP_ROUTE_ALLOW_BYTES], ep_error *error);

/* Whether the caller has the scope. EP_FORBIDDEN names what is missing. */
ep_status ep_route_require(const ep_exchange *exchange, unsigned scope, ep_error *error);

/* All checks that need no body, in this order: framing, origin, token, route, media type. On
 * failure exchange->response is set. */
ep_status ep_route_admit(ep_exchange *exchange);

#endif
