/* client.h: a client's TLS over a connected, blocking socket: --probe's. The daemon is not
 * verified: it is on this machine, and is sent no secret. */
#ifndef EP_SERVER_TLS_CLIENT_H
#define EP_SERVER_TLS_CLIENT_H

#include <sys/types.h>

#include "server/tls/identity.h"

typedef struct ep_tls_client ep_tls_client;

/* Shakes hands; shows the certificate of `files` to a daemon that demands one. The socket stays the
 * caller's, and is closed after the client. EP_IO: no TLS there. */
ep_status ep_tls_client_open(int socket, const ep_tls_files *files, ep_tls_client **out,
                             ep_error *error);
void ep_tls_client_close(ep_tls_client *client); /* NULL is allowed */

/* As send() and recv() do; errno is set. */
ssize_t ep_tls_client_send(ep_tls_client *client, const void *data, size_t bytes);
ssize_t ep_tls_client_receive(ep_tls_client *client, void *buffer, size_t bytes);

#endif
