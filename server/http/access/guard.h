/* guard.h: requests that are refused before any route sees them: they name another host (DNS
 * rebinding), or another site made a browser send them (CSRF). */
#ifndef EP_SERVER_HTTP_ACCESS_GUARD_H
#define EP_SERVER_HTTP_ACCESS_GUARD_H

#include "server/http/messages/request.h"

typedef struct {
  const char *listen_host; /* without brackets */
  bool any_address;        /* listens on 0.0.0.0 or ::, so any address may be its own */
  const char *allow;       /* further names, comma-separated */
} ep_guard;

/* EP_FORBIDDEN. */
ep_status ep_guard_origin(const ep_guard *guard, const ep_request *request, ep_error *error);

#endif
