/* connection.h: what libmicrohttpd calls: a connection comes, a request's first line, its head, its
 * body, its end. http.c registers these; nobody else uses them. */
#ifndef EP_SERVER_HTTP_CONNECTION_H
#define EP_SERVER_HTTP_CONNECTION_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "server/http/deadline.h"
#include "server/http/routes.h"

typedef struct {
  ep_server *server;
  ep_deadlines *clients;
  atomic_bool stopping; /* every new request is answered with 503 */
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

/* reply.c: sends `answer`, whose body it takes. */
enum MHD_Result ep_response_send(ep_exchange *exchange, ep_response *answer);

#endif
