/* connect.h: a connection to epochd's gateway, or to the relay of a training's first node. */
#ifndef EP_ENGINE_WORKER_RELAY_CONNECT_H
#define EP_ENGINE_WORKER_RELAY_CONNECT_H

#include <sys/socket.h>

#include "api/wire/connection.h"
#include "api/wire/record.h"

/* The file that says where to connect, and as whom. EP_NOT_FOUND: it is not there. */
ep_status ep_relay_connection_read(const char *path, ep_connection *out, ep_error *error);
/* Who connects: all but what it says of a job. */
void ep_relay_hello_fill(ep_record_hello *hello, const ep_connection *connection,
                         const char *secret);
/* Copies what fits; what is behind it stays 0. to: [bytes], all 0. */
void ep_relay_text_copy(char *to, size_t bytes, const char *from);

/* address: "HOST:PORT", "[::1]:8443". Waits some seconds at most. *socket is the caller's. */
ep_status ep_relay_connect(const char *address, int *socket, ep_error *error);
/* The address of this machine on the way there, port 0, of its length; nothing is sent. */
ep_status ep_relay_address(const char *address, struct sockaddr_storage *here, socklen_t *length,
                           ep_error *error);

#endif
