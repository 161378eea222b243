/* connection.h: what libmicrohttpd calls: a connection opens or closes; a request's first line, its
 * head, its body, its end. http.c registers these functions. */
#ifndef EP_SERVER_HTTP_CONNECTION_H
#define EP_SERVER_HTTP_CONNECTION_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "server/http/deadline.h"
#include "server/http/server.h"

/* The context of every callback. */
typedef struct {
  ep_server *server;
  ep_deadlines *deadlines;
  int64_t connections_most; /* beyond, the one that has rested longest ends */
  atomic_bool stopping;     /* every new request gets 503 */
} ep_transport;

/* `transport` is an ep_transport in all of them. */
void ep_connection_notify(void *transport, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode code);
void *ep_connection_target(void *transport, const char *target, struct MHD_Connection *connection);
enum MHD_Result ep_connection_handle(void *transport, struct MHD_Connection *connection,
                                     const char *url, const char *method, const char *version,
                                     const char *data, size_t *data_bytes, void **context);
void ep_connection_complete(void *transport, struct MHD_Connection *connection, void **context,
                            enum MHD_RequestTerminationCode code);
void ep_connection_log(void *transport, const char *format, va_list arguments);

#endif
