/* endpoint.h: HOST:PORT, as settings and connection files have it: 127.0.0.1:8080, [::1]:0. */
#ifndef EP_API_ENDPOINT_H
#define EP_API_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

/* Splits it; host: [bytes], without brackets. An IPv6 address must have them; a port is digits, at
 * most 65535. False: it is none, or the host is too long. */
bool ep_endpoint_split(const char *text, char *host, size_t bytes, int *port);

/* The other way: an IPv6 address gets its brackets. out: [bytes]. */
void ep_endpoint_join(const char *host, int port, char *out, size_t bytes);

#endif
