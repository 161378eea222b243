/* http.h: the HTTP server: libmicrohttpd's callbacks turned into exchanges (exchange.h) and answers
 * sent. Besides stream.c the only place that knows the library. */
#ifndef EP_SERVER_HTTP_HTTP_H
#define EP_SERVER_HTTP_HTTP_H

#include "server/http/routes.h"

typedef struct ep_http ep_http;

/* How many connections and, among them, watchers the file-descriptor limit allows. */
typedef struct {
  int64_t files, connections, watchers;
} ep_http_room;

/* Raises the soft limit to the hard one. */
ep_http_room ep_http_room_find(void);

/* Binds and answers from now on. server->streams, ->ingest and ->work are made here. *port: the one
 * that was bound. */
ep_status ep_http_start(ep_server *server, const ep_http_room *room, ep_http **out, int *port,
                        ep_error *error);

/* Takes no more connections, ends every stream and wait, sends what is ready, joins the threads.
 * server->jobs is not used any more but by calls that are still to come back. */
void ep_http_stop(ep_http *http);
/* After ep_jobs_close: calls that come back find their exchange until then. NULL is allowed. */
void ep_http_destroy(ep_http *http);

#endif
