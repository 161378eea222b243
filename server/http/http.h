/* http.h: the HTTP server: libmicrohttpd's threads, its callbacks (connection.h), and the pools
 * that work for them. */
#ifndef EP_SERVER_HTTP_HTTP_H
#define EP_SERVER_HTTP_HTTP_H

#include "server/http/server.h"

typedef struct ep_http ep_http;

/* What the limit of file descriptors allows. `watchers`: so many of the connections may wait. */
typedef struct {
  int64_t files, connections, watchers;
} ep_http_room;

/* Raises the soft limit to the hard one. */
ep_http_room ep_http_room_find(void);

/* Listens and serves from here on. Makes server->waiters and the pools of threads. *port:
 * the port that was bound. */
ep_status ep_http_start(ep_server *server, const ep_http_room *room, ep_http **out, int *port,
                        ep_error *error);

/* Takes no more connections, ends every stream and wait, sends what is ready, joins the threads.
 * Afterwards only calls that are still to come back use server->jobs. */
void ep_http_stop(ep_http *http);
/* After ep_jobs_close, because calls that come back use their exchange. NULL is allowed. */
void ep_http_destroy(ep_http *http);

#endif
