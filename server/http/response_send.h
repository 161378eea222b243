/* response_send.h: a response becomes the HTTP library's: a text, a part of a file, or a stream. */
#ifndef EP_SERVER_HTTP_RESPONSE_SEND_H
#define EP_SERVER_HTTP_RESPONSE_SEND_H

#include <microhttpd.h>

#include "server/http/exchange.h"

/* Queues `response` on the exchange's connection and takes its body. From the HTTP library's
 * thread. */
enum MHD_Result ep_response_send(ep_exchange *exchange, ep_response *response);

/* A connection's descriptor. */
int ep_connection_socket(struct MHD_Connection *connection);

#endif
